// Power cuts. A store is worked with while everything that it asks of the disk is noted; then the
// disk is put together as a cut at some moment may leave it, opened, and compared with what had
// been answered by then. POWER_CUTS is how many different states are looked at (300 by default).
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "power_load.hpp"
#include "store/audit.hpp"

namespace latchkey::store {
namespace {

using kind = disk_event::kind;

std::size_t wanted_states() {
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

// The fates that the commands may have had at a cut: all that were answered are there, and of what
// was under way the whole group or nothing.
struct possible {
    known_content without, with;
};

// Which of the two it was; otherwise what is wrong.
struct verdict {
    bool with = false;
    std::string wrong;
};

std::string first_of(std::vector<std::string> const& sentences) {
    return sentences.empty() ? std::string() : sentences.front();
}

// No id comes again: each is the one after the last that was given out.
std::string write_on(environment& store, known_content const& known) {
    auto const user = known.last[0] + 1;
    auto const outcomes = apply(store, {new_user("later", "later@example.org"),
                                        new_post(user, "later"),
                                        new_key(key_number(7)),
                                        {.what = receive_event{"shop", "", false, {}, "{}"}}});
    if (!outcomes) return outcomes.error().message;
    auto next = known;
    std::vector<model::id> given;
    for (auto const& each : *outcomes) {
        if (each.problem != base::problem::none) return "it cannot be written";
        if (auto const* made = std::get_if<model::user>(&each.record)) given.push_back(made->id);
        if (auto const* made = std::get_if<model::post>(&each.record)) given.push_back(made->id);
        if (auto const* made = std::get_if<model::key>(&each.record)) given.push_back(made->id);
        if (auto const* made = std::get_if<received_event>(&each.record)) given.push_back(made->id);
    }
    for (std::size_t i = 0; i < known.last.size(); ++i)
        if (given.at(i) != known.last[i] + 1) return "an id was not the next one";
    return first_of(verify(store));
}

verdict look(std::string const& directory, possible const& fates) {
    auto const opened = environment::open(power_options(directory));
    if (!opened) return {.wrong = opened.error().message};
    auto& store = **opened;
    if (auto const wrong = first_of(verify(store)); !wrong.empty()) return {.wrong = wrong};
    if (auto const wrong = first_of(verify_audit(store).wrong); !wrong.empty())
        return {.wrong = wrong};
    auto const found = content_of(store);
    auto const without = difference(found, fates.without.things);
    auto const with = difference(found, fates.with.things);
    if (!without.empty() && !with.empty())
        return {.wrong = "what was answered: " + without + "; with what was not: " + with};
    auto const happened = !without.empty();
    return {happened, write_on(store, happened ? fates.with : fates.without)};
}

// In a process of its own: LMDB maps the file, so a damaged one may end whoever reads it.
verdict look_apart(std::string const& directory, possible const& fates) {
    int ends[2];
    if (::pipe(ends) != 0) return {.wrong = "no pipe"};
    auto const child = ::fork();
    if (child == 0) {
        ::alarm(20);
        ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
        auto const found = look(directory, fates);
        auto const text = (found.with ? "1" : "0") + found.wrong.substr(0, 2000);
        auto const sent = ::write(ends[1], text.data(), text.size());
        ::_exit(sent == static_cast<ssize_t>(text.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    char text[4096];
    auto const size = ::read(ends[0], text, sizeof text);
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (size < 1 || status != 0) return {.wrong = "whoever opened it ended"};
    return {text[0] == '1', std::string(text + 1, static_cast<std::size_t>(size) - 1)};
}

struct tally {
    std::size_t states = 0, with = 0;
    std::vector<std::string> wrong;
};

class power_cuts : public testing::Test {
  protected:
    // Looks at `count` different states that a cut may leave during a life that began with `start`.
    // The last of them that was right becomes the beginning of the next.
    void cut(life const& lived, std::size_t count, disk_honesty honesty = {}) {
        auto const moments = some_moments(lived, count);
        cut_disk disk(start_, honesty);
        possible fates{known_, known_};
        std::size_t answered = 0, ahead = 0, played = 0;
        std::set<std::size_t> seen;
        auto const learn = [&](known_content& known, std::size_t& upto, std::size_t end) {
            for (; upto < end; ++upto)
                known.note(lived.steps.at(upto).command, lived.steps.at(upto).outcome);
        };
        for (auto const moment : moments) {
            std::size_t answers = answered;
            for (; played < moment; ++played) {
                disk.play(lived.events[played]);
                answers += lived.events[played].what == kind::answer;
            }
            learn(fates.without, answered, answers);
            learn(fates.with, ahead, answers_after(lived.events, moment, answers));
            for (int tries = 0; tries < 4; ++tries) {
                auto const left = disk.cut(random_);
                if (!seen.insert(hash_of(left)).second) continue;
                look_at(left, fates, moment);
                break;
            }
        }
    }

    void expect_nothing_wrong() {
        for (auto const& sentence : found_.wrong) ADD_FAILURE() << sentence;
    }
    void expect_losses_in(life const& lived, disk_honesty honesty) {
        cut(lived, 60, honesty);
        EXPECT_GT(found_.wrong.size(), 0u) << "of " << found_.states;
        std::printf("%zu of %zu states are wrong, one so: %s\n", found_.wrong.size(), found_.states,
                    found_.wrong.empty() ? "" : found_.wrong.back().c_str());
    }

    temporary_directory outer_;
    std::string const here_ = outer_.path() + "/store";
    std::mt19937_64 random_{std::random_device{}()};
    files start_;          // of the life that is looked at
    known_content known_;  // of those
    files next_start_;
    known_content next_known_;
    tally found_;

  private:
    // Ascending; only behind what changes the disk.
    std::vector<std::size_t> some_moments(life const& lived, std::size_t count) {
        std::vector<std::size_t> possible_ones{0};
        for (std::size_t i = 0; i < lived.events.size(); ++i)
            if (lived.events[i].what != kind::answer) possible_ones.push_back(i + 1);
        std::vector<std::size_t> chosen;
        for (std::size_t i = 0; i < count; ++i)
            chosen.push_back(possible_ones[random_() % possible_ones.size()]);
        std::ranges::sort(chosen);
        return chosen;
    }
    // Once what is under way has been answered.
    static std::size_t answers_after(std::vector<disk_event> const& events, std::size_t moment,
                                     std::size_t answers) {
        auto const is_answer = [](auto const& each) { return each.what == kind::answer; };
        auto const from = events.begin() + static_cast<std::ptrdiff_t>(moment);
        auto const first = std::find_if(from, events.end(), is_answer);
        auto const last = std::find_if_not(first, events.end(), is_answer);
        return answers + static_cast<std::size_t>(last - first);
    }
    static std::size_t hash_of(files const& all) {
        std::string whole;
        for (auto const& [name, content] : all) whole += name + '\0' + content;
        return std::hash<std::string>()(whole);
    }
    void look_at(files const& left, possible const& fates, std::size_t moment) {
        auto const place = outer_.path() + "/cut";
        write_files(place, left);
        auto const judged = look_apart(place, fates);
        ++found_.states;
        if (judged.with) ++found_.with;
        if (!judged.wrong.empty())
            found_.wrong.push_back("at event " + std::to_string(moment) + ": " + judged.wrong);
        else if (next_start_.empty() || random_() % 50 == 0)
            next_start_ = left, next_known_ = judged.with ? fates.with : fates.without;
    }
};

TEST_F(power_cuts, lose_nothing_that_was_answered_and_leave_nothing_half_there) {
    constexpr std::size_t states_of_a_life = 150;
    std::size_t lives = 0, commands = 0;
    while (found_.states < wanted_states() && found_.wrong.empty()) {
        // Each life begins where a cut ended another; now and then one from nothing.
        if (lives++ % 6 == 0) start_ = {}, known_ = {};
        write_files(here_, start_);
        next_start_ = {};
        auto const lived = live(here_, known_, random_, 30);
        commands += lived.steps.size();
        cut(lived, std::min(states_of_a_life, wanted_states() - found_.states));
        start_ = next_start_, known_ = next_known_;
    }
    expect_nothing_wrong();
    EXPECT_GE(found_.states, wanted_states());
    EXPECT_GT(found_.with, 0u);
    std::printf(
        "%zu states after cuts in %zu lives of %zu commands; in %zu what was under way had "
        "happened\n",
        found_.states, lives, commands, found_.with);
}

// LMDB writes the first two pages of its file one by one, and does not open a file that lacks one.
TEST_F(power_cuts, in_the_first_start_do_not_hinder_the_second) {
    for (int i = 0; i < 3; ++i) {
        write_files(here_, {});
        cut(live(here_, {}, random_, 1), 40);
    }
    expect_nothing_wrong();
    EXPECT_GT(found_.states, 20u);
}

// Would all this find anything? These must be found.
TEST_F(power_cuts, of_a_store_that_does_not_sync_are_seen_to_lose) {
    write_files(here_, {});
    auto const lived = live(here_, {}, random_, 30, false);
    for (auto const& event : lived.events)
        EXPECT_FALSE(event.what == kind::sync && event.name == "store.mdb");
    expect_losses_in(lived, {});
}

TEST_F(power_cuts, of_a_disk_that_forgets_its_syncs_are_seen_to_lose) {
    write_files(here_, {});
    expect_losses_in(live(here_, {}, random_, 30), {.syncs = false});
}

TEST_F(power_cuts, of_a_disk_that_delays_the_last_page_are_seen_to_lose) {
    write_files(here_, {});
    expect_losses_in(live(here_, {}, random_, 30), {.through = false});
}

}  // namespace
}  // namespace latchkey::store
