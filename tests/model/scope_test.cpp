#include "model/scope.hpp"

#include <gtest/gtest.h>

#include <set>

namespace latchkey::model {
namespace {

scope_set set_of(std::initializer_list<std::string_view> names) {
    scope_set whole;
    for (auto const name : names) EXPECT_TRUE(whole.add(name)) << name;
    return whole;
}

bool covers(std::initializer_list<std::string_view> holds,
            std::initializer_list<std::string_view> asked) {
    return set_of(holds).covers(set_of(asked));
}

TEST(scopes, have_one_name_each_and_are_found_by_it) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < scope_count; ++i) {
        auto const each = static_cast<scope>(i);
        EXPECT_TRUE(names.insert(name_of(each)).second);
        EXPECT_EQ(find_scope(name_of(each)), each);
    }
    EXPECT_EQ(names.size(), 20u);
    for (auto const* bad : {"", "users", "users:", ":read", "Users:read", "users:read ",
                            "keys:delete", "**", "events:write:stripe", "*:verify"})
        EXPECT_FALSE(find_scope(bad)) << bad;
}

TEST(scopes, a_star_covers_everything) {
    auto const all = set_of({"*"});
    for (std::size_t i = 0; i < scope_count; ++i) {
        scope_set one;
        one.add(static_cast<scope>(i));
        EXPECT_TRUE(all.covers(one)) << name_of(static_cast<scope>(i));
        EXPECT_TRUE(all.allows(static_cast<scope>(i)));
        if (static_cast<scope>(i) != scope::any) EXPECT_FALSE(one.covers(all));
        EXPECT_TRUE(one.covers(one));
    }
    EXPECT_TRUE(covers({"*"}, {"events:write:stripe"}));
    EXPECT_FALSE(covers(
        {"users:*", "posts:*", "keys:*", "usage:*", "audit:*", "events:*", "*:read", "*:write"},
        {"*"}));
}

TEST(scopes, a_wildcard_of_a_resource_covers_its_scopes) {
    EXPECT_TRUE(covers({"users:*"}, {"users:read", "users:write", "users:*"}));
    EXPECT_FALSE(covers({"users:*"}, {"posts:read"}));
    EXPECT_FALSE(covers({"users:*"}, {"*:read"}));
    EXPECT_TRUE(covers({"keys:*"}, {"keys:read", "keys:write", "keys:verify"}));
    EXPECT_TRUE(covers({"usage:*"}, {"usage:read"}));
    EXPECT_TRUE(covers({"audit:*"}, {"audit:read"}));
}

TEST(scopes, a_wildcard_of_a_kind_covers_that_kind_of_every_resource) {
    EXPECT_TRUE(covers({"*:read"}, {"users:read", "posts:read", "keys:read", "usage:read",
                                    "audit:read", "events:read", "*:read"}));
    EXPECT_TRUE(covers({"*:write"},
                       {"users:write", "posts:write", "keys:write", "events:write", "*:write"}));
    EXPECT_FALSE(covers({"*:read"}, {"users:write"}));
    EXPECT_FALSE(covers({"*:write"}, {"users:read"}));
    EXPECT_FALSE(covers({"*:read"}, {"keys:verify"}));
    EXPECT_FALSE(covers({"*:write"}, {"keys:verify"}));
}

TEST(scopes, a_wildcard_is_never_covered_by_the_sum_of_its_parts) {
    EXPECT_FALSE(covers({"users:read", "users:write"}, {"users:*"}));
    EXPECT_FALSE(covers({"*:read", "*:write"}, {"users:*"}));
    EXPECT_FALSE(covers({"usage:read"}, {"usage:*"}));
    EXPECT_FALSE(
        covers({"users:read", "posts:read", "keys:read", "usage:read", "audit:read", "events:read"},
               {"*:read"}));
    EXPECT_TRUE(covers({"users:*"}, {"users:*"}));
}

TEST(scopes, events_of_one_source_are_covered_by_all_that_write_events) {
    for (auto const wider : {"events:write", "events:*", "*:write", "*", "events:write:stripe"}) {
        EXPECT_TRUE(covers({wider}, {"events:write:stripe"})) << wider;
        EXPECT_TRUE(set_of({wider}).allows_events_of("stripe")) << wider;
    }
    for (auto const other : {"events:write:github", "events:read", "*:read", "users:*"}) {
        EXPECT_FALSE(covers({other}, {"events:write:stripe"})) << other;
        EXPECT_FALSE(set_of({other}).allows_events_of("stripe")) << other;
    }
    EXPECT_FALSE(covers({"events:write:stripe"}, {"events:write"}));
    EXPECT_FALSE(set_of({"events:write:stripe"}).allows(scope::events_write));
}

TEST(scopes, nothing_covers_only_nothing) {
    EXPECT_TRUE(scope_set{}.empty());
    EXPECT_TRUE(scope_set{}.covers(scope_set{}));
    EXPECT_TRUE(covers({"users:read"}, {}));
    EXPECT_FALSE(covers({}, {"users:read"}));
    EXPECT_FALSE(set_of({"events:write:a"}).empty());
    EXPECT_FALSE(scope_set{}.allows(scope::users_read));
}

TEST(scopes, are_given_back_as_they_were_given) {
    auto const whole =
        set_of({"events:write:stripe", "users:*", "events:write:github", "users:read", "users:*"});
    EXPECT_EQ(whole.names(),
              (std::vector<std::string>{"users:read", "users:*", "events:write:github",
                                        "events:write:stripe"}));
    EXPECT_EQ(scope_set::of(whole.bits(), {"stripe", "github", "stripe"}), whole);
}

TEST(scopes, refuse_names_and_sources_that_are_none) {
    scope_set whole;
    for (auto const* bad :
         {"", "users:delete", "events:write:", "events:write:A", "events:write:1a",
          "events:write:a_b", "events:write:a.b", "events:read:a"})
        EXPECT_FALSE(whole.add(bad)) << bad;
    EXPECT_TRUE(whole.empty());
    EXPECT_TRUE(is_event_source("a" + std::string(31, '-')));
    EXPECT_FALSE(is_event_source("a" + std::string(32, '-')));
    EXPECT_FALSE(is_event_source("-a"));
}

TEST(scopes, bound_the_number_of_sources) {
    scope_set whole;
    for (std::size_t i = 0; i < scope_set::sources_max; ++i)
        EXPECT_TRUE(whole.add("events:write:s" + std::to_string(i)));
    EXPECT_FALSE(whole.add("events:write:one-more"));
    EXPECT_TRUE(whole.add("events:write:s3"));
    EXPECT_EQ(whole.sources().size(), scope_set::sources_max);
}

}  // namespace
}  // namespace latchkey::model
