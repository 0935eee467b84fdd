// Each format computes the MAC over its parts without joining them, writes it as the sender would,
// and compares texts in constant time. A list of signatures is always read to its end, so that the
// time of a verification does not say which of them fits.
#include "auth/signature.hpp"

#include <openssl/base64.h>
#include <openssl/digest.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>

#include "auth/base64.hpp"
#include "auth/key_form.hpp"
#include "base/check.hpp"
#include "model/utf8.hpp"

namespace latchkey::auth {
namespace {

constexpr std::string_view standard_prefix = "whsec_";
constexpr std::size_t standard_key_bytes_min = 24;
constexpr std::size_t standard_key_bytes_max = 64;
constexpr std::size_t other_secret_bytes_min = 8;
constexpr std::size_t other_secret_bytes_max = 255;
constexpr std::size_t timestamp_digits_max = 12;

std::uint8_t const* bytes_of(std::string_view text) {
    return reinterpret_cast<std::uint8_t const*>(text.data());
}

hmac_digest mac_of(std::string_view key, std::initializer_list<std::string_view> parts) {
    hmac_digest mac;
    unsigned size = 0;
    ::HMAC_CTX state;
    ::HMAC_CTX_init(&state);
    bool success = ::HMAC_Init_ex(&state, key.data(), key.size(), ::EVP_sha256(), nullptr) == 1;
    for (auto const part : parts)
        success = success && ::HMAC_Update(&state, bytes_of(part), part.size()) == 1;
    success = success && ::HMAC_Final(&state, mac.data(), &size) == 1;
    ::HMAC_CTX_cleanse(&state);
    // Keys and messages of every size have one; only memory can be short.
    base::check(success && size == mac.size(), "an HMAC that cannot be computed");
    return mac;
}

std::string_view view_of(hmac_digest const& mac) {
    return {reinterpret_cast<char const*>(mac.data()), mac.size()};
}

// The key of a standard secret, decoded from base64. Empty: not such a secret.
base::secret standard_key(std::string_view secret) {
    if (secret.starts_with(standard_prefix)) secret.remove_prefix(standard_prefix.size());
    std::uint8_t key[base::secret::bytes_max];
    std::size_t size = 0;
    bool const decoded =
        secret.size() <= base::secret::bytes_max &&
        ::EVP_DecodeBase64(key, &size, sizeof key, bytes_of(secret), secret.size()) == 1 &&
        size >= standard_key_bytes_min && size <= standard_key_bytes_max;
    base::secret key_text(decoded ? std::string_view(reinterpret_cast<char const*>(key), size)
                                  : std::string_view());
    base::wipe(key, sizeof key);
    return key_text;
}

// Removes and returns the piece before the separator.
std::string_view take_until(std::string_view& rest, char separator) {
    auto const end = std::min(rest.find(separator), rest.size());
    auto const piece = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return piece;
}

signature_verdict wrong(std::string_view detail) {
    return {.valid = false, .detail = detail};
}

signature_verdict no_match() {
    return wrong("The signature does not fit the body and the secret of this source.");
}

// Empty if the timestamp is within the tolerance.
std::string_view time_fault(std::string_view digits, base::wall_ms now) {
    std::int64_t seconds = 0;
    if (digits.empty() || digits.size() > timestamp_digits_max ||
        digits.find_first_not_of("0123456789") != digits.npos)
        return "The timestamp is not a number of seconds since 1970.";
    std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
    auto const age = now / 1000 - seconds;
    if (age > signature_tolerance_seconds)
        return "The timestamp is more than 300 seconds in the past.";
    if (age < -signature_tolerance_seconds)
        return "The timestamp is more than 300 seconds in the future.";
    return {};
}

signature_verdict verify_standard(base::secret const& secret, signed_request const& request,
                                  base::wall_ms now) {
    auto const &id = request.webhook_id, &time = request.webhook_timestamp,
               &list = request.webhook_signature;
    if (id.count != 1 || time.count != 1 || list.count != 1)
        return wrong(
            "`webhook-id`, `webhook-timestamp` and `webhook-signature` must be there once.");
    if (!model::is_delivery_id(id.value))
        return wrong("`webhook-id` must be 1 to 255 visible ASCII characters.");
    if (auto const fault = time_fault(time.value, now); !fault.empty()) return wrong(fault);
    auto const key = standard_key(secret.text());
    auto const mac = mac_of(key.text(), {id.value, ".", time.value, ".", request.body});
    auto const expected = "v1," + base64_of(view_of(mac));
    bool fits = false, known = false;
    for (auto rest = list.value; !rest.empty();) {
        auto const each = take_until(rest, ' ');
        known |= each.starts_with("v1,");
        fits |= base::equal_in_constant_time(each, expected);
    }
    if (!known) return wrong("`webhook-signature` has no signature of version v1.");
    return fits ? signature_verdict{true, {}, mac} : no_match();
}

signature_verdict verify_github(base::secret const& secret, signed_request const& request) {
    if (request.hub_signature.count != 1) return wrong("X-Hub-Signature-256 must be there once.");
    auto const& delivery = request.hub_delivery;
    if (delivery.count > 1 || (delivery.count == 1 && !model::is_delivery_id(delivery.value)))
        return wrong("X-GitHub-Delivery must be 1 to 255 visible ASCII characters, once.");
    if (!request.hub_signature.value.starts_with("sha256="))
        return wrong("X-Hub-Signature-256 must begin with sha256=.");
    auto const mac = mac_of(secret.text(), {request.body});
    auto const expected = "sha256=" + base::to_hex(view_of(mac));
    if (!base::equal_in_constant_time(request.hub_signature.value, expected)) return no_match();
    return {true, {}, mac};
}

signature_verdict verify_stripe(base::secret const& secret, signed_request const& request,
                                base::wall_ms now) {
    if (request.stripe_signature.count != 1) return wrong("Stripe-Signature must be there once.");
    std::string_view time;
    bool has_time = false, known = false;
    auto const for_each_part = [&](auto visit) {
        for (auto rest = request.stripe_signature.value; !rest.empty();) {
            auto part = take_until(rest, ',');
            while (part.starts_with(' ')) part.remove_prefix(1);
            auto const name = take_until(part, '=');
            visit(name, part);
        }
    };
    bool twice = false;
    for_each_part([&](std::string_view name, std::string_view value) {
        known |= name == "v1";
        if (name != "t") return;
        twice |= std::exchange(has_time, true);
        time = value;
    });
    if (!has_time || twice) return wrong("Stripe-Signature must have one t=.");
    if (!known) return wrong("Stripe-Signature has no signature of version v1.");
    if (auto const fault = time_fault(time, now); !fault.empty()) return wrong(fault);
    auto const mac = mac_of(secret.text(), {time, ".", request.body});
    auto const expected = base::to_hex(view_of(mac));
    bool fits = false;
    for_each_part([&](std::string_view name, std::string_view value) {
        fits |= name == "v1" && base::equal_in_constant_time(value, expected);
    });
    return fits ? signature_verdict{true, {}, mac} : no_match();
}

bool is_visible(std::string_view text) {
    return std::ranges::all_of(text, [](char byte) { return byte > ' ' && byte < '\x7f'; });
}

}  // namespace

signature_verdict verify_signature(model::event_format format, base::secret const& secret,
                                   signed_request const& request, base::wall_ms now) {
    switch (format) {
        case model::event_format::standard:
            return verify_standard(secret, request, now);
        case model::event_format::github:
            return verify_github(secret, request);
        case model::event_format::stripe:
            break;
    }
    return verify_stripe(secret, request, now);
}

std::string_view secret_fault(model::event_format format, std::string_view secret) {
    if (format == model::event_format::standard)
        return standard_key(secret).empty()
                   ? "must be the base64 of 24 to 64 bytes, which whsec_ may precede"
                   : "";
    if (secret.size() < other_secret_bytes_min || secret.size() > other_secret_bytes_max)
        return "must have 8 to 255 bytes";
    if (format == model::event_format::stripe && !is_visible(secret))
        return "must be visible ASCII characters";
    return model::has_control_character(secret) ? "must not have control characters" : "";
}

base::secret make_event_secret(model::event_format format) {
    char random[32];
    random_bytes(random, sizeof random);
    std::string_view const bytes(random, sizeof random);
    auto text = format == model::event_format::standard ? base64_of(bytes) : base::to_hex(bytes);
    if (format != model::event_format::github) text.insert(0, standard_prefix);
    base::secret secret(text);
    base::wipe(text.data(), text.size());
    base::wipe(random, sizeof random);
    return secret;
}

}  // namespace latchkey::auth
