#include <sys/wait.h>

#include <filesystem>

#include "fake_node.hpp"
#include "postgres.hpp"

namespace latchkey::replicate {
namespace {

using replicate::protocol::append_result;
using replicate::protocol::failure;

class refusal_test : public engine_test {
  protected:
    // What a helper says that is of no use any more, and that it refuses everything afterwards.
    replicate::protocol::failed refusal(node_options options) {
        fake_node node(conninfo_, std::move(options));
        auto const answer = node.wait_for<replicate::protocol::failed>();
        EXPECT_EQ(node.append(1).result, append_result::unavailable);
        EXPECT_EQ(node.resolve(node.make_row(1)).result, append_result::unknown);
        for (auto const request : {node.send(replicate::protocol::status{}),
                                   node.send(replicate::protocol::read_state{}),
                                   node.send(replicate::protocol::leave{"one"})})
            EXPECT_EQ(node.wait_for<replicate::protocol::failed>({}, request).reason,
                      answer.reason);
        return answer;
    }
};

TEST_F(refusal_test, without_a_cluster_nothing_is_appended) {
    fake_node node(conninfo_);
    auto const answer = node.wait_for<replicate::protocol::failed>();
    EXPECT_EQ(answer.reason, failure::no_cluster);
    EXPECT_FALSE(answer.fatal);
    EXPECT_EQ(node.append(1).result, append_result::unavailable);
    EXPECT_EQ(node.resolve(node.make_row(1)).result, append_result::unknown);
    auto const status =
        node.wait_for<replicate::protocol::failed>({}, node.send(replicate::protocol::status{}));
    EXPECT_EQ(status.reason, failure::no_cluster);
    auto const state = node.wait_for<replicate::protocol::failed>(
        {}, node.send(replicate::protocol::read_state{}));
    EXPECT_EQ(state.reason, failure::no_cluster);
}

TEST_F(refusal_test, an_init_that_has_not_ended_is_no_cluster) {
    fake_node maker(conninfo_);
    maker.wait_for<replicate::protocol::completion>(
        {}, maker.send(replicate::protocol::init_begin{test_cluster}));
    fake_node node(conninfo_, {.name = "two"});
    EXPECT_EQ(node.wait_for<replicate::protocol::failed>().reason, failure::no_cluster);
    maker.wait_for<replicate::protocol::completion>(
        {}, maker.send(replicate::protocol::init_end{0, 1}));
    node.wait_for<replicate::protocol::ready>();
}

TEST_F(refusal_test, another_cluster_is_refused) {
    fake_node maker(conninfo_);
    maker.init();
    auto const answer = refusal({.name = "two", .cluster = identity_from("another")});
    EXPECT_EQ(answer.reason, failure::other_cluster);
    EXPECT_TRUE(answer.fatal);
    fake_node node(conninfo_, {.name = "three", .cluster = test_cluster});
    EXPECT_EQ(node.wait_for<replicate::protocol::ready>().cluster, test_cluster);
}

TEST_F(refusal_test, another_master_key_is_refused) {
    fake_node maker(conninfo_);
    maker.init();
    auto const answer = refusal({.name = "two", .key_byte = 'x'});
    EXPECT_EQ(answer.reason, failure::other_key);
    EXPECT_TRUE(answer.fatal);
}

TEST_F(refusal_test, tables_of_a_newer_version_are_refused) {
    fake_node maker(conninfo_);
    maker.init();
    sql_session(conninfo_).run("UPDATE latchkey_cluster SET version = 2");
    auto const answer = refusal({.name = "two"});
    EXPECT_EQ(answer.reason, failure::newer);
    EXPECT_TRUE(answer.fatal);
}

TEST_F(refusal_test, a_second_cluster_is_not_made) {
    fake_node maker(conninfo_);
    maker.init();
    auto const answer = maker.wait_for<replicate::protocol::failed>(
        {}, maker.send(replicate::protocol::init_begin{identity_from("another")}));
    EXPECT_EQ(answer.reason, failure::exists);
    EXPECT_EQ(maker.append(1).result, append_result::won);
}

// The tables were replaced behind the back of a node.
TEST_F(refusal_test, a_row_is_not_appended_to_another_cluster) {
    fake_node maker(conninfo_);
    maker.init();
    sql_session(conninfo_).run("UPDATE latchkey_cluster SET cluster = 'another'");
    EXPECT_EQ(maker.append(1).result, append_result::lost);
    EXPECT_EQ(sql_session(conninfo_).value("SELECT max(position) FROM latchkey_log"), "0");
}

TEST_F(refusal_test, a_role_without_rights_is_told) {
    fake_node maker(conninfo_);
    maker.init();
    auto const role = "weak" + conninfo_.substr(conninfo_.find("dbname=") + 7);
    sql_session(conninfo_).run("CREATE ROLE " + role + " LOGIN");
    auto weak = conninfo_;
    weak.replace(weak.find("user=latchkey"), 13, "user=" + role);
    fake_node node(weak, {.name = "two"});
    auto const answer = node.wait_for<replicate::protocol::failed>();
    EXPECT_EQ(answer.reason, failure::not_permitted);
    EXPECT_NE(answer.text.find("latchkey_cluster"), std::string::npos);
}

TEST_F(refusal_test, a_string_that_cannot_be_read_ends_the_matter) {
    fake_node node("geheim");
    auto const answer = node.wait_for<replicate::protocol::failed>();
    EXPECT_TRUE(answer.fatal);
    EXPECT_EQ(answer.text.find("geheim"), std::string::npos);
}

TEST_F(refusal_test, the_program_ends_with_its_node) {
    fake_node node(conninfo_);
    node.wait_for<replicate::protocol::failed>();
    EXPECT_EQ(node.close(), 0);
}

TEST_F(refusal_test, a_message_that_a_node_does_not_send_is_refused) {
    fake_node node(conninfo_);
    auto const answer =
        node.wait_for<replicate::protocol::failed>({}, node.send(replicate::protocol::ready{}));
    EXPECT_EQ(answer.reason, failure::protocol);
}

TEST_F(refusal_test, people_are_told_what_the_program_is) {
    auto const program = std::filesystem::read_symlink("/proc/self/exe").parent_path() /
                         "../../../src/helpers/replicate/latchkey-replicate";
    auto const run = [&](std::string const& arguments) {
        auto const command = program.string() + " " + arguments + " >/dev/null 2>&1";
        return WEXITSTATUS(std::system(command.c_str()));  // NOLINT: fixed words
    };
    EXPECT_EQ(run("--help"), 0);
    EXPECT_EQ(run("--version"), 0);
    EXPECT_EQ(run(""), 2);
    EXPECT_EQ(run("--descriptor 0"), 2);
    EXPECT_EQ(run("--descriptor x"), 2);
    EXPECT_EQ(run("--descriptor 99"), 2);
}

}  // namespace
}  // namespace latchkey::replicate
