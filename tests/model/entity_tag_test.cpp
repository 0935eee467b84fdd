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
    key made;
    made.id = 5;
    made.name = "a key";
    made.start = "lkeyABCD";
    made.last4 = "wxyz";
    made.scopes.add("users:read");
    made.limit_slots = {0, 1};
    made.created_at = 1'700'000'000'000;
    made.metadata = {{"team", "a"}};
    return made;
}

// Changes one thing at a time; every result must be a tag of its own.
template <class Record, class Tag>
void expect_all_different(Record const& first, std::vector<void (*)(Record&)> const& changes,
                          Tag tag) {
    std::set<std::string> seen{std::string(text_of(tag(first)))};
    for (std::size_t i = 0; i < changes.size(); ++i) {
        auto other = first;
        changes[i](other);
        EXPECT_TRUE(seen.insert(std::string(text_of(tag(other)))).second) << "change " << i;
    }
}

TEST(entity_tags, are_19_plain_characters_and_always_the_same) {
    for (auto const tag : {tag_of(view_of(ada)), tag_of(view_of(essay)), tag_of(some_key(), 1)}) {
        EXPECT_EQ(text_of(tag).size(), 19u);
        EXPECT_EQ(text_of(tag).find_first_not_of(base::base62_digits), std::string_view::npos);
    }
    EXPECT_EQ(tag_of(view_of(ada)), tag_of(view_of(user(ada))));
    EXPECT_EQ(tag_of(view_of(essay)), tag_of(view_of(post(essay))));
    EXPECT_EQ(tag_of(some_key(), 1), tag_of(some_key(), 1));
}

TEST(entity_tags, of_users_move_with_every_member) {
    auto const tag = [](user const& of) { return tag_of(view_of(of)); };
    expect_all_different<user>(
        ada,
        {[](user& of) { of.id = 8; }, [](user& of) { of.name = "Adb"; },
         [](user& of) { of.email = "adb@example.com"; },
         [](user& of) { of.name += of.email, of.email.clear(); },
         [](user& of) { std::swap(of.name, of.email); }, [](user& of) { ++of.created_at; },
         [](user& of) { ++of.updated_at; }},
        tag);
}

TEST(entity_tags, of_posts_move_with_every_member) {
    auto const tag = [](post const& of) { return tag_of(view_of(of)); };
    expect_all_different<post>(
        essay,
        {[](post& of) { of.id = 4; }, [](post& of) { of.user_id = 8; },
         [](post& of) { of.title = "A titlf"; }, [](post& of) { of.body = "texu"; },
         [](post& of) { of.title += of.body, of.body.clear(); },
         [](post& of) { of.body = std::string(65'536, 'x'); },
         [](post& of) { of.body = std::string(65'535, 'x') + 'y'; },
         [](post& of) { of.status = post_status::archived; }, [](post& of) { ++of.published_at; },
         [](post& of) { of.published_at = 0; }, [](post& of) { ++of.created_at; },
         [](post& of) { ++of.updated_at; }},
        tag);
}

TEST(entity_tags, of_keys_move_with_every_setting) {
    auto const tag = [](key const& of) { return tag_of(of, 1'700'000'000'500); };
    expect_all_different<key>(
        some_key(),
        {[](key& of) { of.id = 6; }, [](key& of) { of.name = "a kez"; },
         [](key& of) { of.project = "other"; },
         [](key& of) { of.environment = environment::staging; },
         [](key& of) { of.scopes.add("posts:read"); }, [](key& of) { of.not_before = 1; },
         [](key& of) { of.expires_at = 1'900'000'000'000; }, [](key& of) { of.created_by = 1; },
         [](key& of) { of.deactivated_at = 5, of.deactivation_reason = deactivation::manual; },
         [](key& of) { of.deactivated_at = 5, of.deactivation_reason = deactivation::compromised; },
         [](key& of) { of.replaces = 1; }, [](key& of) { of.replaced_by = 9; },
         [](key& of) { of.rotation_ends_at = 1'900'000'000'000; },
         [](key& of) { of.rate_limits[0].limit = 601; },
         [](key& of) { of.rate_limits[1].burst = 7; },
         [](key& of) { of.ip_allowlist = {*cidr::parse("10.0.0.0/8")}; },
         [](key& of) { of.metadata["team"] = "b"; }, [](key& of) { of.metadata.clear(); }},
        tag);
}

// What is shown changes at these moments, though nobody writes.
TEST(entity_tags, of_keys_move_with_the_clock_where_it_shows) {
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

TEST(entity_tags, say_nothing_about_the_digest_of_a_key) {
    auto other = some_key();
    other.digest.fill(7);
    EXPECT_EQ(tag_of(some_key(), 1), tag_of(other, 1));
}

}  // namespace
}  // namespace latchkey::model
