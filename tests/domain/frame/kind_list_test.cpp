// What the kinds of records share: numbers that are stored, which no two may use.
#include "domain/kind_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "domain/audit/audit.hpp"
#include "domain/changes/change_types.hpp"
#include "domain/webhooks/webhook_record.hpp"
#include "store/layout.hpp"

namespace latchkey::domain {
namespace {

// Each once, and with a name, in the order of the numbers.
template <class Rows>
void expect_names(Rows kind::* rows, std::size_t count) {
    std::set<std::size_t> numbers;
    for (auto const* const each : kind_list)
        for (auto const& [number, name] : each->*rows) {
            EXPECT_TRUE(numbers.insert(static_cast<std::size_t>(number)).second) << name;
            EXPECT_NE(name, "");
        }
    ASSERT_EQ(numbers.size(), count);
    EXPECT_EQ(*numbers.rbegin(), count - 1);
}

TEST(kinds, have_tags_of_their_own) {
    std::set<store::tag> tags;
    for (auto const* const each : kind_list)
        for (auto const tag : each->tags)
            EXPECT_TRUE(tags.insert(tag).second) << static_cast<unsigned>(tag);
}

TEST(kinds, name_each_type_of_change_once) {
    expect_names(&kind::changes, change_type_count());
    EXPECT_EQ(name_of(model::change_type::user_created), "user.created");
    EXPECT_EQ(name_of(model::change_type::webhook_test), "webhook.test");
}

TEST(kinds, name_each_action_of_the_audit_log_once) {
    expect_names(&kind::audited, audit_names().size());
    EXPECT_EQ(name_of(audit_action::key_end_sessions), "key.end_sessions");
}

template <class... Records>
void expect_kept_numbers(std::variant<std::monostate, Records...> const*) {
    std::multiset<std::uint8_t> const numbers{0, kept_record<Records>::number...};
    for (auto const each : numbers)
        EXPECT_TRUE(each == kept_never::number || numbers.count(each) == 1) << unsigned(each);
}

TEST(kinds, keep_their_records_by_numbers_of_their_own) {
    expect_kept_numbers(static_cast<any_record const*>(nullptr));
}

TEST(change_types, are_chosen_by_name_by_kind_or_all) {
    change_types types;
    EXPECT_TRUE(types.add("post.*"));
    EXPECT_TRUE(types.has(model::change_type::post_archived));
    EXPECT_FALSE(types.has(model::change_type::key_created));
    EXPECT_TRUE(types.add("key.created"));
    EXPECT_TRUE(types.has(model::change_type::key_created));
    EXPECT_FALSE(types.add("key.create"));
    EXPECT_FALSE(types.add("nothing.*"));
    EXPECT_NE(types, change_types::all());
    EXPECT_TRUE(types.add("*"));
    EXPECT_EQ(types, change_types::all());
}

TEST(deliveries, of_a_type_of_changes_that_is_unknown_cannot_be_read) {
    std::string bytes;
    encode(model::delivery{.sequence = 12}, bytes);
    EXPECT_TRUE(decode_delivery(12, bytes));
    bytes[1] = static_cast<char>(change_type_count());
    EXPECT_FALSE(decode_delivery(12, bytes));
}

}  // namespace
}  // namespace latchkey::domain
