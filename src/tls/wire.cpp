#include <algorithm>
#include <limits>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "tls/native.hpp"

namespace latchkey::tls {

namespace {

int read_wire(BIO* bio, char* to, int size) {
    auto const& bound = *static_cast<wire*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    if (bound.in == nullptr || bound.in->empty()) {
        BIO_set_retry_read(bio);
        return -1;
    }
    auto const got = bound.in->substr(0, static_cast<std::size_t>(size));
    std::copy(got.begin(), got.end(), to);
    bound.meter->took(got, to);
    bound.in->remove_prefix(got.size());
    return static_cast<int>(got.size());
}

int write_wire(BIO* bio, char const* from, int size) {
    auto const& bound = *static_cast<wire*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    base::check(bound.out != nullptr, "TLS output outside a call");
    bound.out->append(from, static_cast<std::size_t>(size));
    return size;
}

long control_wire(BIO*, int command, long, void*) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD const* wire_method() {
    // Made once and never freed, like BoringSSL's own methods.
    static BIO_METHOD const* const method = [] {
        auto* const made = BIO_meth_new(0, "wire");
        base::check(made != nullptr && BIO_meth_set_read(made, read_wire) == 1 &&
                        BIO_meth_set_write(made, write_wire) == 1 &&
                        BIO_meth_set_ctrl(made, control_wire) == 1,
                    "no memory for a BIO method");
        return made;
    }();
    return method;
}

}  // namespace

void record_meter::took(std::string_view bytes, char* to) {
    while (!bytes.empty()) {
        std::size_t taken = 1;
        if (have_ < header_bytes) {
            header_[have_++] = static_cast<unsigned char>(bytes.front());
            if (have_ == header_bytes) left_ = header_[3] * 256u + header_[4];
        } else {
            if (have_ == header_bytes) body_ = to, body_bytes_ = 0;
            taken = std::min<std::size_t>(left_, bytes.size());
            have_ += static_cast<std::uint32_t>(taken);
            left_ -= static_cast<std::uint32_t>(taken);
            body_bytes_ += static_cast<std::uint32_t>(taken);
        }
        bytes.remove_prefix(taken);
        to += taken;
        if (have_ >= header_bytes && left_ == 0) have_ = 0;
    }
}

void record_meter::wipe_record() {
    base::wipe(body_, body_bytes_);
}

bssl::UniquePtr<BIO> make_wire_bio(wire& bound) {
    bssl::UniquePtr<BIO> bio(BIO_new(wire_method()));
    base::check(bio != nullptr, "no memory for a BIO");
    BIO_set_data(bio.get(), &bound);
    BIO_set_init(bio.get(), 1);
    return bio;
}

}  // namespace latchkey::tls
