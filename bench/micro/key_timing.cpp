// Timing side channel of the key check: does the time for a wrong key depend on how much of it is
// right? Compares wrong keys that share their first 0, 8, 16, … secret characters with a stored key
// to wrong keys that share as many with a key that was never stored. Each is generated from one of
// thousands of keys of its kind, has a valid checksum and is used once, in random order, so that
// the result is a property of the kind and not of a few keys and their places in memory.
//
//     key-timing [MEASUREMENTS OF EACH KIND, default 1000000]
//
// The means are compared by Welch's t-test (as in Reparaz, Balasch, Verbauwhede, "dude, is my code
// constant time?", 2017); below |t| = 4.5 there is no measurable difference. Two samples of the
// same kind, both of keys that were never stored, show the noise. As a positive control, in the
// last rows the call is followed by a comparison with a stored key that stops at the first
// difference.
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "auth/cache.hpp"
#include "auth/key_form.hpp"
#include "base/base62.hpp"
#include "base/check.hpp"
#include "domain/writer.hpp"

namespace latchkey::auth {
namespace {

constexpr std::size_t checked = key_prefix_bytes + key_random_bytes;
constexpr std::size_t keys_per_kind = 4096;  // stored ones, and as many that never were
constexpr std::size_t commands_per_call = 64;
constexpr std::size_t batch_keys = 4096;
constexpr std::size_t longest_ns = 1 << 16;
constexpr double measured_part =
    0.95;  // without the slowest twentieth, which is noise of the machine
constexpr double t_threshold = 4.5;
constexpr base::instant now{.mono = 1'000'000'000'000, .wall = 1'800'000'000'000};

using key_text = std::array<char, key_bytes>;

std::string_view view(key_text const& text) {
    return {text.data(), text.size()};
}

std::int64_t nanoseconds() {
    timespec now_value;
    clock_gettime(CLOCK_MONOTONIC, &now_value);
    return now_value.tv_sec * 1'000'000'000 + now_value.tv_nsec;
}

// Histogram of durations of one kind of key, by nanosecond.
struct times {
    std::vector<std::uint32_t> counts = std::vector<std::uint32_t>(longest_ns);

    void add(std::int64_t nanoseconds) {
        ++counts[static_cast<std::size_t>(std::min<std::int64_t>(nanoseconds, longest_ns - 1))];
    }
};

// One row of the table: keys of the same construction with three kinds of owner.
struct comparison {
    enum owner : std::uint8_t { stored, other, other_again };
    std::size_t right;  // secret characters that a key shares with its owner
    bool stops_early = false;
    times durations[3];
};

struct moments {
    double mean = 0, variance = 0, count = 0;
};

moments moments_below(std::size_t limit, times const& durations) {
    moments result;
    for (std::size_t ns = 0; ns < limit; ++ns) {
        result.count += durations.counts[ns];
        result.mean += static_cast<double>(ns) * durations.counts[ns];
    }
    result.mean /= result.count;
    for (std::size_t ns = 0; ns < limit; ++ns) {
        auto const deviation = static_cast<double>(ns) - result.mean;
        result.variance += deviation * deviation * durations.counts[ns] / (result.count - 1);
    }
    return result;
}

// One limit for all three: separate limits would add variance to the means that the test does not
// know of.
std::size_t limit_of(comparison const& all) {
    double sum = 0, count = 0;
    for (auto const& each : all.durations)
        for (auto const times : each.counts) sum += times;
    for (std::size_t ns = 0; ns < longest_ns; ++ns) {
        if (count >= measured_part * sum) return ns;
        for (auto const& each : all.durations) count += each.counts[ns];
    }
    return longest_ns;
}

struct difference {
    double ns, error, t;
};

difference compare(moments const& a, moments const& b) {
    double const error = std::sqrt(a.variance / a.count + b.variance / b.count);
    return {a.mean - b.mean, error, (a.mean - b.mean) / error};
}

// A store with keys, as many keys that are not in it, and wrong keys derived from either.
class key_generator {
  public:
    key_generator() {
        base::check(mkdtemp(path_.data()) != nullptr, "no temporary directory");
        store_ =
            store::environment::open({.directory = path_, .map_bytes = 1ull << 30, .sync = false})
                .value();
        for (auto* const owners : {&stored_keys_, &unstored_keys_})
            for (auto& each : *owners) fresh_key("lkey").text().copy(each.data(), key_bytes);
        for (std::size_t i = 0; i < keys_per_kind; i += commands_per_call) {
            std::vector<domain::command> commands(commands_per_call);
            for (std::size_t n = 0; n < commands_per_call; ++n)
                commands[n].action = domain::create_key{
                    model::key{.digest = digest_of(view(stored_keys_[i + n])), .name = "a key"}};
            base::check(bool(domain::apply(*store_, std::move(commands))), "keys were not stored");
        }
    }
    ~key_generator() {
        store_.reset();
        std::filesystem::remove_all(path_);
    }
    key_generator(key_generator const&) = delete;
    key_generator& operator=(key_generator const&) = delete;

    store::environment& store() { return *store_; }
    std::vector<key_text> const& stored() const { return stored_keys_; }
    std::size_t below(std::size_t end) { return random_() % end; }

    // Derived from a stored or an unstored key, by its number.
    key_text wrong_key(std::size_t right, bool use_stored, std::size_t number) {
        auto const& owner = (use_stored ? stored_keys_ : unstored_keys_)[number];
        auto text = owner;
        for (std::size_t i = key_prefix_bytes + right; i < checked; ++i)
            text[i] = base::base62_digits[below(62)];
        auto const first = key_prefix_bytes + right;
        while (text[first] == owner[first]) text[first] = base::base62_digits[below(62)];
        base::put_base62(base::crc32(view(text).substr(0, checked)), text.data() + checked,
                         key_bytes - checked);
        return text;
    }

  private:
    std::string path_ = (std::filesystem::temp_directory_path() / "key-timing-XXXXXX").string();
    std::unique_ptr<store::environment> store_;
    std::vector<key_text> stored_keys_ = std::vector<key_text>(keys_per_kind);
    std::vector<key_text> unstored_keys_ = std::vector<key_text>(keys_per_kind);
    std::mt19937_64 random_{std::random_device()()};
};

// A key to measure, and the stored key with which a vulnerable program would compare it.
struct measurement {
    comparison* row;
    comparison::owner owner;
    key_text key, compared;
};

measurement make_measurement(key_generator& generator, std::vector<comparison>& rows) {
    measurement one;
    one.row = &rows[generator.below(rows.size())];
    one.owner = static_cast<comparison::owner>(generator.below(3));
    auto const number = generator.below(keys_per_kind);
    one.key = generator.wrong_key(one.row->right, one.owner == comparison::stored, number);
    one.compared = generator.stored()[number];
    return one;
}

void measure(key_generator& generator, std::vector<comparison>& rows, std::size_t each) {
    domain::snapshot snapshot(generator.store());
    snapshot.renew();
    cache subject;
    subject.follow(snapshot);
    for (auto const& key : generator.stored())
        base::check(subject.authenticate(view(key), nullptr, snapshot, now).caller.has_value(),
                    "a stored key is known");
    std::vector<measurement> batch(batch_keys);
    for (std::size_t left = each * rows.size() * 3; left >= batch_keys; left -= batch_keys) {
        for (auto& one : batch) one = make_measurement(generator, rows);
        for (auto const& one : batch) {
            // From the same address each time, so that the address has no effect.
            alignas(64) static key_text key, compared;
            key = one.key;
            compared = one.compared;
            auto const start = nanoseconds();
            auto const verdict = subject.authenticate(view(key), nullptr, snapshot, now);
            asm volatile("" : : "r"(verdict.problem) : "memory");
            if (one.row->stops_early) {
                std::size_t same = 0;
                while (same < key_bytes && key[same] == compared[same]) ++same;
                asm volatile("" : : "r"(same));
            }
            one.row->durations[one.owner].add(nanoseconds() - start);
            base::check(verdict.problem == base::problem::key_invalid, "a wrong key was accepted");
        }
    }
}

int report(std::vector<comparison> const& rows) {
    int distinguishable = 0, noise_distinguishable = 0;
    bool detects = true;
    std::printf("%-26s %9s   %-26s   %s\n", "", "", "stored less never stored",
                "never stored, two lots");
    std::printf("%-26s %9s   %9s %7s %8s   %9s %7s %8s\n", "secret characters right", "mean ns",
                "ns", "± 1.96σ", "t", "ns", "± 1.96σ", "t");
    for (auto const& row : rows) {
        auto const limit = limit_of(row);
        moments statistics[3];
        std::transform(row.durations, row.durations + 3, statistics,
                       [limit](times const& durations) { return moments_below(limit, durations); });
        auto const result = compare(statistics[comparison::stored], statistics[comparison::other]);
        auto const noise =
            compare(statistics[comparison::other_again], statistics[comparison::other]);
        auto const name = std::to_string(row.right) + (row.stops_early ? ", stops early" : "");
        std::printf("%-26s %9.2f   %9.3f %7.3f %8.2f   %9.3f %7.3f %8.2f\n", name.c_str(),
                    statistics[comparison::other].mean, result.ns, 1.96 * result.error, result.t,
                    noise.ns, 1.96 * noise.error, noise.t);
        bool const significant = std::abs(result.t) > t_threshold;
        if (row.stops_early)
            detects &= significant;
        else
            distinguishable += significant;
        noise_distinguishable += std::abs(noise.t) > t_threshold;
    }
    std::printf(
        "%d kinds of wrong keys can be told apart, %d times the noise alone can; "
        "comparisons that stop early %s\n",
        distinguishable, noise_distinguishable,
        detects ? "can, as they must" : "cannot: too few measurements");
    return distinguishable == 0 && noise_distinguishable == 0 && detects ? 0 : 1;
}

}  // namespace
}  // namespace latchkey::auth

int main(int count, char** words) {
    using namespace latchkey::auth;
    auto const each = count > 1 ? std::strtoull(words[1], nullptr, 10) : 1'000'000;
    if (each < 1000) {
        std::fprintf(stderr, "at least 1000 measurements\n");
        return 2;
    }
    std::vector<comparison> rows;
    for (std::size_t const right : {0, 8, 16, 24, 32, 37}) rows.push_back({.right = right});
    for (std::size_t const right : {4, 8, 16, 32})
        rows.push_back({.right = right, .stops_early = true});
    key_generator generator;
    measure(generator, rows, each);
    return report(rows);
}
