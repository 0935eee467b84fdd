// Blocks of one connection, each with its size in front: our decoder and libnghttp2's see the same
// fields or both refuse. Then the fields go through our encoder and come back from libnghttp2.
#include <cstddef>
#include <cstdint>
#include <string>

#include "nghttp2_hpack.hpp"
#include "wire/http2/hpack_decoder.hpp"
#include "wire/http2/hpack_encoder.hpp"

namespace {

using namespace latchkey::http2;

void want(bool holds) {
    if (!holds) __builtin_trap();
}

// Ours refuses integers above 2^28, which no length or index comes near; nothing else is left open.
bool is_beyond_both(field_list const& fields) {
    for (auto const& [name, value] : fields)
        if (name.size() + value.size() > 60'000) return true;
    return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view rest(reinterpret_cast<char const*>(data), size);
    static header_text text(1 << 20);
    hpack_decoder decoder(4096);
    reference_decoder reference;
    hpack_encoder encoder;
    reference_decoder client;
    while (rest.size() > 1) {
        auto const block_size = static_cast<std::size_t>(static_cast<unsigned char>(rest[0]));
        rest.remove_prefix(1);
        auto const block = rest.substr(0, block_size);
        rest.remove_prefix(block.size());
        field_list fields;
        auto const result = decoder.decode(block, text, [&](header_field const& field) {
            fields.emplace_back(field.name, field.value);
        });
        auto const other = reference.decode(block);
        if (is_beyond_both(fields)) return 0;
        want((result == hpack_decoder::result::complete) == other.has_value());
        if (!other) return 0;
        want(fields == *other);
        std::string encoded;
        encoder.begin_block(encoded);
        for (auto const& [name, value] : fields)
            encoder.add(name, value, static_cast<indexing>(value.size() % 3), encoded);
        auto const read = client.decode(encoded);
        want(read.has_value() && *read == fields);
    }
    return 0;
}
