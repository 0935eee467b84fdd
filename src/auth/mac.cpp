#include "auth/mac.hpp"

#include <openssl/sha.h>

#include <algorithm>

#include "base/bytes.hpp"

namespace latchkey::auth {

// SHA-256 after the first block of each of HMAC's two passes. BoringSSL's HMAC would allocate for
// every text.
struct mac::state {
    SHA256_CTX inner, outer;
};

mac::mac(std::array<char, 32> const& key) : state_(std::make_unique<state>()) {
    std::array<unsigned char, SHA256_CBLOCK> block{};
    auto const begin = [&](SHA256_CTX& pass, unsigned char pad) {
        std::ranges::copy(key, block.begin());
        std::fill(block.begin() + key.size(), block.end(), 0);
        for (auto& byte : block) byte ^= pad;
        ::SHA256_Init(&pass);
        ::SHA256_Update(&pass, block.data(), block.size());
    };
    begin(state_->inner, 0x36);
    begin(state_->outer, 0x5c);
    base::wipe(block.data(), block.size());
}

mac::~mac() {
    base::wipe(state_.get(), sizeof *state_);
}

mac::tag mac::compute(std::string_view text) const {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
    auto pass = state_->inner;
    ::SHA256_Update(&pass, text.data(), text.size());
    ::SHA256_Final(digest.data(), &pass);
    pass = state_->outer;
    ::SHA256_Update(&pass, digest.data(), digest.size());
    ::SHA256_Final(digest.data(), &pass);
    tag result;
    std::copy_n(digest.begin(), result.size(), result.begin());
    return result;
}

bool mac::matches(std::string_view text, std::string_view received) const {
    auto const expected = compute(text);
    return base::equal_in_constant_time({expected.data(), expected.size()}, received);
}

}  // namespace latchkey::auth
