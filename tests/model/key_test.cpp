#include "model/key.hpp"

#include <gtest/gtest.h>

namespace latchkey::model {
namespace {

key some_key() {
    key whole;
    whole.id = 9;
    for (std::size_t i = 0; i < whole.digest.size(); ++i)
        whole.digest[i] = static_cast<unsigned char>(i * 7);
    whole.name = "Zoë's";
    whole.project = "blog-2";
    whole.environment = environment::production;
    whole.start = "lkey1234";
    whole.last4 = "wxyz";
    whole.scopes.add(scope::users_any);
    whole.scopes.add("events:write:stripe");
    whole.scopes.add("events:write:github");
    whole.not_before = 100, whole.expires_at = 200, whole.created_at = 50, whole.created_by = 3;
    whole.deactivated_at = 150, whole.deactivation_reason = deactivation::rotated;
    whole.lineage = 2, whole.replaces = 4, whole.replaced_by = 11, whole.rotation_ends_at = 160;
    whole.rate_limits = {{"second", 10, 1, 20}, {"day", 1'000'000'000, 31'536'000, 0}};
    whole.limit_slots = {1, 0};
    whole.ip_allowlist = {*cidr::parse("10.0.0.0/8"), *cidr::parse("2001:db8::/32")};
    whole.metadata = {{"team", "a"}, {"", std::string(1000, 'x')}};
    return whole;
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
    auto whole = some_key();
    whole.rate_limits.clear(), whole.limit_slots.clear(), whole.ip_allowlist.clear(),
        whole.metadata.clear();
    for (std::size_t i = 0; i < rate_limits_max; ++i) {
        whole.rate_limits.push_back({"l" + std::to_string(i), 1, 1, 0});
        whole.limit_slots.push_back(static_cast<std::uint8_t>(rate_limits_max - 1 - i));
    }
    for (std::size_t i = 0; i < ip_allowlist_max; ++i)
        whole.ip_allowlist.push_back(*cidr::parse("10.0.0." + std::to_string(i)));
    for (std::size_t i = 0; i < metadata_members_max; ++i)
        whole.metadata["member" + std::to_string(i)] = std::string(300, 'v');
    std::string bytes;
    encode(whole, bytes);
    ASSERT_TRUE(decode_key(9, bytes));
    expect_same(*decode_key(9, bytes), whole);
}

TEST(keys, that_were_cut_or_changed_are_refused) {
    std::string bytes;
    encode(some_key(), bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_key(9, std::string_view(bytes).substr(0, size))) << size;
    EXPECT_FALSE(decode_key(9, bytes + "x"));
    // Any single changed byte gives a record or a refusal, never anything worse (for the
    // sanitizers).
    for (std::size_t at = 0; at < bytes.size(); ++at)
        for (int const value : {0, 1, 4, 127, 255}) {
            auto changed = bytes;
            changed[at] = static_cast<char>(value);
            if (auto const decoded = decode_key(9, changed))
                EXPECT_LE(decoded->limit_slots.size(), rate_limits_max);
        }
    auto other_version = bytes;
    for (char const version : {0, 3}) {
        other_version[0] = version;
        EXPECT_FALSE(decode_key(9, other_version));
    }
}

// There the predecessor stands for the line.
TEST(keys, of_version_1_have_no_lineage) {
    std::string bytes;
    encode(some_key(), bytes);
    bytes[0] = 1;
    EXPECT_FALSE(decode_key(9, bytes));
    bytes.resize(bytes.size() - sizeof(id));
    auto const old = decode_key(9, bytes);
    ASSERT_TRUE(old);
    EXPECT_EQ(old->line(), 4);
    expect_same(*old, some_key());
    EXPECT_EQ((key{.id = 9}.line()), 9);
    EXPECT_EQ(some_key().line(), 2);
}

TEST(keys, with_two_limits_in_one_slot_are_refused) {
    auto whole = some_key();
    whole.limit_slots = {1, 1};
    std::string bytes;
    encode(whole, bytes);
    EXPECT_FALSE(decode_key(9, bytes));
    whole.limit_slots = {1, 8};
    encode(whole, bytes);
    EXPECT_FALSE(decode_key(9, bytes));
}

TEST(key_states, follow_the_clock) {
    key whole;
    EXPECT_EQ(whole.state_at(0), key_state::active);
    whole.not_before = 100;
    whole.expires_at = 200;
    EXPECT_EQ(whole.state_at(99), key_state::scheduled);
    EXPECT_EQ(whole.state_at(100), key_state::active);
    EXPECT_EQ(whole.state_at(199), key_state::active);
    EXPECT_EQ(whole.state_at(200), key_state::expired);
    whole.expires_at = 300;  // moving it forward revives
    EXPECT_EQ(whole.state_at(200), key_state::active);
}

TEST(key_states, have_an_order) {
    key whole;
    whole.not_before = 300, whole.expires_at = 200;
    EXPECT_EQ(whole.state_at(100), key_state::scheduled);
    EXPECT_EQ(whole.state_at(250), key_state::expired);
    whole.deactivated_at = 50, whole.deactivation_reason = deactivation::manual;
    for (base::wall_ms const now : {0, 100, 250, 400})
        EXPECT_EQ(whole.state_at(now), key_state::deactivated);
}

TEST(key_states, a_rotation_that_has_ended_deactivates) {
    key whole;
    whole.replaced_by = 2, whole.rotation_ends_at = 100;
    EXPECT_EQ(whole.state_at(99), key_state::active);
    EXPECT_EQ(whole.state_at(100), key_state::deactivated);
    whole.expires_at = 50;
    EXPECT_EQ(whole.state_at(60), key_state::expired);
    EXPECT_EQ(whole.state_at(100), key_state::deactivated);
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
