// Does the time that a wrong key takes tell how much of it is right? Wrong keys that share 0, 8,
// 16, … of their secret characters, from the first on, with a key of the store are held against
// wrong keys that share as many with a key that was made in the same way and never stored. Each is
// made afresh, from one of thousands of either kind, with the checksum that belongs to it, and is
// presented once, all kinds in random order: what is found is of the kind, and not of a few keys
// and of the places in tree and tables where they happen to lie.
//
//     key-timing [MEASUREMENTS OF EACH KIND, default 1000000]
//
// The means are compared by Welch's t-test (as in Reparaz, Balasch, Verbauwhede, "dude, is my code
// constant time?", 2017); a |t| below 4.5 is no difference that could be told. Beside it stands
// what the same measurement makes of two lots of the same kind, both of no stored key: the noise.
// And it must find what it looks for: in the last rows the call is followed by a comparison with a
// stored key that stops at the first difference.
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
#include "store/writer.hpp"

namespace latchkey::auth {
namespace {

constexpr std::size_t checked = key_prefix_bytes + key_random_bytes;
constexpr std::size_t keys_of_a_kind = 4096;  // those that are stored, and those that never were
constexpr std::size_t stored_at_once = 64;
constexpr std::size_t made_at_once = 4096;
constexpr std::size_t longest_ns = 1 << 16;
constexpr double counted = 0.95;  // the slowest twentieth is what the machine did beside it
constexpr double told_apart = 4.5;
constexpr base::instant now{.mono = 1'000'000'000'000, .wall = 1'800'000'000'000};

using key_text = std::array<char, key_bytes>;

std::string_view view(key_text const& text) {
    return {text.data(), text.size()};
}

std::int64_t nanoseconds() {
    timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1'000'000'000 + at.tv_nsec;
}

// How often one kind of key took how long.
struct times {
    std::vector<std::uint32_t> of = std::vector<std::uint32_t>(longest_ns);

    void add(std::int64_t took) {
        ++of[static_cast<std::size_t>(std::min<std::int64_t>(took, longest_ns - 1))];
    }
};

// One row of the table: the same construct with three owners.
struct comparison {
    enum owner : std::uint8_t { stored, other, other_again };
    std::size_t right;  // secret characters that a key shares with its owner
    bool stops_early = false;
    times took[3];
};

struct moments {
    double mean = 0, variance = 0, count = 0;
};

moments moments_below(std::size_t limit, times const& took) {
    moments of;
    for (std::size_t ns = 0; ns < limit; ++ns) {
        of.count += took.of[ns];
        of.mean += static_cast<double>(ns) * took.of[ns];
    }
    of.mean /= of.count;
    for (std::size_t ns = 0; ns < limit; ++ns) {
        auto const off = static_cast<double>(ns) - of.mean;
        of.variance += off * off * took.of[ns] / (of.count - 1);
    }
    return of;
}

// One limit for all three: cut off each for itself, the means would scatter more than the test
// takes them to.
std::size_t limit_of(comparison const& all) {
    double sum = 0, seen = 0;
    for (auto const& each : all.took)
        for (auto const times : each.of) sum += times;
    for (std::size_t ns = 0; ns < longest_ns; ++ns) {
        if (seen >= counted * sum) return ns;
        for (auto const& each : all.took) seen += each.of[ns];
    }
    return longest_ns;
}

struct difference {
    double ns, error, t;
};

difference between(moments const& a, moments const& b) {
    double const error = std::sqrt(a.variance / a.count + b.variance / b.count);
    return {a.mean - b.mean, error, (a.mean - b.mean) / error};
}

// A store with keys, as many that are not in it, and wrong keys after the pattern of either.
class forger {
  public:
    forger() {
        base::check(mkdtemp(path_.data()) != nullptr, "no temporary directory");
        store_ =
            store::environment::open({.directory = path_, .map_bytes = 1ull << 30, .sync = false})
                .value();
        for (auto* const owners : {&stored_, &others_})
            for (auto& each : *owners) fresh_key("lkey").text().copy(each.data(), key_bytes);
        for (std::size_t i = 0; i < keys_of_a_kind; i += stored_at_once) {
            std::vector<store::command> commands(stored_at_once);
            for (std::size_t n = 0; n < stored_at_once; ++n)
                commands[n].what = store::create_key{
                    model::key{.digest = digest_of(view(stored_[i + n])), .name = "a key"}};
            base::check(bool(store::apply(*store_, std::move(commands))), "keys were not stored");
        }
    }
    ~forger() {
        store_.reset();
        std::filesystem::remove_all(path_);
    }
    forger(forger const&) = delete;
    forger& operator=(forger const&) = delete;

    store::environment& store() { return *store_; }
    std::vector<key_text> const& stored() const { return stored_; }
    std::size_t below(std::size_t end) { return random_() % end; }

    // Of one of the stored keys or of the others, by its number.
    key_text wrong_key(std::size_t right, bool of_stored, std::size_t number) {
        auto const& owner = (of_stored ? stored_ : others_)[number];
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
    std::vector<key_text> stored_ = std::vector<key_text>(keys_of_a_kind);
    std::vector<key_text> others_ = std::vector<key_text>(keys_of_a_kind);
    std::mt19937_64 random_{std::random_device()()};
};

// What is presented, and the stored key that a bad program would compare it with.
struct presented {
    comparison* row;
    comparison::owner owner;
    key_text key, compared;
};

presented make_one(forger& make, std::vector<comparison>& rows) {
    presented one;
    one.row = &rows[make.below(rows.size())];
    one.owner = static_cast<comparison::owner>(make.below(3));
    auto const number = make.below(keys_of_a_kind);
    one.key = make.wrong_key(one.row->right, one.owner == comparison::stored, number);
    one.compared = make.stored()[number];
    return one;
}

void measure(forger& make, std::vector<comparison>& rows, std::size_t each) {
    store::snapshot seen(make.store());
    seen.renew();
    cache known;
    known.follow(seen);
    for (auto const& key : make.stored())
        base::check(known.authenticate(view(key), nullptr, seen, now).who.has_value(),
                    "a stored key is known");
    std::vector<presented> batch(made_at_once);
    for (std::size_t left = each * rows.size() * 3; left >= made_at_once; left -= made_at_once) {
        for (auto& one : batch) one = make_one(make, rows);
        for (auto const& one : batch) {
            // All from one place, or it would be the place that is measured.
            alignas(64) static key_text key, compared;
            key = one.key;
            compared = one.compared;
            auto const begun = nanoseconds();
            auto const given = known.authenticate(view(key), nullptr, seen, now);
            asm volatile("" : : "r"(given.problem) : "memory");
            if (one.row->stops_early) {
                std::size_t same = 0;
                while (same < key_bytes && key[same] == compared[same]) ++same;
                asm volatile("" : : "r"(same));
            }
            one.row->took[one.owner].add(nanoseconds() - begun);
            base::check(given.problem == base::problem::key_invalid, "a wrong key was accepted");
        }
    }
}

int report(std::vector<comparison> const& rows) {
    int told = 0, noise_told = 0;
    bool finds = true;
    std::printf("%-26s %9s   %-26s   %s\n", "", "", "stored less never stored",
                "never stored, two lots");
    std::printf("%-26s %9s   %9s %7s %8s   %9s %7s %8s\n", "secret characters right", "mean ns",
                "ns", "± 1.96σ", "t", "ns", "± 1.96σ", "t");
    for (auto const& row : rows) {
        auto const limit = limit_of(row);
        moments of[3];
        std::transform(row.took, row.took + 3, of,
                       [limit](times const& took) { return moments_below(limit, took); });
        auto const found = between(of[comparison::stored], of[comparison::other]);
        auto const noise = between(of[comparison::other_again], of[comparison::other]);
        auto const name = std::to_string(row.right) + (row.stops_early ? ", stops early" : "");
        std::printf("%-26s %9.2f   %9.3f %7.3f %8.2f   %9.3f %7.3f %8.2f\n", name.c_str(),
                    of[comparison::other].mean, found.ns, 1.96 * found.error, found.t, noise.ns,
                    1.96 * noise.error, noise.t);
        bool const apart = std::abs(found.t) > told_apart;
        if (row.stops_early)
            finds &= apart;
        else
            told += apart;
        noise_told += std::abs(noise.t) > told_apart;
    }
    std::printf(
        "%d kinds of wrong keys can be told apart, %d times the noise alone can; "
        "comparisons that stop early %s\n",
        told, noise_told, finds ? "can, as they must" : "cannot: too few measurements");
    return told == 0 && noise_told == 0 && finds ? 0 : 1;
}

}  // namespace
}  // namespace latchkey::auth

int main(int count, char** words) {
    using namespace latchkey::auth;
    auto const each = count > 1 ? std::strtoull(words[1], nullptr, 10) : 1'000'000;
    if (each < 1000) return std::fprintf(stderr, "at least 1000 measurements\n"), 2;
    std::vector<comparison> rows;
    for (std::size_t const right : {0, 8, 16, 24, 32, 37}) rows.push_back({.right = right});
    for (std::size_t const right : {4, 8, 16, 32})
        rows.push_back({.right = right, .stops_early = true});
    forger make;
    measure(make, rows, each);
    return report(rows);
}
