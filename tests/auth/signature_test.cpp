// Signatures of events (api.md §12): the vectors of the formats' own documents, and each kind of
// invalid signature.
#include "auth/signature.hpp"

#include <gtest/gtest.h>

namespace latchkey::auth {
namespace {

using enum model::event_format;

signed_field once(std::string_view value) {
    return {1, value};
}

base::wall_ms at(std::int64_t seconds) {
    return seconds * 1000;
}

// The example of the specification of Standard Webhooks and of its libraries.
struct standard_example {
    base::secret secret{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"};
    std::int64_t time = 1614265330;
    signed_request request{
        .webhook_id = once("msg_p5jXN8AQM9LWM0D4loKWxJek"),
        .webhook_timestamp = once("1614265330"),
        .webhook_signature = once("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        .body = R"({"test": 2432232314})"};
    signature_verdict verdict() const {
        return verify_signature(standard, secret, request, at(time));
    }
};

// GitHub's "Validating webhook deliveries", testing the webhook payload validation.
struct github_example {
    base::secret secret{"It's a Secret to Everybody"};
    signed_request request{
        .hub_signature =
            once("sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"),
        .body = "Hello, World!"};
    signature_verdict verdict() const { return verify_signature(github, secret, request, at(1)); }
};

// Stripe's scheme, with a vector from the tests of the Haskell package stripe-signature.
struct stripe_example {
    base::secret secret{"secret"};
    std::int64_t time = 123;
    std::string field = "t=123,v1=f89c0a0e96fa6304a7ebd5ecaf13bc1beb859577cd7cafb7bdbc43c3bc2f6afa";
    std::string_view body = "hello";
    signature_verdict verdict() const {
        return verify_signature(stripe, secret, {.stripe_signature = once(field), .body = body},
                                at(time));
    }
};

TEST(signatures, of_the_documents_are_valid) {
    EXPECT_TRUE(standard_example().verdict().valid) << standard_example().verdict().detail;
    EXPECT_TRUE(github_example().verdict().valid);
    EXPECT_TRUE(stripe_example().verdict().valid);
}

// Correct digits under another version of the scheme are no signature.
TEST(signatures, of_stripe_are_of_version_1) {
    stripe_example other;
    other.field.replace(other.field.find("v1="), 3, "v0=");
    EXPECT_FALSE(other.verdict().valid);
    other.field += ",v1=" + std::string(64, '0');
    EXPECT_FALSE(other.verdict().valid);
    other.field += stripe_example().field.substr(5);
    EXPECT_TRUE(other.verdict().valid);
}

TEST(signatures, need_every_bit_of_what_they_sign) {
    for (int byte = 0; byte < 20; ++byte) {
        standard_example one;
        std::string body(one.request.body);
        body[static_cast<std::size_t>(byte)] ^= 1;
        one.request.body = body;
        EXPECT_FALSE(one.verdict().valid) << byte;
    }
    standard_example standard;
    standard.request.webhook_id = once("msg_p5jXN8AQM9LWM0D4loKWxJel");
    EXPECT_FALSE(standard.verdict().valid);
    standard.request.webhook_id = once("msg_p5jXN8AQM9LWM0D4loKWxJek");
    standard.request.webhook_timestamp = once("1614265331");
    EXPECT_FALSE(standard.verdict().valid);
    github_example github;
    github.request.body = "Hello, World";
    EXPECT_FALSE(github.verdict().valid);
    stripe_example stripe;
    stripe.field[2] = '2';
    EXPECT_FALSE(stripe.verdict().valid);
    stripe = {};
    stripe.body = "hello ";
    EXPECT_FALSE(stripe.verdict().valid);
    stripe = {};
    stripe.secret = base::secret("secres");
    EXPECT_FALSE(stripe.verdict().valid);
}

TEST(signatures, of_a_standard_list_need_one_that_fits) {
    constexpr std::string_view good = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    std::string const other = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=";
    std::string many;
    for (int i = 0; i < 300; ++i) many += other + " ";
    struct {
        std::string list;
        bool valid;
    } const rows[] = {
        {std::string(good), true},
        {other + " " + std::string(good), true},
        {std::string(good) + " " + other, true},
        {"v1a,xyz " + std::string(good) + " v2,abc", true},
        {"  " + std::string(good) + "  ", true},
        {many + std::string(good), true},
        {many, false},
        {"", false},
        {" ", false},
        {other, false},
        {"v2" + std::string(good.substr(2)), false},
        {"V1" + std::string(good.substr(2)), false},
        {std::string(good.substr(3)), false},
        {std::string(good.substr(0, good.size() - 1)), false},
        {std::string(good) + "=", false},
        {std::string(good) + "," + other, false},
        {"v1,", false},
        {"v1," + std::string(5000, 'A'), false},
        {"v1,g0hM9SsE-OTPJTGt_tmIKtSyZlE3uFJELVlNIOLJ1OE=", false},  // the URL's alphabet
        {"v1,\xc3\xa9", false},
    };
    for (auto const& row : rows) {
        standard_example one;
        one.request.webhook_signature = once(row.list);
        EXPECT_EQ(one.verdict().valid, row.valid) << row.list;
        EXPECT_EQ(one.verdict().detail.empty(), row.valid);
    }
}

TEST(signatures, of_github_are_one_lower_case_digest_after_its_name) {
    constexpr std::string_view hex =
        "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    std::string upper(hex);
    for (char& digit : upper)
        if (digit >= 'a') digit = static_cast<char>(digit - 32);
    for (std::string const& value :
         {std::string(hex), "sha1=" + std::string(hex), "SHA256=" + std::string(hex),
          "sha256=" + upper, "sha256=" + std::string(hex.substr(1)),
          "sha256=" + std::string(hex) + "0", "sha256= " + std::string(hex), std::string("sha256="),
          std::string()}) {
        github_example one;
        one.request.hub_signature = once(value);
        EXPECT_FALSE(one.verdict().valid) << value;
    }
    github_example one;
    for (auto const* const id : {"", "a b", "\xc3\xa9"}) {
        one.request.hub_delivery = once(id);
        EXPECT_FALSE(one.verdict().valid) << id;
    }
    one.request.hub_delivery = once("72d3162e-cc78-11e3-81ab-4c9367dc0958");
    EXPECT_TRUE(one.verdict().valid);
    one.request.hub_delivery.count = 2;
    EXPECT_FALSE(one.verdict().valid);
}

TEST(signatures, of_stripe_are_parsed) {
    constexpr std::string_view good =
        "v1=f89c0a0e96fa6304a7ebd5ecaf13bc1beb859577cd7cafb7bdbc43c3bc2f6afa";
    std::string const v1(good), other = "v1=" + std::string(64, '0');
    struct {
        std::string field;
        bool valid;
    } const rows[] = {
        {"t=123," + v1, true},
        {v1 + ",t=123", true},
        {"t=123, " + v1 + ", v0=abc", true},
        {"t=123," + other + "," + v1, true},
        {"t=123,v2=1,x," + v1 + ",", true},
        {"t=123," + other, false},
        {"t=123", false},
        {"t=123,v0=" + v1.substr(3), false},
        {"t=123,v1", false},
        {"t=123,v1=", false},
        {"t=123," + v1.substr(0, v1.size() - 1), false},
        {v1, false},
        {"t=," + v1, false},
        {"t=123,t=123," + v1, false},
        {"t=0123," + v1, false},
        {"t=+123," + v1, false},
        {"t=123x," + v1, false},
        {"", false},
        {",", false},
        {"=,=,t=123", false},
    };
    for (auto const& row : rows) {
        stripe_example one;
        one.field = row.field;
        EXPECT_EQ(one.verdict().valid, row.valid) << row.field;
    }
}

TEST(signatures, hold_for_300_seconds_either_way) {
    for (auto const offset : {-300, 0, 300}) {
        standard_example standard;
        standard.time += offset;
        EXPECT_TRUE(standard.verdict().valid) << offset;
        stripe_example stripe;
        stripe.time += offset;
        EXPECT_TRUE(stripe.verdict().valid) << offset;
    }
    for (auto const offset : {-301, 301, -100'000'000, 100'000'000}) {
        standard_example standard;
        standard.time += offset;
        EXPECT_NE(standard.verdict().detail.find("300 seconds"), std::string_view::npos) << offset;
        stripe_example stripe;
        stripe.time += offset;
        EXPECT_FALSE(stripe.verdict().valid) << offset;
    }
    for (auto const* const time :
         {"", "-1", "1e9", " 1614265330", "99999999999999999999", "\xd9\xa1"}) {
        standard_example one;
        one.request.webhook_timestamp = once(time);
        EXPECT_NE(one.verdict().detail.find("number of seconds"), std::string_view::npos) << time;
    }
}

TEST(signatures, need_each_field_once) {
    for (auto const field : {&signed_request::webhook_id, &signed_request::webhook_timestamp,
                             &signed_request::webhook_signature})
        for (auto const count : {0u, 2u}) {
            standard_example one;
            (one.request.*field).count = count;
            EXPECT_NE(one.verdict().detail.find("there once"), std::string_view::npos);
        }
    for (auto const count : {0u, 2u}) {
        github_example one;
        one.request.hub_signature.count = count;
        EXPECT_FALSE(one.verdict().valid);
        EXPECT_FALSE(
            verify_signature(stripe, base::secret("secret"),
                             {.stripe_signature = {count, stripe_example().field}, .body = "hello"},
                             at(123))
                .valid);
    }
}

TEST(event_secrets, are_made_in_the_form_of_their_format) {
    for (auto const format : {standard, github, stripe}) {
        auto const one = make_event_secret(format), other = make_event_secret(format);
        EXPECT_NE(one.text(), other.text());
        EXPECT_EQ(secret_fault(format, one.text()), "");
        EXPECT_EQ(one.text().starts_with("whsec_"), format != github);
        EXPECT_EQ(one.text().size(), format == standard ? 50u : format == stripe ? 70u : 64u);
    }
}

TEST(event_secrets, that_are_supplied_must_fit_their_format) {
    std::string const key24(32, 'A'), key23 = std::string(30, 'A') + "A=", key64(84, 'A');
    for (auto const& text : {key24, "whsec_" + key24, key64 + "AA==", std::string(44, '/')})
        EXPECT_EQ(secret_fault(standard, text), "") << text;
    for (auto const& text : {std::string(), std::string("whsec_"), key23, key64 + "AAA=",
                             "whsec_" + key24.substr(1), "WHSEC_" + key24, key24 + "!",
                             key24 + "\n", std::string(32, '_'), "whsec_whsec_" + key24})
        EXPECT_NE(secret_fault(standard, text), "") << text;
    EXPECT_EQ(secret_fault(github, "It's a Secret to Everybody"), "");
    EXPECT_EQ(secret_fault(github, "gr\xc3\xbc\xc3\x9f\x65 an alle"), "");
    EXPECT_EQ(secret_fault(github, std::string(255, 'a')), "");
    EXPECT_EQ(secret_fault(github, "12345678"), "");
    for (auto const& text :
         {std::string("1234567"), std::string(256, 'a'), std::string("12345678\n")})
        EXPECT_NE(secret_fault(github, text), "") << text;
    EXPECT_EQ(secret_fault(stripe, "whsec_6HkF3cQ0aVtWqT1mB2nX"), "");
    for (auto const* const text :
         {"whsec_", "whsec_a b c d e f", "whsec_\xc3\xa9t\xc3\xa9t\xc3\xa9"})
        EXPECT_NE(secret_fault(stripe, text), "") << text;
}

}  // namespace
}  // namespace latchkey::auth
