#include "model/webhook.hpp"

#include <gtest/gtest.h>

#include "model/entity_tag.hpp"

namespace latchkey::model {
namespace {

webhook some_webhook() {
    webhook record{.id = 7,
                   .url = "https://example.com/hook",
                   .types = {"user.*", "key.created"},
                   .description = "orders",
                   .ordered = true,
                   .max_per_second = 50,
                   .headers = {{"Authorization", "Bearer abc"}, {"X-Trace", "1"}},
                   .signs_v1 = true,
                   .signs_v1a = true,
                   .end = webhook_end::failing,
                   .disabled_at = 1'700'000'000'001,
                   .project = "shop",
                   .created_by = 3,
                   .created_at = 1'700'000'000'000,
                   .updated_at = 1'700'000'000'002,
                   .revision = 9,
                   .rotation_ends_at = 1'700'000'000'003};
    record.public_key.fill('k');
    return record;
}

delivery some_delivery() {
    return {.sequence = 12,
            .type = change_type::key_rotated,
            .state = delivery_state::failed,
            .next_attempt_at = 5,
            .attempts = {
                {.time = 1, .status = 500, .duration_ms = 20, .error = {}, .response = "no"},
                {.time = 2, .status = 0, .duration_ms = 3, .error = "refused", .response = {}}}};
}

TEST(webhooks, are_decoded_as_they_were_encoded_but_for_header_values) {
    std::string bytes;
    encode(some_webhook(), bytes);
    EXPECT_EQ(bytes.find("Bearer"), std::string::npos);
    auto const decoded = decode_webhook(7, bytes);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->id, 7);
    EXPECT_EQ(decoded->url, "https://example.com/hook");
    EXPECT_EQ(decoded->types, (std::vector<std::string>{"user.*", "key.created"}));
    EXPECT_EQ(decoded->description, "orders");
    EXPECT_TRUE(decoded->ordered);
    EXPECT_EQ(decoded->max_per_second, 50u);
    ASSERT_EQ(decoded->headers.size(), 2u);
    EXPECT_EQ(decoded->headers[0].first, "Authorization");
    EXPECT_EQ(decoded->headers[0].second, "");
    EXPECT_TRUE(decoded->signs_v1);
    EXPECT_TRUE(decoded->signs_v1a);
    EXPECT_EQ(decoded->end, webhook_end::failing);
    EXPECT_EQ(decoded->disabled_at, 1'700'000'000'001);
    EXPECT_EQ(decoded->project, "shop");
    EXPECT_EQ(decoded->created_by, 3);
    EXPECT_EQ(decoded->created_at, 1'700'000'000'000);
    EXPECT_EQ(decoded->updated_at, 1'700'000'000'002);
    EXPECT_EQ(decoded->revision, 9u);
    EXPECT_EQ(decoded->public_key, some_webhook().public_key);
    EXPECT_EQ(decoded->rotation_ends_at, 1'700'000'000'003);
}

TEST(webhooks, truncated_or_extended_are_refused) {
    std::string bytes;
    encode(some_webhook(), bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_webhook(7, std::string_view(bytes).substr(0, size))) << size;
    EXPECT_FALSE(decode_webhook(7, bytes + "x"));
    std::string_view rest;
    std::string const extended = bytes + "xyz";
    EXPECT_TRUE(decode_webhook(7, extended, &rest));
    EXPECT_EQ(rest, "xyz");
    bytes[0] = 2;
    EXPECT_FALSE(decode_webhook(7, bytes)) << "another version";
}

TEST(webhooks, beyond_their_bounds_are_refused) {
    auto const refuses = [](auto change) {
        auto record = some_webhook();
        change(record);
        std::string bytes;
        encode(record, bytes);
        return !is_storable(record) && !decode_webhook(7, bytes);
    };
    EXPECT_TRUE(is_storable(some_webhook()));
    EXPECT_TRUE(refuses([](webhook& each) { each.url.assign(webhook_url_bytes_max + 1, 'a'); }));
    EXPECT_TRUE(refuses([](webhook& each) { each.types.clear(); }));
    EXPECT_TRUE(refuses([](webhook& each) { each.types.assign(webhook_types_max + 1, "*"); }));
    EXPECT_TRUE(refuses([](webhook& each) { each.max_per_second = webhook_rate_max + 1; }));
    EXPECT_TRUE(
        refuses([](webhook& each) { each.headers.assign(webhook_headers_max + 1, {"X", ""}); }));
    auto record = some_webhook();
    record.headers = {{"X", std::string(webhook_header_bytes_max, 'v')}};
    EXPECT_FALSE(is_storable(record));
}

TEST(webhooks, have_a_tag_of_their_settings) {
    auto const record = some_webhook();
    auto variant = record;
    ++variant.revision;
    auto const now = record.rotation_ends_at - 1;
    EXPECT_EQ(tag_of(record, now), tag_of(record, now - 5));
    EXPECT_NE(tag_of(record, now), tag_of(variant, now)) << "within the same millisecond";
    EXPECT_NE(tag_of(record, now), tag_of(record, now + 1)) << "the overlap has ended";
}

TEST(webhook_headers, have_names_of_any_case) {
    EXPECT_TRUE(is_same_header("X-Trace", "x-tRACE"));
    EXPECT_TRUE(is_same_header("", ""));
    EXPECT_FALSE(is_same_header("X-Trace", "X-Trac"));
    EXPECT_FALSE(is_same_header("X[", "X{")) << "only letters have a case";
}

TEST(webhook_progress, is_decoded_as_it_was_encoded) {
    std::string bytes;
    encode(webhook_progress{.position = 44, .failing_since = 55}, bytes);
    EXPECT_EQ(decode_webhook_progress(bytes),
              (webhook_progress{.position = 44, .failing_since = 55}));
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_webhook_progress(std::string_view(bytes).substr(0, size))) << size;
    EXPECT_FALSE(decode_webhook_progress(bytes + "x"));
}

TEST(deliveries, are_decoded_as_they_were_encoded) {
    std::string bytes;
    encode(some_delivery(), bytes);
    EXPECT_EQ(decode_delivery(12, bytes), some_delivery());
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_delivery(12, std::string_view(bytes).substr(0, size))) << size;
    EXPECT_FALSE(decode_delivery(12, bytes + "x"));
    auto other = bytes;
    other[2] = 3;
    EXPECT_FALSE(decode_delivery(12, other)) << "a state that is unknown";
}

TEST(deliveries, keep_the_last_attempts_and_the_begin_of_long_texts) {
    auto record = some_delivery();
    record.attempts.clear();
    for (int i = 1; i <= 12; ++i)
        record.attempts.push_back({.time = i,
                                   .status = 500,
                                   .duration_ms = 1,
                                   .error = std::string(1000, 'e'),
                                   .response = std::string(2000, 'r')});
    std::string bytes;
    encode(record, bytes);
    auto const decoded = decode_delivery(12, bytes);
    ASSERT_TRUE(decoded);
    ASSERT_EQ(decoded->attempts.size(), delivery_attempts_max);
    EXPECT_EQ(decoded->attempts.front().time, 3);
    EXPECT_EQ(decoded->attempts.back().time, 12);
    EXPECT_EQ(decoded->attempts.back().response, std::string(delivery_response_bytes_max, 'r'));
    EXPECT_EQ(decoded->attempts.back().error, std::string(delivery_error_bytes_max, 'e'));
}

TEST(delivery_states, are_found_by_their_names) {
    for (auto const* const name : {"pending", "delivered", "failed"})
        EXPECT_EQ(name_of(find_delivery_state(name).value()), name);
    EXPECT_FALSE(find_delivery_state("done"));
}

TEST(webhook_replays, are_decoded_as_they_were_encoded) {
    std::string bytes;
    webhook_replay const replay{.ordinal = 3, .next = 10, .last = 20};
    encode(replay, bytes);
    EXPECT_EQ(decode_webhook_replay(3, bytes), replay);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_webhook_replay(3, std::string_view(bytes).substr(0, size))) << size;
}

}  // namespace
}  // namespace latchkey::model
