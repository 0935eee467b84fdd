#include "auth/webhook_signature.hpp"

#include <openssl/base64.h>
#include <openssl/curve25519.h>
#include <openssl/digest.h>
#include <openssl/hmac.h>

#include <algorithm>

#include "auth/base64.hpp"
#include "auth/key_form.hpp"
#include "base/check.hpp"

namespace latchkey::auth {
namespace {

constexpr std::string_view secret_prefix = "whsec_", public_prefix = "whpk_";
constexpr std::size_t webhook_key_bytes = 32;

std::uint8_t const* bytes_of(std::string_view text) {
    return reinterpret_cast<std::uint8_t const*>(text.data());
}

template <std::size_t Size>
std::string_view view_of(std::array<unsigned char, Size> const& bytes) {
    return {reinterpret_cast<char const*>(bytes.data()), Size};
}

base::secret random_key() {
    std::array<char, webhook_key_bytes> bytes;
    random_bytes(bytes.data(), bytes.size());
    base::secret key({bytes.data(), bytes.size()});
    base::wipe(bytes.data(), bytes.size());
    return key;
}

// Both parts of an Ed25519 key pair; the private one is wiped.
class key_pair {
  public:
    explicit key_pair(base::secret const& seed) {
        // Seeds are made here; one of another size that a store holds is refused when it is read.
        base::check(seed.text().size() == webhook_key_bytes, "a seed of another size");
        ::ED25519_keypair_from_seed(public_key.data(), private_key.data(), bytes_of(seed.text()));
    }
    ~key_pair() { base::wipe(private_key.data(), private_key.size()); }
    key_pair(key_pair const&) = delete;
    key_pair& operator=(key_pair const&) = delete;

    webhook_public_key public_key{};
    std::array<unsigned char, ED25519_PRIVATE_KEY_LEN> private_key{};
};

void append(std::string& list, std::string_view kind, std::string_view signature) {
    if (!list.empty()) list.push_back(' ');
    list.append(kind).append(base64_of(signature));
}

}  // namespace

model::webhook_secret make_webhook_secret() {
    return {random_key(), random_key(), 0};
}

webhook_public_key public_key_of(model::webhook_secret const& secret) {
    return key_pair(secret.ed25519_seed).public_key;
}

base::secret secret_text(base::secret const& hmac) {
    auto text = base64_of(hmac.text());
    std::array<char, 64> all;
    // It has webhook_key_bytes, as the seed has.
    base::check(secret_prefix.size() + text.size() <= all.size(), "a secret of another size");
    secret_prefix.copy(all.data(), secret_prefix.size());
    text.copy(all.data() + secret_prefix.size(), text.size());
    base::secret result({all.data(), secret_prefix.size() + text.size()});
    base::wipe(text.data(), text.size());
    base::wipe(all.data(), all.size());
    return result;
}

std::string public_key_text(webhook_public_key const& key) {
    return std::string(public_prefix) + base64_of(view_of(key));
}

std::optional<webhook_public_key> parse_public_key(std::string_view text) {
    if (!text.starts_with(public_prefix)) return std::nullopt;
    text.remove_prefix(public_prefix.size());
    std::array<std::uint8_t, 2 * webhook_key_bytes> bytes;
    std::size_t size = 0;
    bool const decoded =
        text.size() <= bytes.size() &&
        ::EVP_DecodeBase64(bytes.data(), &size, bytes.size(), bytes_of(text), text.size()) == 1;
    if (!decoded || size != webhook_key_bytes) return std::nullopt;
    webhook_public_key key;
    std::copy_n(bytes.begin(), webhook_key_bytes, key.begin());
    return key;
}

std::string sign_webhook(webhook_message const& message,
                         std::span<model::webhook_secret const> secrets,
                         webhook_signature_kinds kinds) {
    std::string text(message.id);
    text.append(1, '.').append(std::to_string(message.timestamp)).append(1, '.');
    text.append(message.body);
    std::string list;
    for (auto const& secret : secrets) {
        if (kinds.v1) {
            std::array<unsigned char, 32> mac;
            unsigned size = 0;
            auto const key = secret.hmac.text();
            auto const* const result = ::HMAC(::EVP_sha256(), key.data(), key.size(),
                                              bytes_of(text), text.size(), mac.data(), &size);
            // Messages of every size have one; only memory can be short.
            base::check(result != nullptr && size == mac.size(), "an HMAC that cannot be computed");
            append(list, "v1,", view_of(mac));
        }
        if (kinds.v1a) {
            key_pair const pair(secret.ed25519_seed);
            std::array<unsigned char, ED25519_SIGNATURE_LEN> signature;
            base::check(::ED25519_sign(signature.data(), bytes_of(text), text.size(),
                                       pair.private_key.data()) == 1,
                        "a signature that cannot be made");
            append(list, "v1a,", view_of(signature));
        }
    }
    return list;
}

std::string sign_webhook(domain::signing_webhook const& webhook, std::string_view id,
                         std::int64_t timestamp, std::string_view body) {
    return sign_webhook({id, timestamp, body}, webhook.secrets,
                        {webhook.webhook.signs_v1, webhook.webhook.signs_v1a});
}

}  // namespace latchkey::auth
