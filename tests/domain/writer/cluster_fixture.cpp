#include "cluster_fixture.hpp"

#include <sys/stat.h>

#include <fstream>

#include "domain/writer/replication.hpp"
#include "store/layout.hpp"

namespace latchkey::domain {

std::uint32_t other_row_schema = 0;

namespace {

// The nodes of a cluster have one key.
void write_master_key(std::string const& directory) {
    auto const path = directory + "/master.key";
    std::ofstream(path) << std::string(32, 'k');
    ::chmod(path.c_str(), 0600);
}

}  // namespace

void node::open(environment_options other_options) {
    options = other_options;
    open();
}

void node::open() {
    options.directory = directory.path();
    write_master_key(directory.path());
    auto result = environment::open(options);
    ASSERT_TRUE(result) << result.error().message;
    store = std::move(result.value());
    if (!store->node()) ASSERT_TRUE(join_cluster(*store, test_cluster));
    ASSERT_TRUE(store->attach(log, test_cluster));
}

state_content content_of(environment& store) {
    state_content all;
    state_reader reader(store);
    while (auto const record = reader.next())
        all.emplace(std::pair(int{record->table}, std::string(record->key)), record->content);
    EXPECT_FALSE(reader.failure());
    return all;
}

void catch_up(node& node) {
    node.log.fetch(0);
    EXPECT_EQ(apply_arrived_rows(node.store->native()), 0);
}

cluster_test::cluster_test(std::size_t count) {
    while (nodes.size() < count) {
        nodes.push_back(std::make_unique<node>(engine));
        nodes.back()->open();
    }
}

void cluster_test::expect_equal() {
    auto const head = engine.head();
    for (auto const& each : nodes) {
        catch_up(*each);
        EXPECT_EQ(each->store->node()->position, head);
        expect_sound(*each->store);
        EXPECT_EQ(content_of(*each->store), content_of(*nodes[0]->store));
    }
}

}  // namespace latchkey::domain

std::uint32_t latchkey::store::row_schema() {
    return domain::other_row_schema == 0 ? schema_version : domain::other_row_schema;
}
