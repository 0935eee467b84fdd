#include "model/entity_tag.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/base62.hpp"

namespace latchkey::model {
namespace {

user const ada{7, "Ada", "ada@example.com", 1'700'000'000'000, 1'700'000'000'001};
post const essay{.id = 3,
                 .user_id = 7,
                 .title = "A title",
                 .body = "text",
                 .status = post_status::published,
                 .published_at = 1'700'000'000'002,
                 .created_at = 1'700'000'000'000,
                 .updated_at = 1'700'000'000'003};

key some_key() {
    key record;
    record.id = 5;
    record.name = "a key";
    record.start = "lkeyABCD";
    record.last4 = "wxyz";
    record.scopes.add("users:read");
    record.limit_slots = {0, 1};
    record.created_at = 1'700'000'000'000;
    record.metadata = {{"team", "a"}};
    return record;
}

// Applies one change at a time; each must give a tag of its own.
template <class Record, class Tag>
void expect_all_different(Record const& first, std::vector<void (*)(Record&)> const& changes,
                          Tag tag) {
    std::set<std::string> tags{std::string(text_of(tag(first)))};
    for (std::size_t i = 0; i < changes.size(); ++i) {
        auto other = first;
        changes[i](other);
        EXPECT_TRUE(tags.insert(std::string(text_of(tag(other)))).second) << "change " << i;
    }
}

TEST(entity_tags, are_19_characters_and_deterministic) {
    for (auto const tag : {tag_of(view_of(ada)), tag_of(view_of(essay)), tag_of(some_key(), 1)}) {
        EXPECT_EQ(text_of(tag).size(), 19u);
        EXPECT_EQ(text_of(tag).find_first_not_of(base::base62_digits), std::string_view::npos);
    }
    EXPECT_EQ(tag_of(view_of(ada)), tag_of(view_of(user(ada))));
    EXPECT_EQ(tag_of(view_of(essay)), tag_of(view_of(post(essay))));
    EXPECT_EQ(tag_of(some_key(), 1), tag_of(some_key(), 1));
}

TEST(entity_tags, of_users_change_with_every_member) {
    auto const tag = [](user const& record) { return tag_of(view_of(record)); };
    expect_all_different<user>(
        ada,
        {[](user& record) { record.id = 8; }, [](user& record) { record.name = "Adb"; },
         [](user& record) { record.email = "adb@example.com"; },
         [](user& record) {
             record.name += record.email;
             record.email.clear();
         },
         [](user& record) { std::swap(record.name, record.email); },
         [](user& record) { ++record.created_at; }, [](user& record) { ++record.updated_at; }},
        tag);
}

TEST(entity_tags, of_posts_change_with_every_member) {
    auto const tag = [](post const& record) { return tag_of(view_of(record)); };
    expect_all_different<post>(
        essay,
        {[](post& record) { record.id = 4; }, [](post& record) { record.user_id = 8; },
         [](post& record) { record.title = "A titlf"; }, [](post& record) { record.body = "texu"; },
         [](post& record) {
             record.title += record.body;
             record.body.clear();
         },
         [](post& record) { record.body = std::string(65'536, 'x'); },
         [](post& record) { record.body = std::string(65'535, 'x') + 'y'; },
         [](post& record) { record.status = post_status::archived; },
         [](post& record) { ++record.published_at; }, [](post& record) { record.published_at = 0; },
         [](post& record) { ++record.created_at; }, [](post& record) { ++record.updated_at; }},
        tag);
}

TEST(entity_tags, of_keys_change_with_every_setting) {
    auto const tag = [](key const& record) { return tag_of(record, 1'700'000'000'500); };
    expect_all_different<key>(
        some_key(),
        {[](key& record) { record.id = 6; }, [](key& record) { record.name = "a kez"; },
         [](key& record) { record.project = "other"; },
         [](key& record) { record.environment = environment::staging; },
         [](key& record) { record.scopes.add("posts:read"); },
         [](key& record) { record.not_before = 1; },
         [](key& record) { record.expires_at = 1'900'000'000'000; },
         [](key& record) { record.created_by = 1; },
         [](key& record) {
             record.deactivated_at = 5;
             record.deactivation_reason = deactivation::manual;
         },
         [](key& record) {
             record.deactivated_at = 5;
             record.deactivation_reason = deactivation::compromised;
         },
         [](key& record) { record.replaces = 1; }, [](key& record) { record.replaced_by = 9; },
         [](key& record) { record.rotation_ends_at = 1'900'000'000'000; },
         [](key& record) { record.rate_limits[0].limit = 601; },
         [](key& record) { record.rate_limits[1].burst = 7; },
         [](key& record) { record.ip_allowlist = {*cidr::parse("10.0.0.0/8")}; },
         [](key& record) { record.metadata["team"] = "b"; },
         [](key& record) { record.metadata.clear(); }},
        tag);
}

// The representation changes at these moments without a write.
TEST(entity_tags, of_keys_change_with_the_state_by_the_clock) {
    auto expiring = some_key();
    expiring.not_before = 100;
    expiring.expires_at = 200;
    EXPECT_EQ(tag_of(expiring, 1), tag_of(expiring, 99));
    EXPECT_NE(tag_of(expiring, 99), tag_of(expiring, 100));
    EXPECT_EQ(tag_of(expiring, 100), tag_of(expiring, 199));
    EXPECT_NE(tag_of(expiring, 199), tag_of(expiring, 200));
    auto rotated = some_key();
    rotated.replaced_by = 6;
    rotated.rotation_ends_at = 300;
    EXPECT_NE(tag_of(rotated, 299), tag_of(rotated, 300));
}

TEST(entity_tags, do_not_depend_on_the_digest_of_a_key) {
    auto other = some_key();
    other.digest.fill(7);
    EXPECT_EQ(tag_of(some_key(), 1), tag_of(other, 1));
}

}  // namespace
}  // namespace latchkey::model
