// Signatures of what is sent to webhooks: the example of Standard Webhooks, RFC 8032, and vectors
// that Node's crypto computed.
#include "auth/webhook_signature.hpp"

#include <gtest/gtest.h>

#include "base/bytes.hpp"

namespace latchkey::auth {
namespace {

base::secret counting_bytes() {
    std::string bytes;
    for (char i = 0; i < 32; ++i) bytes.push_back(i);
    return base::secret(bytes);
}

model::webhook_secret some_secret() {
    return {base::secret(std::string(32, 'a')), counting_bytes(), 0};
}

constexpr webhook_message some_message{"msg_1", 1'700'000'000, R"({"a":1})"};
constexpr std::string_view v1 = "v1,gY5u0Gy1AnBsf6YdPFLa7N7Wpo237alzmdfC0DTFXRI=";
constexpr std::string_view v1a =
    "v1a,DA+4m4VqA33Hm9Wlha/1LaJIOTEvbTa2btJ5gtcP1KIJ83aMbtlDaDEj9gW4UzCjPd9EMUgy41eDWvfIiFddCQ==";

TEST(webhook_signatures, are_those_of_the_specification) {
    // The example of Standard Webhooks: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw.
    char key[24];
    ASSERT_TRUE(base::from_hex("31f290f6bf06298aab4f08d43c3f082cf648a362da2da4b0", key, 24));
    std::vector<model::webhook_secret> const secrets{
        {base::secret({key, sizeof key}), counting_bytes(), 0}};
    EXPECT_EQ(sign_webhook({"msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, R"({"test": 2432232314})"},
                           secrets, {}),
              "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(webhook_signatures, are_of_the_kinds_that_are_asked_for) {
    std::vector const secrets{some_secret()};
    EXPECT_EQ(sign_webhook(some_message, secrets, {.v1 = true, .v1a = false}), v1);
    EXPECT_EQ(sign_webhook(some_message, secrets, {.v1 = false, .v1a = true}), v1a);
    EXPECT_EQ(sign_webhook(some_message, secrets, {.v1 = true, .v1a = true}),
              std::string(v1) + " " + std::string(v1a));
}

TEST(webhook_signatures, are_several_while_secrets_overlap) {
    std::vector const secrets{make_webhook_secret(), some_secret()};
    auto const list = sign_webhook(some_message, secrets, {});
    EXPECT_TRUE(list.ends_with(" " + std::string(v1))) << list;
    EXPECT_EQ(list.size(), 2 * v1.size() + 1);
    EXPECT_EQ(sign_webhook(some_message, {}, {}), "");
}

TEST(webhook_secrets, are_random_and_have_a_public_key) {
    auto const first = make_webhook_secret(), second = make_webhook_secret();
    EXPECT_EQ(first.hmac.text().size(), 32u);
    EXPECT_EQ(first.ed25519_seed.text().size(), 32u);
    EXPECT_NE(first.hmac.text(), second.hmac.text());
    EXPECT_NE(first.hmac.text(), first.ed25519_seed.text());
    EXPECT_NE(public_key_of(first), public_key_of(second));
    // RFC 8032 §7.1, test 1.
    char seed[32], key[32];
    ASSERT_TRUE(base::from_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                               seed, 32));
    ASSERT_TRUE(base::from_hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
                               key, 32));
    auto const computed = public_key_of({{}, base::secret({seed, sizeof seed}), 0});
    EXPECT_EQ(std::string(computed.begin(), computed.end()), std::string(key, sizeof key));
}

TEST(webhook_secrets, have_texts_for_their_owners) {
    auto const secret = some_secret();
    EXPECT_EQ(secret_text(secret.hmac).text(),
              "whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=");
    auto const key = public_key_of(secret);
    EXPECT_EQ(public_key_text(key), "whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=");
    EXPECT_EQ(parse_public_key(public_key_text(key)), key);
    for (auto const* const other :
         {"", "whpk_", "whpk_AAAA", "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=",
          "whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"})
        EXPECT_FALSE(parse_public_key(other)) << other;
}

}  // namespace
}  // namespace latchkey::auth
