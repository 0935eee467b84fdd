#include "model/key.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace latchkey::model {
namespace {

key some_key() {
    key record;
    record.id = 9;
    for (std::size_t i = 0; i < record.digest.size(); ++i)
        record.digest[i] = static_cast<unsigned char>(i * 7);
    record.name = "Zoë's";
    record.project = "blog-2";
    record.environment = environment::production;
    record.start = "lkey1234";
    record.last4 = "wxyz";
    record.scopes.add(scope::users_any);
    record.scopes.add("events:write:stripe");
    record.scopes.add("events:write:github");
    record.not_before = 100;
    record.expires_at = 200;
    record.created_at = 50;
    record.created_by = 3;
    record.deactivated_at = 150;
    record.deactivation_reason = deactivation::rotated;
    record.lineage = 2;
    record.replaces = 4;
    record.replaced_by = 11;
    record.rotation_ends_at = 160;
    record.rate_limits = {{"second", 10, 1, 20}, {"day", 1'000'000'000, 31'536'000, 0}};
    record.limit_slots = {1, 0};
    record.limit_generations = {7, 1ull << 60};
    record.ip_allowlist = {*cidr::parse("10.0.0.0/8"), *cidr::parse("2001:db8::/32")};
    record.metadata = {{"team", "a"}, {"", std::string(1000, 'x')}};
    return record;
}

void expect_same(key const& left, key const& right) {
    EXPECT_EQ(left.id, right.id);
    EXPECT_EQ(left.digest, right.digest);
    EXPECT_EQ(left.name, right.name);
    EXPECT_EQ(left.project, right.project);
    EXPECT_EQ(left.environment, right.environment);
    EXPECT_EQ(left.start, right.start);
    EXPECT_EQ(left.last4, right.last4);
    EXPECT_EQ(left.scopes, right.scopes);
    EXPECT_EQ(left.not_before, right.not_before);
    EXPECT_EQ(left.expires_at, right.expires_at);
    EXPECT_EQ(left.created_at, right.created_at);
    EXPECT_EQ(left.created_by, right.created_by);
    EXPECT_EQ(left.deactivated_at, right.deactivated_at);
    EXPECT_EQ(left.deactivation_reason, right.deactivation_reason);
    EXPECT_EQ(left.replaces, right.replaces);
    EXPECT_EQ(left.replaced_by, right.replaced_by);
    EXPECT_EQ(left.rotation_ends_at, right.rotation_ends_at);
    EXPECT_EQ(left.rate_limits, right.rate_limits);
    EXPECT_EQ(left.limit_slots, right.limit_slots);
    EXPECT_EQ(left.limit_generations, right.limit_generations);
    EXPECT_EQ(left.ip_allowlist, right.ip_allowlist);
    EXPECT_EQ(left.metadata, right.metadata);
}

TEST(keys, come_back_as_they_were_encoded) {
    std::string bytes = "left over";
    encode(some_key(), bytes);
    auto const decoded = decode_key(9, bytes);
    ASSERT_TRUE(decoded);
    expect_same(*decoded, some_key());
    EXPECT_EQ(decoded->lineage, 2);

    key bare;
    bare.id = 1;
    bare.rate_limits.clear();
    encode(bare, bytes);
    ASSERT_TRUE(decode_key(1, bytes));
    expect_same(*decode_key(1, bytes), bare);
}

TEST(keys, come_back_at_their_bounds) {
    auto record = some_key();
    record.rate_limits.clear();
    record.limit_slots.clear();
    record.limit_generations.clear();
    record.ip_allowlist.clear();
    record.metadata.clear();
    for (std::size_t i = 0; i < rate_limits_max; ++i) {
        record.rate_limits.push_back({"l" + std::to_string(i), 1, 1, 0});
        record.limit_slots.push_back(static_cast<std::uint8_t>(rate_limits_max - 1 - i));
        record.limit_generations.push_back(i);
    }
    for (std::size_t i = 0; i < ip_allowlist_max; ++i)
        record.ip_allowlist.push_back(*cidr::parse("10.0.0." + std::to_string(i)));
    for (std::size_t i = 0; i < metadata_members_max; ++i)
        record.metadata["member" + std::to_string(i)] = std::string(300, 'v');
    std::string bytes;
    encode(record, bytes);
    ASSERT_TRUE(decode_key(9, bytes));
    expect_same(*decode_key(9, bytes), record);
}

TEST(keys, truncated_or_changed_are_refused) {
    std::string bytes;
    encode(some_key(), bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_key(9, std::string_view(bytes).substr(0, size))) << size;
    EXPECT_FALSE(decode_key(9, bytes + "x"));
    // Any single changed byte gives a record or a refusal; the sanitizers check for anything worse.
    for (std::size_t offset = 0; offset < bytes.size(); ++offset)
        for (int const value : {0, 1, 4, 127, 255}) {
            auto copy = bytes;
            copy[offset] = static_cast<char>(value);
            if (auto const decoded = decode_key(9, copy))
                EXPECT_LE(decoded->limit_slots.size(), rate_limits_max);
        }
    auto other_version = bytes;
    for (char const version : {0, 4, 5}) {
        other_version[0] = version;
        EXPECT_FALSE(decode_key(9, other_version));
    }
}

// A record of kind `jwt` has a version of its own; all others stay readable for older programs.
TEST(keys, of_kind_jwt_come_back_with_issuer_and_subject) {
    std::string bytes;
    encode(some_key(), bytes);
    EXPECT_EQ(bytes[0], 3);
    auto record = some_key();
    record.kind = key_kind::jwt;
    record.issuer = "https://id.example.com/realms/shop";
    record.subject = std::string(subject_bytes_max, 's');
    encode(record, bytes);
    EXPECT_EQ(bytes[0], 4);
    auto const decoded = decode_key(9, bytes);
    ASSERT_TRUE(decoded);
    expect_same(*decoded, record);
    EXPECT_EQ(decoded->kind, key_kind::jwt);
    EXPECT_EQ(decoded->issuer, record.issuer);
    EXPECT_EQ(decoded->subject, record.subject);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_key(9, std::string_view(bytes).substr(0, size))) << size;
    for (auto const& text : {std::string(), std::string(256, 's'), std::string("a\nb"),
                             std::string("a\xe2\x80\xae"
                                         "b"),
                             std::string("a\xff")}) {
        record.subject = text;
        encode(record, bytes);
        EXPECT_FALSE(decode_key(9, bytes)) << text.size();
    }
}

TEST(keys, of_kind_jwt_are_found_by_issuer_and_subject_alone) {
    auto const text = bearer_identity("https://a", "b");
    EXPECT_NE(text, bearer_identity("https://ab", ""));
    EXPECT_NE(text, bearer_identity("https://", "ab"));
    EXPECT_NE(text, bearer_identity("b", "https://a"));
    EXPECT_EQ(text, bearer_identity("https://a", "b"));
    // No key has such a byte, whatever its form.
    EXPECT_NE(text.find('\0'), text.npos);
    EXPECT_TRUE((key{.start = ""}.is_imported()));
    EXPECT_FALSE((key{.kind = key_kind::jwt}.is_imported()));
}

// Size of the generations, with which a record of the latest version ends.
constexpr std::size_t generations_bytes = 2 * sizeof(std::uint64_t);

key without_generations() {
    auto record = some_key();
    record.limit_generations = {0, 0};
    return record;
}

TEST(keys, of_version_2_have_limits_of_the_first_generation) {
    std::string bytes;
    encode(some_key(), bytes);
    bytes[0] = 2;
    EXPECT_FALSE(decode_key(9, bytes));
    bytes.resize(bytes.size() - generations_bytes);
    auto const old = decode_key(9, bytes);
    ASSERT_TRUE(old);
    expect_same(*old, without_generations());
    EXPECT_EQ(old->line(), 2);
}

// In version 1 the predecessor takes the place of the lineage.
TEST(keys, of_version_1_have_no_lineage) {
    std::string bytes;
    encode(some_key(), bytes);
    bytes[0] = 1;
    EXPECT_FALSE(decode_key(9, bytes));
    bytes.resize(bytes.size() - sizeof(id) - generations_bytes);
    auto const old = decode_key(9, bytes);
    ASSERT_TRUE(old);
    EXPECT_EQ(old->line(), 4);
    expect_same(*old, without_generations());
    EXPECT_EQ((key{.id = 9}.line()), 9);
    EXPECT_EQ(some_key().line(), 2);
}

TEST(keys, with_two_limits_in_one_slot_are_refused) {
    auto record = some_key();
    record.limit_slots = {1, 1};
    std::string bytes;
    encode(record, bytes);
    EXPECT_FALSE(decode_key(9, bytes));
    record.limit_slots = {1, 8};
    encode(record, bytes);
    EXPECT_FALSE(decode_key(9, bytes));
}

TEST(keys, with_values_that_no_key_has_are_refused) {
    auto const is_refused = [](auto change) {
        auto record = some_key();
        change(record);
        std::string bytes;
        encode(record, bytes);
        return !decode_key(9, bytes);
    };
    EXPECT_FALSE(is_refused([](key&) {}));
    EXPECT_TRUE(is_refused([](key& k) { k.rate_limits[1].limit = 0; }));
    EXPECT_TRUE(is_refused([](key& k) { k.rate_limits[1].window_seconds = 0; }));
    EXPECT_TRUE(is_refused([](key& k) { k.rate_limits[1].name = "Day"; }));
    EXPECT_TRUE(is_refused([](key& k) { k.ip_allowlist[1].prefix = 129; }));
    EXPECT_TRUE(is_refused([](key& k) { k.environment = static_cast<environment>(3); }));
    EXPECT_TRUE(is_refused([](key& k) { k.deactivation_reason = static_cast<deactivation>(4); }));
    EXPECT_TRUE(is_refused([](key& k) { k.scopes = scope_set::of(0, {"No source"}); }));
}

// Records that cannot be encoded, so their bytes are edited.
TEST(keys, with_members_twice_or_unknown_scopes_are_refused) {
    auto record = some_key();
    record.scopes = scope_set::of(0, {"source-a", "source-b"});
    record.metadata = {{"member-a", "1"}, {"member-b", "2"}};
    std::string bytes;
    encode(record, bytes);
    ASSERT_TRUE(decode_key(9, bytes));
    for (auto const* const twice : {"source-b", "member-b"}) {
        auto copy = bytes;
        copy[copy.find(twice) + 7] = 'a';
        EXPECT_FALSE(decode_key(9, copy)) << twice;
    }
    record.scopes.add(scope::users_read);
    std::string with_one;
    encode(record, with_one);
    auto const last = std::ranges::mismatch(bytes, with_one).in1 - bytes.begin();
    bytes[static_cast<std::size_t>(last) - 3] = '\x80';  // the highest bit of the word
    EXPECT_FALSE(decode_key(9, bytes));
}

TEST(key_states, follow_the_clock) {
    key record;
    EXPECT_EQ(record.state_at(0), key_state::active);
    record.not_before = 100;
    record.expires_at = 200;
    EXPECT_EQ(record.state_at(99), key_state::scheduled);
    EXPECT_EQ(record.state_at(100), key_state::active);
    EXPECT_EQ(record.state_at(199), key_state::active);
    EXPECT_EQ(record.state_at(200), key_state::expired);
    record.expires_at = 300;  // moving it forward revives
    EXPECT_EQ(record.state_at(200), key_state::active);
}

TEST(key_states, have_an_order) {
    key record;
    record.not_before = 300;
    record.expires_at = 200;
    EXPECT_EQ(record.state_at(100), key_state::scheduled);
    EXPECT_EQ(record.state_at(250), key_state::expired);
    record.deactivated_at = 50;
    record.deactivation_reason = deactivation::manual;
    for (base::wall_ms const now : {0, 100, 250, 400})
        EXPECT_EQ(record.state_at(now), key_state::deactivated);
}

// A deactivation without a reason counts as manual.
TEST(key_states, a_time_of_deactivation_is_enough) {
    key const record{.deactivated_at = 5};
    EXPECT_EQ(record.state_at(4), key_state::deactivated);
    EXPECT_EQ(record.ending_at(9).time, 5);
    EXPECT_EQ(record.ending_at(9).reason, deactivation::manual);
}

TEST(key_states, a_rotation_that_has_ended_deactivates) {
    key record;
    record.replaced_by = 2;
    record.rotation_ends_at = 100;
    EXPECT_EQ(record.state_at(99), key_state::active);
    EXPECT_EQ(record.state_at(100), key_state::deactivated);
    record.expires_at = 50;
    EXPECT_EQ(record.state_at(60), key_state::expired);
    EXPECT_EQ(record.state_at(100), key_state::deactivated);
}

TEST(key_states, name_their_refusal) {
    EXPECT_EQ(refusal_of(key_state::scheduled), base::problem::key_not_yet_active);
    EXPECT_EQ(refusal_of(key_state::active), base::problem::none);
    EXPECT_EQ(refusal_of(key_state::expired), base::problem::key_expired);
    EXPECT_EQ(refusal_of(key_state::deactivated), base::problem::key_deactivated);
}

TEST(key_names, of_everything) {
    for (auto const each :
         {environment::development, environment::staging, environment::production})
        EXPECT_EQ(find_environment(name_of(each)), each);
    EXPECT_FALSE(find_environment("test"));
    EXPECT_EQ(name_of(deactivation::none), "");
    EXPECT_EQ(name_of(deactivation::manual), "manual");
    EXPECT_EQ(name_of(deactivation::rotated), "rotated");
    EXPECT_EQ(name_of(deactivation::compromised), "compromised");
    EXPECT_EQ(name_of(key_state::scheduled), "scheduled");
    EXPECT_EQ(name_of(key_state::deactivated), "deactivated");
    EXPECT_TRUE(is_project("a-1"));
    EXPECT_TRUE(is_project(std::string(64, 'p')));
    for (auto const& bad : {std::string(), std::string(65, 'p'), std::string("A"),
                            std::string("a_b"), std::string("a b")})
        EXPECT_FALSE(is_project(bad)) << bad;
    EXPECT_TRUE(is_limit_name("per-second_1"));
    for (auto const* bad : {"", "1a", "-a", "A", "a.b", "a23456789012345678901234567890123"})
        EXPECT_FALSE(is_limit_name(bad)) << bad;
    EXPECT_EQ(default_rate_limits(),
              (std::vector<rate_limit>{{"minute", 600, 60, 0}, {"hour", 20'000, 3600, 0}}));
}

}  // namespace
}  // namespace latchkey::model
