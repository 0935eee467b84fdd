// Changes are recorded in the commit that makes them (decisions/changes.md).
#include "../support.hpp"
#include "base/time_units.hpp"
#include "domain/writer/group.hpp"
#include "store/checksum.hpp"
#include "store/environment_state.hpp"
#include "store/lmdb_value.hpp"

namespace latchkey::domain {
namespace {

using enum model::change_type;

class changes : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_;

    void SetUp() override { open({}); }
    void open(environment_options options) {
        store_.reset();
        options.directory = directory_.path();
        options.sync = false;
        options.records_changes = true;
        auto result = environment::open(options);
        ASSERT_TRUE(result) << result.error().message;
        store_ = std::move(*result);
    }
    std::vector<model::change_type> types_after(model::id position = 0) {
        snapshot view(*store_);
        view.renew();
        std::vector<model::change_type> types;
        auto next = position;
        view.changes_after(position, [&](change_view const& change) {
            EXPECT_EQ(change.sequence, ++next);
            types.push_back(change.type);
            return true;
        });
        EXPECT_FALSE(view.damaged());
        return types;
    }
    template <class Visitor>
    void visit(model::id sequence, Visitor visitor) {
        snapshot view(*store_);
        view.renew();
        bool match = false;
        view.changes_after(sequence - 1, [&](change_view const& change) {
            match = change.sequence == sequence;
            visitor(change);
            return false;
        });
        EXPECT_TRUE(match);
    }
    change_bounds bounds() {
        snapshot view(*store_);
        view.renew();
        return view.changes();
    }
};

TEST_F(changes, of_users_have_the_record) {
    one(*store_, new_user("Ann", "ann@example.org"));
    one(*store_, {.action = change_user{.id = 1, .name = "Anne"}});
    one(*store_, {.action = change_user{.id = 1, .name = "Anne"}});  // changes nothing
    one(*store_, new_user("Eve", "ann@example.org"));                // refused
    one(*store_, {.action = delete_user{1}});
    EXPECT_EQ(types_after(), (std::vector{user_created, user_updated, user_deleted}));
    visit(3, [](change_view const& change) {
        auto const user = model::decode_user(change.subject, change.record);
        ASSERT_TRUE(user);
        EXPECT_EQ(user->id, 1);
        EXPECT_EQ(user->name, "Anne");
        EXPECT_EQ(user->email, "ann@example.org");
        EXPECT_GT(change.occurred_at, 0);
        EXPECT_EQ(change.key_id, 0);
    });
    expect_sound(*store_);
}

TEST_F(changes, of_posts_tell_what_became_of_them) {
    using enum model::post_status;
    one(*store_, new_user("Ann", "ann@example.org"));
    one(*store_, new_post(1, "first"));
    one(*store_, {.action = change_post{.id = 1, .title = "second"}});
    one(*store_, {.action = change_post{.id = 1, .title = "third", .status = published}});
    one(*store_, {.action = change_post{.id = 1, .status = draft}});
    one(*store_, {.action = change_post{.id = 1, .status = archived}});
    one(*store_, {.action = delete_post{1}});
    EXPECT_EQ(types_after(1), (std::vector{post_created, post_updated, post_published, post_updated,
                                           post_archived, post_deleted}));
    visit(7, [](change_view const& change) {
        auto const post = model::decode_post(change.subject, change.record);
        ASSERT_TRUE(post);
        EXPECT_EQ(post->title, "third");
        EXPECT_EQ(post->status, archived);
    });
}

TEST_F(changes, of_a_user_with_posts_tell_each_post) {
    one(*store_, new_user("Ann", "ann@example.org"));
    for (int i = 0; i < 40; ++i)
        one(*store_, new_post(1, "t", model::post_status::draft, std::string(60'000, 'b')));
    command const deletion{.action = delete_user{1}};
    outcome answer;
    job const only{&deletion, &answer};
    auto result = apply_group(store_->native(), {&only, 1}, 0);
    EXPECT_EQ(answer.problem, base::problem::none);
    // Large posts go in batches, and no snapshot shows them meanwhile.
    EXPECT_TRUE(result.more_to_purge);
    snapshot view(*store_);
    view.renew();
    EXPECT_FALSE(view.post(40));
    view.reset();
    expect_sound(*store_);
    for (int i = 0; result.more_to_purge && i < 10; ++i)
        result = apply_group(store_->native(), {}, purge_posts_max);
    EXPECT_FALSE(result.more_to_purge);
    auto expected = std::vector{user_deleted};
    expected.insert(expected.end(), 40, post_deleted);
    EXPECT_EQ(types_after(41), expected);
    expect_sound(*store_);
}

TEST_F(changes, of_keys_have_their_project_and_no_caller_of_the_command_line) {
    auto const key = get_key(one(*store_, new_key(key_number(1, {"*"}))));
    auto other = key_number(2, {"users:read"});
    other.project = "alpha";
    auto const id = get_key(one(*store_, {.action = create_key{other}, .caller = key.id})).id;
    one(*store_, {.action = change_key{.id = id, .name = "n"}, .caller = key.id});
    one(*store_, {.action = deactivate_key{.id = id}, .caller = key.id});
    one(*store_, {.action = deactivate_key{.id = id}, .caller = key.id});  // changes nothing
    one(*store_, {.action = reactivate_key{.id = id}, .caller = key.id});
    one(*store_, {.action = rotate_key{.id = id,
                                       .digest = key_number(3).digest,
                                       .start = "lkeyABCD",
                                       .last4 = "wxyz",
                                       .overlap_ms = 1000},
                  .caller = key.id});
    EXPECT_EQ(types_after(), (std::vector{key_created, key_created, key_updated, key_deactivated,
                                          key_reactivated, key_rotated, key_created}));
    visit(1, [](change_view const& change) { EXPECT_EQ(change.key_id, 0); });
    visit(6, [&](change_view const& change) {
        EXPECT_EQ(change.key_id, key.id);
        EXPECT_EQ(change.project, "alpha");
        auto const record = model::decode_key(change.subject, change.record);
        ASSERT_TRUE(record);
        EXPECT_EQ(record->replaced_by, id + 1);
    });
}

TEST_F(changes, of_events_and_secrets_of_sources_are_told) {
    one(*store_, {.action = receive_event{.source = "shop", .payload = "{}"}});
    one(*store_, {.action = put_event_secret{.source = "shop",
                                             .format = model::event_format::github,
                                             .secret = base::secret("0123456789abcdef")}});
    one(*store_, {.action = delete_event_secret{"shop"}});
    EXPECT_EQ(types_after(),
              (std::vector{event_received, event_secret_changed, event_secret_changed}));
    visit(1, [](change_view const& change) {
        auto const event = model::decode_event(change.subject, change.record);
        ASSERT_TRUE(event);
        EXPECT_EQ(event->payload, "{}");
    });
    visit(3, [](change_view const& change) {
        auto const secret = decode_secret_change(change.record);
        ASSERT_TRUE(secret);
        EXPECT_TRUE(secret->removed);
        EXPECT_EQ(secret->source, "shop");
        EXPECT_EQ(secret->format, static_cast<std::uint8_t>(model::event_format::github));
        EXPECT_EQ(change.record.find("0123456789abcdef"), std::string_view::npos);
    });
}

TEST_F(changes, go_on_after_the_last_one_when_all_others_are_removed) {
    for (int i = 0; i < 10; ++i) {
        auto const name = std::to_string(i);
        one(*store_, new_user(name, name + "@example.org"));
    }
    open({.changes_max = 3});
    EXPECT_EQ(types_after(7).size(), 3u);
    apply_group(store_->native(), {}, purge_posts_max);
    EXPECT_EQ(bounds().oldest, 8);
    EXPECT_EQ(bounds().last, 10);
    static base::wall_ms now;
    now = store_->time() + 10 * (24 * 3600 * 1000);
    open({.change_retention_ms = (24 * 3600 * 1000), .any_time = true, .wall = [] { return now; }});
    one(*store_, {.action = delete_user{1}});  // the age time catches up from here
    open({.change_retention_ms = 1, .any_time = true, .wall = [] { return now; }});
    now += 2;
    apply_group(store_->native(), {}, purge_posts_max);
    EXPECT_EQ(bounds().last, 11);
    one(*store_, {.action = delete_user{2}});
    EXPECT_EQ(bounds().last, 12);
    expect_sound(*store_);
}

// A change of each kind holds the record once more: without a bound of their own, a store that was
// full would stay so until they are old.
TEST_F(changes, give_way_where_room_is_short) {
    open({.map_bytes = 16 << 20});
    one(*store_, new_user("Ann", "ann@example.org"));
    model::id first = 1;
    // Each command and what the writer removes beside it.
    auto const write = [&](command request) {
        auto const problem = one(*store_, std::move(request)).problem;
        apply_group(store_->native(), {}, purge_posts_max);
        return problem;
    };
    auto const fill = [&] {
        int count = 0;
        while (write(new_post(1, "t", model::post_status::draft, std::string(3000, 'b'))) ==
               base::problem::none)
            ++count;
        return count;
    };
    auto const clear = [&](int count) {
        for (int i = 0; i < count; ++i)
            ASSERT_EQ(write({.action = delete_post{first++}}), base::problem::none);
    };
    auto const count = fill();
    auto const& state = store_->native();
    EXPECT_LE(state.changes_bytes, state.map_bytes / 4 + (64 << 10));
    EXPECT_GT(state.changes_trimmed, 0u);
    clear(count);
    EXPECT_GE(fill(), count * 9 / 10);
    EXPECT_GT(bounds().oldest, 1);
    while (apply_group(store_->native(), {}, purge_posts_max).more_expired) {
    }
    EXPECT_LE(state.changes_bytes, state.map_bytes / 16 + (64 << 10));
    expect_sound(*store_);
}

TEST_F(changes, of_a_command_that_fails_later_in_its_group_are_not_recorded) {
    std::vector<command> group;
    group.push_back(new_user("Ann", "ann@example.org"));
    group.push_back(new_user("Eve", "ann@example.org"));
    group.push_back(new_user("Bob", "bob@example.org"));
    auto const outcomes = apply(*store_, std::move(group));
    ASSERT_TRUE(outcomes);
    EXPECT_EQ((*outcomes)[1].problem, base::problem::email_taken);
    EXPECT_EQ(types_after(), (std::vector{user_created, user_created}));
}

TEST_F(changes, of_deletions_in_a_full_store_have_the_id_alone) {
    open({.map_bytes = 4 << 20});
    one(*store_, new_user("Ann", "ann@example.org"));
    auto const long_post = [] {
        return new_post(1, "t", model::post_status::draft, std::string(3000, 'b'));
    };
    int count = 0;
    while (one(*store_, long_post()).problem == base::problem::none) ++count;
    ASSERT_GT(count, 100);
    auto const last = bounds().last;
    EXPECT_EQ(last, count + 1);
    for (int i = 1; i <= count; ++i)
        ASSERT_EQ(one(*store_, {.action = delete_post{i}}).problem, base::problem::none) << i;
    visit(last + 1, [](change_view const& change) {
        EXPECT_EQ(change.type, post_deleted);
        EXPECT_EQ(change.subject, 1);
        EXPECT_TRUE(change.record.empty());
    });
    EXPECT_EQ(types_after(last).size(), static_cast<std::size_t>(count));
    EXPECT_EQ(one(*store_, long_post()).problem, base::problem::none);
    expect_sound(*store_);
}

TEST_F(changes, with_a_gap_or_unreadable_are_damage) {
    for (auto const* const name : {"a", "b", "c", "d"})
        one(*store_, new_user(name, std::string(name) + "@example.org"));
    auto& native = store_->native();
    MDB_txn* txn = nullptr;
    ASSERT_EQ(::mdb_txn_begin(native.env, nullptr, 0, &txn), 0);
    auto const second = id_key(2), third = id_key(3);
    auto key = val_of(second);
    ASSERT_EQ(::mdb_del(txn, native.dbi(table::changes), &key, nullptr), 0);
    ASSERT_EQ(put_checked(txn, native.dbi(table::changes), table::changes, third, "rubbish", 0), 0);
    ASSERT_EQ(::mdb_txn_commit(txn), 0);
    EXPECT_EQ(check_consistency(*store_),
              (std::vector<std::string>{"change 3 follows a gap in the sequence",
                                        "change 3 cannot be read"}));
    snapshot view(*store_);
    view.renew();
    view.changes_after(2, [](change_view const&) { return true; });
    EXPECT_TRUE(view.damaged());
}

}  // namespace
}  // namespace latchkey::domain
