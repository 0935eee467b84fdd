// The fields that sign an event, with arbitrary content: only signatures made with the secret are
// valid. The first byte selects the format and how the fields, which follow one per line, are
// combined.
#include <openssl/base64.h>
#include <openssl/digest.h>
#include <openssl/hmac.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "auth/signature.hpp"

namespace {

using latchkey::auth::signed_field;
using latchkey::auth::signed_request;
using enum latchkey::model::event_format;

constexpr std::int64_t now = 1'700'000'000;
constexpr std::string_view standard_key = "0123456789abcdef0123456789abcdef";

void require(bool holds) {
    if (!holds) __builtin_trap();
}

std::string line(std::string_view& rest) {
    auto const end = std::min(rest.find('\n'), rest.size());
    std::string piece(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return piece;
}

std::string hmac(std::string_view key, std::string const& text) {
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    HMAC(EVP_sha256(), key.data(), key.size(), reinterpret_cast<std::uint8_t const*>(text.data()),
         text.size(), mac, &size);
    return {reinterpret_cast<char const*>(mac), size};
}

std::string base64(std::string const& bytes) {
    std::string text(4 * bytes.size() / 3 + 8, '\0');
    text.resize(EVP_EncodeBlock(reinterpret_cast<std::uint8_t*>(text.data()),
                                reinterpret_cast<std::uint8_t const*>(bytes.data()), bytes.size()));
    return text;
}

bool is_near(std::string const& digits) {
    if (digits.empty() || digits.size() > 12) return false;
    std::int64_t value = 0;
    for (char const digit : digits) {
        if (digit < '0' || digit > '9') return false;
        value = value * 10 + digit - '0';
    }
    return value >= now - 300 && value <= now + 300;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size == 0) return 0;
    unsigned const choice = data[0];
    std::string_view rest(reinterpret_cast<char const*>(data) + 1, size - 1);
    auto const id = line(rest), time = line(rest), signature = line(rest), body = std::string(rest);
    latchkey::base::secret const secret("whsec_" + base64(std::string(standard_key)));
    auto const once = [](std::string const& text) { return signed_field{1, text}; };
    auto const verdict = [&](auto format, signed_request const& request) {
        auto const result = verify_signature(format, secret, request, now * 1000 + 999);
        require(result.valid == result.detail.empty());
        return result.valid;
    };
    // Guessed signatures are refused, whatever the fields contain.
    signed_request const guessed{.webhook_id = once(id),
                                 .webhook_timestamp = once(time),
                                 .webhook_signature = once(signature),
                                 .hub_signature = once(signature),
                                 .hub_delivery = once(id),
                                 .stripe_signature = once(signature),
                                 .body = body};
    for (auto const format : {standard, github, stripe}) require(!verdict(format, guessed));
    // With the true signature in the list the other fields decide.
    auto const mac = base64(hmac(standard_key, id + "." + time + "." + body));
    auto const list = choice & 1 ? signature + " v1," + mac : "v1," + mac + " " + signature;
    signed_request signed_one = guessed;
    signed_one.webhook_signature = once(list);
    bool const valid = latchkey::model::is_delivery_id(id) && is_near(time);
    require(verdict(standard, signed_one) == valid);
    signed_one = guessed;
    auto const hub = "sha256=" + latchkey::base::to_hex(hmac(secret.text(), body));
    signed_one.hub_signature = once(hub);
    require(verdict(github, signed_one) == latchkey::model::is_delivery_id(id));
    bool const plain = time.find_first_of(",=") == time.npos;
    auto const digits = latchkey::base::to_hex(hmac(secret.text(), time + "." + body));
    auto const field = "t=" + time + ",v1=" + std::string(64, 'a') + ",v1=" + digits;
    signed_one = guessed;
    signed_one.stripe_signature = once(field);
    if (plain) require(verdict(stripe, signed_one) == is_near(time));
    return 0;
}
