#include "store/encryption.hpp"

#include <openssl/aead.h>
#include <openssl/rand.h>

#include "base/check.hpp"
#include "store/files/master_key.hpp"

namespace latchkey::store {
namespace {

constexpr std::string_view purpose = "event secrets";
constexpr std::size_t nonce_bytes = 12;
constexpr std::size_t tag_bytes = 16;

std::uint8_t const* bytes_of(std::string_view text) {
    return reinterpret_cast<std::uint8_t const*>(text.data());
}

// The cipher context with its key, for one call.
class cipher {
  public:
    explicit cipher(environment_state const& store) {
        auto key = derive({store.master_key.data(), store.master_key.size()}, purpose);
        base::check(::EVP_AEAD_CTX_init(&state_, ::EVP_aead_aes_256_gcm(),
                                        bytes_of({key.data(), key.size()}), key.size(), tag_bytes,
                                        nullptr) == 1,
                    "a cipher that cannot begin");
        base::wipe(key.data(), key.size());
    }
    ~cipher() { ::EVP_AEAD_CTX_cleanup(&state_); }
    cipher(cipher const&) = delete;
    cipher& operator=(cipher const&) = delete;

    EVP_AEAD_CTX* get() { return &state_; }

  private:
    EVP_AEAD_CTX state_;
};

}  // namespace

std::string encrypt(environment_state const& store, std::string_view plain,
                    std::string_view owner) {
    // A store that is opened for writing makes a master key where there is none.
    base::check(store.has_master_key, "a secret to encrypt, without a master key");
    std::string ciphertext(nonce_bytes + plain.size() + tag_bytes, '\0');
    auto* const output = reinterpret_cast<std::uint8_t*>(ciphertext.data());
    std::size_t size = 0;
    base::check(::RAND_bytes(output, nonce_bytes) == 1, "no random bytes");
    base::check(
        ::EVP_AEAD_CTX_seal(cipher(store).get(), output + nonce_bytes, &size,
                            ciphertext.size() - nonce_bytes, output, nonce_bytes, bytes_of(plain),
                            plain.size(), bytes_of(owner), owner.size()) == 1,
        "a secret that cannot be encrypted");
    return ciphertext;
}

std::optional<std::string> decrypt_text(environment_state const& store, std::string_view ciphertext,
                                        std::string_view owner) {
    if (!store.has_master_key || ciphertext.size() < nonce_bytes + tag_bytes) return std::nullopt;
    auto const nonce = ciphertext.substr(0, nonce_bytes), rest = ciphertext.substr(nonce_bytes);
    std::string plain(rest.size(), '\0');
    std::size_t size = 0;
    bool const whole =
        ::EVP_AEAD_CTX_open(cipher(store).get(), reinterpret_cast<std::uint8_t*>(plain.data()),
                            &size, plain.size(), bytes_of(nonce), nonce.size(), bytes_of(rest),
                            rest.size(), bytes_of(owner), owner.size()) == 1;
    if (!whole) return std::nullopt;
    plain.resize(size);
    return plain;
}

std::optional<base::secret> decrypt(environment_state const& store, std::string_view ciphertext,
                                    std::string_view owner) {
    auto plain = decrypt_text(store, ciphertext, owner);
    std::optional<base::secret> secret;
    if (plain && plain->size() <= base::secret::bytes_max) secret.emplace(*plain);
    if (plain) base::wipe(plain->data(), plain->size());
    return secret;
}

}  // namespace latchkey::store
