// Nodes of a cluster in one process, each with a store and a log of its own over one engine.
#pragma once

#include <map>

#include "../support.hpp"
#include "domain/admin/state_load.hpp"
#include "memory_log.hpp"

namespace latchkey::domain {

// Of the program that the test is; 0: as it is. In the place of store/row_schema.cpp.
extern std::uint32_t other_row_schema;

inline constexpr cluster_id test_cluster{'t', 'e', 's', 't'};

struct node {
    explicit node(memory_engine& engine) : log(engine) {}
    // Opens the store, which joins the cluster at the first time, and attaches its log.
    void open();
    void open(environment_options options);  // which count from then on
    void close() { store.reset(); }

    temporary_directory directory;
    environment_options options{.map_bytes = 1u << 30, .sync = false, .records_changes = true};
    memory_log log;
    std::unique_ptr<environment> store;
};

using state_content = std::map<std::pair<int, std::string>, std::string>;
state_content content_of(environment& store);
// Applies what has arrived, as an idle writer does.
void catch_up(node& node);

// Of two nodes; `expect_equal` brings all of them to the last row, and compares whole stores.
class cluster_test : public ::testing::Test {
  protected:
    explicit cluster_test(std::size_t count = 2);
    void expect_equal();

    memory_engine engine;
    std::vector<std::unique_ptr<node>> nodes;
    node& first() { return *nodes[0]; }
    node& second() { return *nodes[1]; }
};

}  // namespace latchkey::domain
