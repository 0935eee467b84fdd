#include "wire/tls/wire.hpp"

#include <algorithm>
#include <limits>

#include "base/bytes.hpp"
#include "base/check.hpp"

namespace latchkey::tls {

namespace {

int read_wire(BIO* bio, char* destination, int size) {
    auto const& buffers = *static_cast<wire_buffers*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    if (buffers.input == nullptr || buffers.input->empty()) {
        BIO_set_retry_read(bio);
        return -1;
    }
    auto const bytes = buffers.input->substr(0, static_cast<std::size_t>(size));
    std::copy(bytes.begin(), bytes.end(), destination);
    buffers.meter->observe(bytes, destination);
    buffers.input->remove_prefix(bytes.size());
    return static_cast<int>(bytes.size());
}

int write_wire(BIO* bio, char const* source, int size) {
    auto const& buffers = *static_cast<wire_buffers*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    base::check(buffers.output != nullptr, "TLS output outside a call");
    buffers.output->append(source, static_cast<std::size_t>(size));
    return size;
}

long control_wire(BIO*, int command, long, void*) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD const* wire_method() {
    // Created once and never freed, like BoringSSL's own methods.
    static BIO_METHOD const* const method = [] {
        auto* const created = BIO_meth_new(0, "wire");
        base::check(created != nullptr && BIO_meth_set_read(created, read_wire) == 1 &&
                        BIO_meth_set_write(created, write_wire) == 1 &&
                        BIO_meth_set_ctrl(created, control_wire) == 1,
                    "no memory for a BIO method");
        return created;
    }();
    return method;
}

}  // namespace

void record_meter::observe(std::string_view bytes, char* destination) {
    while (!bytes.empty()) {
        std::size_t size = 1;
        if (record_size_ < header_bytes) {
            header_[record_size_++] = static_cast<unsigned char>(bytes.front());
            if (record_size_ == header_bytes) remaining_ = header_[3] * 256u + header_[4];
        } else {
            if (record_size_ == header_bytes) {
                body_ = destination;
                body_bytes_ = 0;
            }
            size = std::min<std::size_t>(remaining_, bytes.size());
            record_size_ += static_cast<std::uint32_t>(size);
            remaining_ -= static_cast<std::uint32_t>(size);
            body_bytes_ += static_cast<std::uint32_t>(size);
        }
        bytes.remove_prefix(size);
        destination += size;
        if (record_size_ >= header_bytes && remaining_ == 0) record_size_ = 0;
    }
}

void record_meter::wipe_record() {
    base::wipe(body_, body_bytes_);
}

bssl::UniquePtr<BIO> make_wire_bio(wire_buffers& buffers) {
    bssl::UniquePtr<BIO> bio(BIO_new(wire_method()));
    base::check(bio != nullptr, "no memory for a BIO");
    BIO_set_data(bio.get(), &buffers);
    BIO_set_init(bio.get(), 1);
    return bio;
}

}  // namespace latchkey::tls
