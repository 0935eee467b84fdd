// Does the time that a wrong key takes tell how much of it is right? Keys that share 0, 8, 16, …
// of their secret characters, from the first on, with a real one are presented in random order
// together with keys that share as many with one that does not exist, each with the checksum that
// belongs to it, and the times of the two are compared by Welch's t-test (as in Reparaz, Balasch,
// Verbauwhede, "dude, is my code constant time?", 2017). A |t| below 4.5 is no difference that
// could be told. Keys that begin alike take a nanosecond less than others, whatever they begin
// with: the same lines of the checksum's tables. So each class is held against its like.
//
//     key-timing [MEASUREMENTS OF EACH CLASS, default 200000]
//
// Two classes are there for comparison: keys with a wrong checksum, which are refused without a
// look-up (the checksum is no secret, so they may differ), and a comparison that stops at the first
// difference, which the test must find.
#include <stdlib.h>
#include <time.h>

#include <algorithm>
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
constexpr std::size_t keys_of_class = 4096;
constexpr double told_apart = 4.5;
constexpr base::instant now{.mono = 1'000'000'000'000, .wall = 1'800'000'000'000};

std::int64_t nanoseconds() {
    timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1'000'000'000 + at.tv_nsec;
}

struct key_class {
    std::string name;
    std::vector<std::string> keys;
    std::vector<double> took;
    bool naive = false;
};

std::string with_checksum(std::string text) {
    char checksum[key_bytes - checked];
    base::put_base62(base::crc32(text), checksum, sizeof checksum);
    return text.append(checksum, sizeof checksum);
}

// Keys of which that many secret characters are those of `real`, and the next is not. The prefix is
// the same for all.
key_class sharing(std::string const& real, std::size_t secret) {
    key_class made{.name = std::to_string(secret) + " characters right"};
    auto const right = key_prefix_bytes + secret;
    while (made.keys.size() < keys_of_class) {
        std::string text(fresh_key("lkey").text().substr(0, checked));
        text.replace(0, right, real, 0, right);
        if (text[right] == real[right]) continue;
        made.keys.push_back(with_checksum(text));
    }
    return made;
}

key_class with_wrong_checksum() {
    key_class made{.name = "wrong checksum"};
    while (made.keys.size() < keys_of_class) {
        auto& key = made.keys.emplace_back(fresh_key("lkey").text());
        key.back() = key.back() == 'a' ? 'b' : 'a';
    }
    return made;
}

// The slowest twentieth is what the machine did beside it.
void crop(std::vector<double>& took) {
    std::sort(took.begin(), took.end());
    took.resize(took.size() * 95 / 100);
}

struct moments {
    double mean = 0, variance = 0, count = 0;
};
moments moments_of(std::vector<double> const& took) {
    moments of{.count = static_cast<double>(took.size())};
    for (double const each : took) of.mean += each / of.count;
    for (double const each : took)
        of.variance += (each - of.mean) * (each - of.mean) / (of.count - 1);
    return of;
}

double welch_t(moments const& a, moments const& b) {
    return (a.mean - b.mean) / std::sqrt(a.variance / a.count + b.variance / b.count);
}

struct scratch_store {
    std::string path = (std::filesystem::temp_directory_path() / "key-timing-XXXXXX").string();
    std::unique_ptr<store::environment> store;
    std::string real;

    scratch_store() {
        base::check(mkdtemp(path.data()) != nullptr, "no temporary directory");
        store =
            store::environment::open({.directory = path, .map_bytes = 1ull << 30, .sync = false})
                .value();
        std::vector<store::command> commands(64);
        for (auto& each : commands) {
            real = fresh_key("lkey").text();
            each.what = store::create_key{model::key{.digest = digest_of(real), .name = "a key"}};
        }
        base::check(bool(store::apply(*store, std::move(commands))), "keys were not stored");
    }
    ~scratch_store() {
        store.reset();
        std::filesystem::remove_all(path);
    }
};

void measure(std::vector<key_class>& classes, scratch_store& in, std::size_t each) {
    store::snapshot seen(*in.store);
    seen.renew();
    cache known;
    known.follow(seen);
    base::check(known.authenticate(in.real, nullptr, seen, now).who.has_value(),
                "the key is known");
    std::mt19937_64 random(1);
    for (std::size_t i = 0; i < each * classes.size(); ++i) {
        auto& of = classes[random() % classes.size()];
        // All from one place, or it would be the place that is measured.
        auto const& chosen = of.keys[random() % keys_of_class];
        alignas(64) static char place[key_bytes];
        std::string_view const key(place, chosen.copy(place, key_bytes));
        auto const begun = nanoseconds();
        if (of.naive) {
            std::size_t same = 0;
            while (same < key.size() && key[same] == in.real[same]) ++same;
            asm volatile("" : : "r"(same));
        } else {
            auto const given = known.authenticate(key, nullptr, seen, now);
            asm volatile("" : : "r"(given.problem));
        }
        of.took.push_back(static_cast<double>(nanoseconds() - begun));
    }
}

// Each odd class is held against the one before it.
int report(std::vector<key_class>& classes, std::size_t secrets) {
    int wrong = 0;
    bool finds = false;
    std::printf("%-40s %10s %8s\n", "class", "mean ns", "t");
    moments before;
    for (std::size_t i = 0; i < classes.size(); ++i) {
        crop(classes[i].took);
        auto const of = moments_of(classes[i].took);
        double const t = i % 2 == 0 ? 0 : welch_t(of, before);
        std::printf("%-40s %10.2f %8.2f\n", classes[i].name.c_str(), of.mean, t);
        bool const apart = std::abs(t) > told_apart;
        if (i < secrets && apart) ++wrong;
        if (classes[i].naive && apart) finds = true;
        before = of;
    }
    std::printf("%d classes of wrong keys can be told apart; the comparison that stops early %s\n",
                wrong, finds ? "can, as it must" : "cannot: too few measurements");
    return wrong == 0 && finds ? 0 : 1;
}

}  // namespace
}  // namespace latchkey::auth

int main(int count, char** words) {
    using namespace latchkey::auth;
    auto const each = count > 1 ? std::strtoull(words[1], nullptr, 10) : 200'000;
    if (each < 1000) return std::fprintf(stderr, "at least 1000 measurements\n"), 2;
    scratch_store in;
    std::string const decoy(fresh_key("lkey").text());
    std::vector<key_class> classes;
    for (std::size_t const right : {0, 8, 16, 24, 32, 35}) {
        classes.push_back(sharing(decoy, right));
        classes.back().name += ", of no key";
        classes.push_back(sharing(in.real, right));
    }
    auto const secrets = classes.size();
    classes.push_back(sharing(in.real, 0));
    classes.push_back(with_wrong_checksum());
    for (std::size_t const right : {0, 32}) {
        classes.push_back(sharing(in.real, right));
        classes.back().naive = true;
        classes.back().name = "stops early, " + classes.back().name;
    }
    measure(classes, in, each);
    return report(classes, secrets);
}
