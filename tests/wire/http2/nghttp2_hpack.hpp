// HPACK of libnghttp2, which the tests hold ours against.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace latchkey::http2 {

using field_list = std::vector<std::pair<std::string, std::string>>;

class reference_decoder {
  public:
    reference_decoder() { nghttp2_hd_inflate_new(&native_); }
    ~reference_decoder() { nghttp2_hd_inflate_del(native_); }
    reference_decoder(reference_decoder const&) = delete;
    reference_decoder& operator=(reference_decoder const&) = delete;

    // SETTINGS_HEADER_TABLE_SIZE: a smaller one must be confirmed by the next block.
    void set_table_bytes(std::size_t bytes) {
        nghttp2_hd_inflate_change_table_size(native_, bytes);
    }

    // nullopt: malformed, and nothing further can be decoded.
    std::optional<field_list> decode(std::string_view block) {
        field_list fields;
        auto const* next = reinterpret_cast<std::uint8_t const*>(block.data());
        auto rest = block.size();
        for (;;) {
            nghttp2_nv field;
            int flags = 0;
            auto const byte_count = nghttp2_hd_inflate_hd2(native_, &field, &flags, next, rest, 1);
            if (byte_count < 0) return std::nullopt;
            next += byte_count;
            rest -= static_cast<std::size_t>(byte_count);
            if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0)
                fields.emplace_back(
                    std::string(reinterpret_cast<char*>(field.name), field.namelen),
                    std::string(reinterpret_cast<char*>(field.value), field.valuelen));
            if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
            if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0 && rest == 0) return std::nullopt;
        }
        nghttp2_hd_inflate_end_headers(native_);
        return fields;
    }

  private:
    nghttp2_hd_inflater* native_ = nullptr;
};

class reference_encoder {
  public:
    explicit reference_encoder(std::size_t table_bytes = 4096) {
        nghttp2_hd_deflate_new(&native_, table_bytes);
    }
    ~reference_encoder() { nghttp2_hd_deflate_del(native_); }
    reference_encoder(reference_encoder const&) = delete;
    reference_encoder& operator=(reference_encoder const&) = delete;

    void set_table_bytes(std::size_t bytes) {
        nghttp2_hd_deflate_change_table_size(native_, bytes);
    }

    std::string encode(field_list const& fields) {
        std::vector<nghttp2_nv> native;
        for (auto const& [name, value] : fields)
            native.push_back(
                {const_cast<std::uint8_t*>(reinterpret_cast<std::uint8_t const*>(name.data())),
                 const_cast<std::uint8_t*>(reinterpret_cast<std::uint8_t const*>(value.data())),
                 name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
        std::string block(nghttp2_hd_deflate_bound(native_, native.data(), native.size()), '\0');
        auto const byte_count =
            nghttp2_hd_deflate_hd(native_, reinterpret_cast<std::uint8_t*>(block.data()),
                                  block.size(), native.data(), native.size());
        block.resize(static_cast<std::size_t>(byte_count));
        return block;
    }

  private:
    nghttp2_hd_deflater* native_ = nullptr;
};

}  // namespace latchkey::http2
