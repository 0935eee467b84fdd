// Power cuts under a node of a cluster, whose commits leave the last one's durability to the log: a
// cut may undo the last transaction and no other, and the log brings it back.
#include <fstream>
#include <iterator>
#include <random>

#include "../power/disk_recording.hpp"
#include "cluster_fixture.hpp"

namespace latchkey::domain {
namespace {

environment_options const durable{.map_bytes = 12 << 20, .sync = true};

files read_files(std::string const& directory) {
    files all;
    for (auto const& each : std::filesystem::directory_iterator(directory)) {
        std::ifstream file(each.path(), std::ios::binary);
        all[each.path().filename()] = {std::istreambuf_iterator(file), {}};
    }
    return all;
}

void write_files(std::string const& directory, files const& all) {
    for (auto const& [name, content] : all)
        std::ofstream(directory + "/" + name, std::ios::binary) << content;
}

class node_power : public testing::Test {
  protected:
    void SetUp() override {
        node_.open(durable);
        node_.close();
        start_ = read_files(node_.directory.path());
    }
    // One command a transaction, each recorded as answered.
    void live(unsigned commands) {
        disk_recording recording(node_.directory.path(), events_);
        node_.open();
        for (unsigned i = 0; i < commands; ++i) {
            auto const name = "user" + std::to_string(i);
            auto const size = random_() % 10 == 0 ? 30'000 : 300;
            auto const outcome =
                i % 2 == 0 ? one(*node_.store, new_user(name, name + "@example.org"))
                           : one(*node_.store, new_post(1, name, model::post_status::draft,
                                                        std::string(size, 'x')));
            ASSERT_EQ(outcome.problem, base::problem::none);
            recording.record({});
        }
    }
    // What a cut leaves once `answers` commands were answered, and possibly the next one applied.
    void check(files const& state, std::uint64_t answers) {
        node restarted(engine_);
        write_files(restarted.directory.path(), state);
        restarted.log.arrives = false;
        restarted.open(durable);
        ASSERT_NE(restarted.store, nullptr);
        auto const position = restarted.store->node()->position;
        EXPECT_GE(position + 1, answers);
        EXPECT_LE(position, answers + 1);
        undone_ += position + 1 == answers;
        expect_sound(*restarted.store);
        catch_up(restarted);
        EXPECT_EQ(content_of(*restarted.store), content_of(*node_.store));
    }

    memory_engine engine_;
    node node_{engine_};
    files start_;
    std::vector<disk_event> events_;
    std::mt19937_64 random_{20'261'125};
    std::size_t undone_ = 0;
};

TEST_F(node_power, loses_the_last_transaction_at_most_which_the_log_has) {
    live(60);
    cut_disk disk(start_);
    std::uint64_t answers = 0;
    for (auto const& event : events_) {
        disk.replay(event);
        answers += event.type == disk_event::kind::answer;
        if (random_() % 4 == 0) check(disk.cut(random_), answers);
        if (HasFailure()) return;
    }
    EXPECT_EQ(answers, engine_.head());
    EXPECT_GT(undone_, 0u) << "no cut has undone a transaction that was answered";
}

}  // namespace
}  // namespace latchkey::domain
