#include "auth/browser_session.hpp"

#include <openssl/aead.h>

#include <algorithm>

#include "auth/key_form.hpp"
#include "base/bytes.hpp"
#include "base/check.hpp"

namespace latchkey::auth {
namespace {

constexpr std::size_t nonce_bytes = 12, tag_bytes = 16;
constexpr std::size_t plain_bytes = std::tuple_size_v<model::digest> + 8 + 8 + 8;
constexpr std::size_t whole_bytes = nonce_bytes + plain_bytes + tag_bytes;
static_assert(2 * whole_bytes == session_cipher::sealed_bytes);

std::uint8_t* octets(char* bytes) {
    return reinterpret_cast<std::uint8_t*>(bytes);
}

}  // namespace

struct session_cipher::state {
    EVP_AEAD_CTX context;
};

session_cipher::session_cipher(std::array<char, 32> const& key)
    : state_(std::make_unique<state>()) {
    base::check(::EVP_AEAD_CTX_init(&state_->context, ::EVP_aead_aes_256_gcm(),
                                    reinterpret_cast<std::uint8_t const*>(key.data()), key.size(),
                                    tag_bytes, nullptr) == 1,
                "a cipher that cannot begin");
}

session_cipher::~session_cipher() {
    ::EVP_AEAD_CTX_cleanup(&state_->context);
    base::wipe(state_.get(), sizeof *state_);
}

std::string session_cipher::seal(browser_session const& session) const {
    std::string plain(reinterpret_cast<char const*>(session.key_digest.data()),
                      session.key_digest.size());
    base::append(plain, session.generation);
    base::append(plain, session.started_at);
    base::append(plain, session.expires_at);
    std::array<char, whole_bytes> sealed;
    random_bytes(sealed.data(), nonce_bytes);
    std::size_t size = 0;
    // The size of what is sealed is fixed.
    base::check(::EVP_AEAD_CTX_seal(&state_->context, octets(sealed.data() + nonce_bytes), &size,
                                    sealed.size() - nonce_bytes, octets(sealed.data()), nonce_bytes,
                                    octets(plain.data()), plain.size(), nullptr, 0) == 1,
                "a session that cannot be sealed");
    return base::to_hex({sealed.data(), sealed.size()});
}

std::optional<browser_session> session_cipher::open(std::string_view text) const {
    std::array<char, whole_bytes> sealed;
    std::array<char, plain_bytes> plain;
    if (!base::from_hex(text, sealed.data(), sealed.size())) return std::nullopt;
    std::size_t size = 0;
    if (::EVP_AEAD_CTX_open(&state_->context, octets(plain.data()), &size, plain.size(),
                            octets(sealed.data()), nonce_bytes, octets(sealed.data() + nonce_bytes),
                            sealed.size() - nonce_bytes, nullptr, 0) != 1)
        return std::nullopt;
    browser_session session;
    base::reader input({plain.data(), plain.size()});
    auto const digest = input.bytes(session.key_digest.size());
    std::copy(digest.begin(), digest.end(), reinterpret_cast<char*>(session.key_digest.data()));
    session.generation = input.integer<std::uint64_t>();
    session.started_at = input.integer<base::wall_ms>();
    session.expires_at = input.integer<base::wall_ms>();
    return session;
}

}  // namespace latchkey::auth
