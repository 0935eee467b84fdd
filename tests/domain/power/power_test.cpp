// Power cuts: a store is used while all its requests to the disk are recorded; then the disk is put
// into a state that a cut at some moment may leave, opened, and compared with what had been
// answered by then. POWER_CUTS is the number of different states (300 by default).
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "domain/audit/verify_audit.hpp"
#include "power_load.hpp"

namespace latchkey::domain {
namespace {

using kind = disk_event::kind;

std::size_t states_to_check() {
    auto const* const text = std::getenv("POWER_CUTS");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : 300;
}

void write_files(std::string const& directory, files const& all) {
    std::filesystem::remove_all(directory);
    std::filesystem::create_directory(directory);
    std::filesystem::permissions(directory, std::filesystem::perms::owner_all);
    for (auto const& [name, content] : all)
        std::ofstream(directory + "/" + name, std::ios::binary) << content;
}

// The possible effects of the commands at a cut: all that were answered are there, and of the group
// under way all commands or none.
struct possible {
    known_content unapplied, applied;
};

// Which of the two it is, or what is wrong.
struct verdict {
    bool applied = false;
    std::string error;
};

std::string first_of(std::vector<std::string> const& sentences) {
    return sentences.empty() ? std::string() : sentences.front();
}

// No id is reused: each is the next one.
std::string write_on(environment& store, known_content const& expected) {
    auto const user = expected.last[0] + 1;
    auto const outcomes = apply(store, {new_user("later", "later@example.org"),
                                        new_post(user, "later"),
                                        new_key(key_number(7)),
                                        {.action = receive_event{"shop", "", false, {}, "{}"}}});
    if (!outcomes) return outcomes.error().message;
    auto next = expected;
    std::vector<model::id> ids;
    for (auto const& each : *outcomes) {
        if (each.problem != base::problem::none) return "it cannot be written";
        if (auto const* record = std::get_if<model::user>(&each.record)) ids.push_back(record->id);
        if (auto const* record = std::get_if<model::post>(&each.record)) ids.push_back(record->id);
        if (auto const* record = std::get_if<model::key>(&each.record)) ids.push_back(record->id);
        if (auto const* record = std::get_if<received_event>(&each.record))
            ids.push_back(record->id);
    }
    for (std::size_t i = 0; i < expected.last.size(); ++i)
        if (ids.at(i) != expected.last[i] + 1) return "an id was not the next one";
    return first_of(check_consistency(store));
}

verdict check(std::string const& directory, possible const& outcomes) {
    auto const result = environment::open(power_options(directory));
    if (!result) return {.error = result.error().message};
    auto& store = **result;
    if (auto const error = first_of(check_consistency(store)); !error.empty())
        return {.error = error};
    if (auto const error = first_of(verify_audit(store).wrong); !error.empty())
        return {.error = error};
    auto const content = content_of(store);
    auto const unapplied = difference(content, outcomes.unapplied.things);
    auto const applied = difference(content, outcomes.applied.things);
    if (!unapplied.empty() && !applied.empty())
        return {.error = "without the group under way: " + unapplied + "; with it: " + applied};
    auto const happened = !unapplied.empty();
    return {happened, write_on(store, happened ? outcomes.applied : outcomes.unapplied)};
}

// In a child process: LMDB maps the file, so a damaged one may end the process.
verdict check_in_child(std::string const& directory, possible const& outcomes) {
    int pipe_ends[2];
    if (::pipe(pipe_ends) != 0) return {.error = "no pipe"};
    auto const child = ::fork();
    if (child == 0) {
        ::alarm(20);
        ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
        auto const result = check(directory, outcomes);
        auto const text = (result.applied ? "1" : "0") + result.error.substr(0, 2000);
        auto const count = ::write(pipe_ends[1], text.data(), text.size());
        ::_exit(count == static_cast<ssize_t>(text.size()) ? 0 : 1);
    }
    ::close(pipe_ends[1]);
    char text[4096];
    auto const size = ::read(pipe_ends[0], text, sizeof text);
    ::close(pipe_ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (size < 1 || status != 0) return {.error = "the process that opened it ended"};
    return {text[0] == '1', std::string(text + 1, static_cast<std::size_t>(size) - 1)};
}

struct summary {
    std::size_t states = 0, applied = 0;
    std::vector<std::string> errors;
};

class power_cuts : public testing::Test {
  protected:
    // Checks `count` different states that a cut may leave during a life that began with `start_`.
    // The last good one is the start of the next life.
    void cut(life const& run, std::size_t count, disk_guarantees guarantees = {}) {
        auto const moments = some_moments(run, count);
        cut_disk disk(start_, guarantees);
        possible outcomes{expected_, expected_};
        std::size_t answered = 0, ahead = 0, played = 0;
        std::set<std::size_t> hashes;
        auto const apply_answers = [&](known_content& expected, std::size_t& position,
                                       std::size_t end) {
            for (; position < end; ++position)
                expected.note(run.steps.at(position).command, run.steps.at(position).outcome);
        };
        for (auto const moment : moments) {
            std::size_t answers = answered;
            for (; played < moment; ++played) {
                disk.replay(run.events[played]);
                answers += run.events[played].type == kind::answer;
            }
            apply_answers(outcomes.unapplied, answered, answers);
            apply_answers(outcomes.applied, ahead, answers_after(run.events, moment, answers));
            for (int tries = 0; tries < 4; ++tries) {
                auto const state = disk.cut(random_);
                if (!hashes.insert(hash_of(state)).second) continue;
                check_state(state, outcomes, moment);
                break;
            }
        }
    }

    void expect_nothing_wrong() {
        for (auto const& sentence : report_.errors) ADD_FAILURE() << sentence;
    }
    void expect_losses_in(life const& run, disk_guarantees guarantees) {
        cut(run, 60, guarantees);
        EXPECT_GT(report_.errors.size(), 0u) << "of " << report_.states;
        std::printf("%zu of %zu states are wrong, one so: %s\n", report_.errors.size(),
                    report_.states, report_.errors.empty() ? "" : report_.errors.back().c_str());
    }

    temporary_directory outer_;
    std::string const directory_ = outer_.path() + "/store";
    std::mt19937_64 random_{std::random_device{}()};
    files start_;             // at the start of the current life
    known_content expected_;  // of those files
    files next_start_;
    known_content next_known_;
    summary report_;

  private:
    // Ascending; only after events that change the disk.
    std::vector<std::size_t> some_moments(life const& run, std::size_t count) {
        std::vector<std::size_t> possible_ones{0};
        for (std::size_t i = 0; i < run.events.size(); ++i)
            if (run.events[i].type != kind::answer) possible_ones.push_back(i + 1);
        std::vector<std::size_t> moments;
        for (std::size_t i = 0; i < count; ++i)
            moments.push_back(possible_ones[random_() % possible_ones.size()]);
        std::ranges::sort(moments);
        return moments;
    }
    // The number of answers once the group under way is answered.
    static std::size_t answers_after(std::vector<disk_event> const& events, std::size_t moment,
                                     std::size_t answers) {
        auto const is_answer = [](auto const& each) { return each.type == kind::answer; };
        auto const begin = events.begin() + static_cast<std::ptrdiff_t>(moment);
        auto const first = std::find_if(begin, events.end(), is_answer);
        auto const last = std::find_if_not(first, events.end(), is_answer);
        return answers + static_cast<std::size_t>(last - first);
    }
    static std::size_t hash_of(files const& all) {
        std::string whole;
        for (auto const& [name, content] : all) whole += name + '\0' + content;
        return std::hash<std::string>()(whole);
    }
    void check_state(files const& state, possible const& outcomes, std::size_t moment) {
        auto const directory = outer_.path() + "/cut";
        write_files(directory, state);
        auto const result = check_in_child(directory, outcomes);
        ++report_.states;
        if (result.applied) ++report_.applied;
        if (!result.error.empty()) {
            report_.errors.push_back("at event " + std::to_string(moment) + ": " + result.error);
        } else if (next_start_.empty() || random_() % 50 == 0) {
            next_start_ = state;
            next_known_ = result.applied ? outcomes.applied : outcomes.unapplied;
        }
    }
};

TEST_F(power_cuts, lose_no_answered_command_and_leave_no_partial_one) {
    constexpr std::size_t states_of_a_life = 150;
    std::size_t lives = 0, commands = 0;
    while (report_.states < states_to_check() && report_.errors.empty()) {
        // Each life begins with the state after a cut; every sixth one with an empty directory.
        if (lives++ % 6 == 0) {
            start_ = {};
            expected_ = {};
        }
        write_files(directory_, start_);
        next_start_ = {};
        auto const run = live(directory_, expected_, random_, 30);
        commands += run.steps.size();
        cut(run, std::min(states_of_a_life, states_to_check() - report_.states));
        start_ = next_start_;
        expected_ = next_known_;
    }
    expect_nothing_wrong();
    EXPECT_GE(report_.states, states_to_check());
    EXPECT_GT(report_.applied, 0u);
    std::printf(
        "%zu states after cuts in %zu lives of %zu commands; in %zu the group under way was "
        "applied\n",
        report_.states, lives, commands, report_.applied);
}

// LMDB writes the first two pages of its file one by one, and does not open a file that lacks one.
TEST_F(power_cuts, in_the_first_start_do_not_hinder_the_second) {
    for (int i = 0; i < 3; ++i) {
        write_files(directory_, {});
        cut(live(directory_, {}, random_, 1), 40);
    }
    expect_nothing_wrong();
    EXPECT_GT(report_.states, 20u);
}

// The tests must detect these losses.
TEST_F(power_cuts, of_a_store_that_does_not_sync_are_detected) {
    write_files(directory_, {});
    auto const run = live(directory_, {}, random_, 30, false);
    for (auto const& event : run.events)
        EXPECT_FALSE(event.type == kind::sync && event.name == "store.mdb");
    expect_losses_in(run, {});
}

TEST_F(power_cuts, of_a_disk_that_forgets_its_syncs_are_detected) {
    write_files(directory_, {});
    expect_losses_in(live(directory_, {}, random_, 30), {.syncs = false});
}

TEST_F(power_cuts, of_a_disk_that_delays_the_last_page_are_detected) {
    write_files(directory_, {});
    expect_losses_in(live(directory_, {}, random_, 30), {.written_through = false});
}

}  // namespace
}  // namespace latchkey::domain
