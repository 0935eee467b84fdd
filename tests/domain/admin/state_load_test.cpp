#include "domain/admin/state_load.hpp"

#include "../writer/cluster_fixture.hpp"
#include "domain/admin/inspect.hpp"
#include "domain/admin/time_reset.hpp"

namespace latchkey::domain {
namespace {

struct kept_record {
    std::uint8_t table;
    std::string key, content;
    state_record view() const { return {table, key, content}; }
};

std::vector<kept_record> all_records(environment& store) {
    std::vector<kept_record> all;
    state_reader reader(store);
    while (auto const each = reader.next())
        all.push_back({each->table, std::string(each->key), std::string(each->content)});
    EXPECT_FALSE(reader.failure());
    return all;
}

base::result<void> load_all(state_load& load, std::vector<kept_record> const& records) {
    constexpr std::size_t step = 100;
    for (std::size_t i = 0; i < records.size(); i += step) {
        std::vector<state_record> batch;
        for (std::size_t j = i; j < std::min(records.size(), i + step); ++j)
            batch.push_back(records[j].view());
        if (auto const result = load.add(batch); !result) return result;
    }
    return {};
}

class state_of_cluster : public cluster_test {
  protected:
    state_of_cluster() : cluster_test(1) {
        for (int i = 0; i < 200; ++i) {
            auto const name = "user" + std::to_string(i);
            auto const user = get_user(one(*first().store, new_user(name, name + "@x.org"))).id;
            one(*first().store, new_post(user, "post " + name));
        }
        one(*first().store, new_key(key_number(1, {"*"})));
    }
    temporary_directory directory;
};

TEST_F(state_of_cluster, is_read_in_order_and_without_local_records) {
    auto const records = all_records(*first().store);
    EXPECT_GT(records.size(), 1000u);
    for (std::size_t i = 1; i < records.size(); ++i)
        ASSERT_TRUE(is_before(records[i - 1].view(), records[i].view()));
    for (auto const& each : records) {
        if (each.table != 2) continue;
        EXPECT_NE(each.key, std::string(1, '\x01'));
        EXPECT_NE(each.key, std::string(1, '\x60'));
    }
    EXPECT_EQ(state_reader(*first().store).position()->position, engine.head());
}

TEST_F(state_of_cluster, makes_an_empty_store_a_node) {
    auto const records = all_records(*first().store);
    auto const position = first().store->node()->position;
    node other(engine);
    auto other_store = open_store(other.directory.path());
    auto load = state_load::begin(*other_store, test_cluster);
    ASSERT_TRUE(load) << load.error().message;
    EXPECT_TRUE(other_store->has_unfinished_load());
    EXPECT_FALSE(other_store->attach(other.log, test_cluster));
    ASSERT_TRUE(load_all(*load, records));
    ASSERT_TRUE(load->finish(position, row_schema()));
    EXPECT_FALSE(other_store->has_unfinished_load());
    ASSERT_TRUE(other_store->attach(other.log, test_cluster));
    expect_sound(*other_store);
    EXPECT_EQ(content_of(*other_store), content_of(*first().store));
    // It goes on from there.
    EXPECT_EQ(get_user(one(*other_store, new_user("new", "new@x.org"))).id, 201);
    catch_up(first());
    EXPECT_EQ(content_of(*other_store), content_of(*first().store));
    other_store.reset();
}

TEST_F(state_of_cluster, that_was_loaded_in_part_is_loaded_again) {
    auto const records = all_records(*first().store);
    {
        auto const store = open_store(directory.path());
        auto load = state_load::begin(*store, test_cluster);
        ASSERT_TRUE(load_all(*load, {records.begin(), records.begin() + 500}));
    }
    auto const store = open_store(directory.path());
    EXPECT_TRUE(store->has_unfinished_load());
    EXPECT_FALSE(store->node());
    EXPECT_FALSE(check_consistency(*store).empty());
    std::vector<command> commands;
    commands.push_back(new_user("a", "a@x.org"));
    EXPECT_FALSE(apply(*store, std::move(commands)));
    auto load = state_load::begin(*store, test_cluster);
    ASSERT_TRUE(load);
    ASSERT_TRUE(load_all(*load, records));
    ASSERT_TRUE(load->finish(7, row_schema()));
    EXPECT_EQ(store->node()->position, 7u);
    expect_sound(*store);
    EXPECT_EQ(content_of(*store), content_of(*first().store));
}

TEST_F(state_of_cluster, is_refused_where_it_does_not_fit) {
    auto const store = open_store(directory.path());
    one(*store, new_user("ann", "ann@x.org"));
    EXPECT_FALSE(state_load::begin(*store, test_cluster)) << "the store is not empty";
    temporary_directory other;
    auto const empty = open_store(other.path());
    auto load = state_load::begin(*empty, test_cluster);
    ASSERT_TRUE(load);
    state_record const local[] = {{2, std::string_view("\x60"), "x"}};
    EXPECT_FALSE(load->add(local));
    state_record const disorder[] = {{0, "00000002", "x"}, {0, "00000001", "x"}};
    EXPECT_FALSE(load->add(disorder));
    EXPECT_FALSE(load->finish(1, row_schema())) << "there are no counts";
}

TEST_F(state_of_cluster, begins_with_a_store_as_it_is_and_ends_with_it) {
    auto const store = open_store(directory.path());
    one(*store, new_user("ann", "ann@x.org"));
    ASSERT_TRUE(join_cluster(*store, test_cluster));
    EXPECT_FALSE(join_cluster(*store, test_cluster));
    EXPECT_EQ(store->node()->cluster, test_cluster);
    EXPECT_EQ(store->node()->position, 0u);
    expect_sound(*store);
    EXPECT_FALSE(reset_time(*store, true));
    ASSERT_TRUE(leave_cluster(*store));
    EXPECT_FALSE(store->node());
    EXPECT_EQ(get_user(one(*store, new_user("bob", "bob@x.org"))).id, 2);
    expect_sound(*store);
}

TEST_F(state_of_cluster, is_inspected_with_its_position) {
    first().close();
    auto const report = inspect(first().directory.path());
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->wrong.empty());
    EXPECT_EQ(report->position, engine.head());
}

}  // namespace
}  // namespace latchkey::domain
