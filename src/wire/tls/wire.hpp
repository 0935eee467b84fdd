// The BIO between BoringSSL and the buffers of one call, and what it knows about records. Private
// to the layer.
#pragma once

#include <openssl/base.h>
#include <openssl/bio.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace latchkey::tls {

// Tracks the record that BoringSSL is reading (RFC 8446 §5.1: five bytes of header, of which the
// last two are the length of the rest).
class record_meter {
  public:
    // `destination`: BoringSSL's memory for the bytes.
    void observe(std::string_view bytes, char* destination);
    // Bytes of an incomplete record that were consumed.
    std::size_t partial() const { return record_size_; }
    // Bytes that BoringSSL has allocated for an incomplete record, once its header has said the
    // size.
    std::size_t allocated() const {
        return record_size_ < header_bytes ? 0 : std::size_t{record_size_} + remaining_;
    }
    // Wipes the body of the last record in BoringSSL's memory, which BoringSSL decrypts in place
    // and frees without a wipe. Only while BoringSSL has unread plaintext of that record.
    void wipe_record();

  private:
    static constexpr std::size_t header_bytes = 5;

    std::array<unsigned char, header_bytes> header_{};
    std::uint32_t record_size_ = 0;
    std::uint32_t remaining_ = 0;
    char* body_ = nullptr;
    std::uint32_t body_bytes_ = 0;
};

// The buffers that the shared BIO uses during one call on one session.
struct wire_buffers {
    std::string_view* input = nullptr;
    std::string* output = nullptr;
    record_meter* meter = nullptr;
};

// BoringSSL reads exactly one record's header from a BIO, then exactly its body, so it never
// consumes input beyond the current record.
bssl::UniquePtr<BIO> make_wire_bio(wire_buffers& buffers);

}  // namespace latchkey::tls
