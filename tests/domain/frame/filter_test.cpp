// Lists with filters that no index has (domain/frame/list_part.hpp): all pages together are what a
// plain filter selects, whatever the bounds of a page, and a page reads no more than these.
#include <random>

#include "../support.hpp"
#include "base/ascii.hpp"
#include "domain/audit/audit_lists.hpp"
#include "domain/users/user_lists.hpp"

namespace latchkey::domain {
namespace {

constexpr base::wall_ms beginning = 1'700'000'000'000;
base::wall_ms filter_clock = beginning;

// Of few letters, so that a short text is found in some and not in others.
std::string drawn_text(std::mt19937& random, std::size_t bytes_max) {
    constexpr std::string_view letters = "aAbB";
    std::string text(1 + random() % bytes_max, ' ');
    for (char& letter : text) letter = letters[random() % letters.size()];
    return text;
}

bool has(std::string_view text, std::string_view part) {
    return base::to_lower(text).find(base::to_lower(part)) != std::string::npos;
}

class filters : public testing::Test {
  protected:
    using ids = std::vector<model::id>;

    void commit(std::vector<command>& commands) {
        for (auto const& each : apply(*store_, std::exchange(commands, {})).value())
            ASSERT_EQ(each.problem, base::problem::none);
    }
    std::uint32_t drawn(std::uint32_t bound) {
        return static_cast<std::uint32_t>(random_() % bound);
    }
    range drawn_range() {
        range part{.limit = 1 + drawn(20), .descending = drawn(2) == 0};
        if (drawn(3) != 0) part.cost_max = 1'000 << drawn(9);
        return part;
    }
    // `list` gives one page; the elements go to the ids that it gets.
    template <class List>
    void expect(ids expected, List list) {
        auto part = drawn_range();
        if (part.descending) std::ranges::reverse(expected);
        ids all;
        for (bool has_more = true; has_more;) {
            auto const cost_before = view_.work().cost();
            auto const page = list(part, all);
            ASSERT_FALSE(view_.damaged());
            // The total ends at the bound, the page at half of it, and both with one record more.
            if (part.cost_max != INT64_MAX)
                EXPECT_LE(view_.work().cost() - cost_before, 3 * part.cost_max / 2 + 100'000);
            if (page.is_counted) EXPECT_EQ(page.total, expected.size());
            is_ever_counted_ |= page.is_counted;
            is_ever_cut_ |= page.is_cut;
            has_more = page.has_more;
            ASSERT_TRUE(!has_more || page.last != part.after_id);
            part.after_id = page.last;
        }
        EXPECT_EQ(all, expected);
        if (part.cost_max != INT64_MAX) return;
        range const far{.skip = drawn(static_cast<std::uint32_t>(expected.size()) + 2),
                        .limit = 3,
                        .descending = part.descending};
        all.clear();
        list(far, all);
        std::ptrdiff_t const skip =
            std::min(std::ssize(expected), static_cast<std::ptrdiff_t>(far.skip));
        auto const begin = expected.begin() + skip;
        EXPECT_EQ(all, ids(begin, begin + std::min<std::ptrdiff_t>(3, expected.end() - begin)));
    }
    void TearDown() override {
        view_.reset();
        expect_sound(*store_);
        EXPECT_TRUE(is_ever_counted_ && is_ever_cut_);
    }

    std::mt19937 random_{42};
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = environment::open({.directory = directory_.path(),
                                                             .map_bytes = 1u << 30,
                                                             .sync = false,
                                                             .wall = [] { return filter_clock; }})
                                              .value();
    snapshot view_{*store_};
    bool is_ever_counted_ = false, is_ever_cut_ = false;
};

TEST_F(filters, of_users_by_text_are_those_of_a_plain_search) {
    std::map<model::id, std::pair<std::string, std::string>> users;
    std::vector<command> commands;
    for (model::id id = 1; id <= 400; ++id) {
        auto const name = drawn_text(random_, 12),
                   email = drawn_text(random_, 6) + std::to_string(id) + "@example.com";
        users[id] = {name, email};
        commands.push_back(new_user(name, email));
        if (commands.size() == 50) commit(commands);
    }
    for (model::id id = 3; id < 400; id += 7) {
        commands.push_back({.action = delete_user{id}});
        users.erase(id);
    }
    commit(commands);
    view_.renew();
    for (int i = 0; i < 300; ++i) {
        auto const text = drawn_text(random_, 5) + (i % 10 == 0 ? "1" : "");
        ids expected;
        for (auto const& [id, user] : users)
            if (has(user.first, text) || has(user.second, text)) expected.push_back(id);
        expect(expected, [&](range const& part, ids& all) {
            return users_with_text(view_, text, part,
                                   [&](model::user_view const& user) { all.push_back(user.id); });
        });
    }
}

TEST_F(filters, of_keys_by_text_are_those_of_a_plain_search) {
    std::vector<model::key> keys;
    std::vector<command> commands;
    for (unsigned number = 1; number <= 300; ++number) {
        auto record = key_number(number, {"users:read"});
        record.name = drawn_text(random_, 12);
        record.project = number % 3 == 0 ? "a" : "b";
        record.environment =
            number % 2 == 0 ? model::environment::production : model::environment::staging;
        keys.push_back(record);
        keys.back().id = number;
        commands.push_back(new_key(record));
        if (commands.size() == 50) commit(commands);
    }
    view_.renew();
    for (int i = 0; i < 300; ++i) {
        auto const text = drawn_text(random_, 5);
        key_filter filter{.search = text, .now = filter_clock};
        if (i % 2 == 0) filter.project = "a";
        if (i % 3 == 0) filter.environment = model::environment::staging;
        ids expected;
        for (auto const& key : keys)
            if (has(key.name, text) && (!filter.project || key.project == "a") &&
                (!filter.environment || key.environment == model::environment::staging))
                expected.push_back(key.id);
        expect(expected, [&](range const& part, ids& all) {
            return view_.keys(filter, part,
                              [&](model::key const& key, auto) { all.push_back(key.id); });
        });
    }
}

// The store's own list without filters has all that is needed to filter it.
TEST_F(filters, of_the_audit_log_are_those_of_a_plain_filter) {
    std::vector<command> commands;
    for (unsigned number = 1; number <= 400; ++number) {
        filter_clock += drawn(3);
        if (number <= 9 || drawn(4) == 0) {
            auto record = key_number(number, {"*"});
            record.project = number % 2 == 0 ? "a" : "b";
            commands.push_back(new_key(record));
        } else if (drawn(4) == 0) {
            put_event_secret secret{.source = "shop"};
            secret.secret = base::secret("a-secret-of-theirs");
            commands.push_back({.action = std::move(secret)});
        } else {
            commands.push_back(
                {.action = change_key{.id = 1 + drawn(9), .name = std::to_string(number)}});
        }
        if (number > 9) {
            commands.back().caller = 1 + drawn(9);
            commands.back().required_scope = model::scope::any;
        }
        commit(commands);
    }
    view_.renew();
    std::vector<audit_entry> entries;
    audit_entries(view_, {}, {.limit = UINT32_MAX},
                  [&](audit_entry const& entry) { entries.push_back(entry); });
    ASSERT_GT(entries.size(), 300u);
    for (int i = 0; i < 600; ++i) {
        audit_filter filter;
        if (drawn(2) == 0) filter.project = "a";
        filter.with_sources = filter.project && drawn(2) == 0;
        if (drawn(2) == 0)
            filter.action = drawn(2) == 0 ? audit_action::key_change : audit_action::secret_put;
        if (drawn(2) == 0) filter.key = 1 + drawn(12);
        auto const drawn_time = [&] { return beginning - 5 + drawn(420); };
        if (drawn(2) == 0) filter.begin = drawn_time();
        if (drawn(2) == 0) filter.end = drawn_time();
        ids expected;
        for (auto const& entry : entries)
            if ((!filter.project || entry.project == *filter.project ||
                 (filter.with_sources && entry.project.empty())) &&
                (!filter.action || entry.action == *filter.action) &&
                (!filter.key || entry.key == *filter.key || entry.actor == *filter.key) &&
                entry.time >= filter.begin.value_or(0) &&
                entry.time < filter.end.value_or(INT64_MAX))
                expected.push_back(entry.id);
        expect(expected, [&](range const& part, ids& all) {
            return audit_entries(view_, filter, part,
                                 [&](audit_entry const& entry) { all.push_back(entry.id); });
        });
    }
}

// A time is found without the entries before it.
TEST_F(filters, of_the_audit_log_by_time_seek) {
    std::vector<command> commands;
    for (unsigned number = 1; number <= 1'000; ++number) {
        ++filter_clock;
        commands.push_back(new_key(key_number(number)));
        commit(commands);
    }
    view_.renew();
    auto const work_before = view_.work();
    model::id first = 0;
    auto const page = audit_entries(view_, {.begin = filter_clock - 3}, {.limit = 1},
                                    [&](audit_entry const& entry) { first = entry.id; });
    EXPECT_EQ(first, 997);
    EXPECT_EQ(page.total, 4u);
    EXPECT_LT(view_.work().records - work_before.records, 30u);
    is_ever_counted_ = is_ever_cut_ = true;
}

// A text costs what it has in bytes, whatever is looked for in it.
TEST_F(filters, by_text_cost_the_same_for_chosen_texts) {
    std::vector<command> commands;
    for (int i = 0; i < 60; ++i)
        commands.push_back(new_user(std::string(200, 'a'), std::to_string(i) + "@example.com"));
    commit(commands);
    view_.renew();
    auto const cost_of = [&](std::string const& text) {
        auto const cost_before = view_.work().cost();
        users_with_text(view_, text, {}, [](auto const&) { FAIL(); });
        return view_.work().cost() - cost_before;
    };
    cost_of("q");  // reads what the others find in the view
    auto const cost = cost_of("b");
    for (auto const& text : {std::string(99, 'a') + 'b', 'b' + std::string(99, 'a'),
                             std::string(50, 'a') + 'b' + std::string(49, 'a')})
        EXPECT_NEAR(double(cost_of(text)), double(cost), 1) << "the sum is rounded down";
    is_ever_counted_ = is_ever_cut_ = true;
}

}  // namespace
}  // namespace latchkey::domain
