// Any bytes, cut in three ways that the first two bytes choose between, must come out the same, and
// must be to the parser what they are to a second one (reference.hpp): the same requests, and a
// refusal where that refuses. Whatever the parser shows must be memory that it was given
// (AddressSanitizer).
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string_view>

#include "reference.hpp"
#include "wire.hpp"

namespace {

namespace http = latchkey::http;
namespace reference = latchkey::reference;

void want(bool holds) {
    if (!holds) __builtin_trap();
}

bool starts_with(std::vector<std::string> const& all, std::vector<std::string> const& first) {
    return all.size() >= first.size() && std::equal(first.begin(), first.end(), all.begin());
}

void compare(std::string_view bytes, http::settings const& limits, http::outcome const& seen) {
    auto const other = reference::read_requests(
        bytes, {limits.request_line_bytes_max, limits.header_bytes_max, limits.body_bytes_max});
    want(starts_with(other.messages, seen.messages));
    want(starts_with(seen.messages, other.messages));
    if (other.refused) want(seen.refused());
}

}  // namespace

// What the harness itself expects of every step counts as well.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
    testing::GTEST_FLAG(throw_on_failure) = true;
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size < 3) return 0;
    std::size_t const cut = data[0] + 256u * (data[1] & 3u);
    auto const limits = (data[1] & 4) != 0 ? http::small_limits : http::settings{};
    std::string_view const bytes(reinterpret_cast<char const*>(data) + 2, size - 2);
    std::vector<std::size_t> every(bytes.size() - 1);
    std::iota(every.begin(), every.end(), 1);

    auto const whole = http::run(bytes, {}, limits);
    compare(bytes, limits, whole);
    auto const told = http::tell(whole, bytes.size());
    auto const same = [&](http::outcome const& split) {
        want(split.messages == whole.messages && split.detail == whole.detail);
        want(http::tell(split, bytes.size()) == told);
    };
    same(http::run(bytes, every, limits));
    if (cut > 0 && cut < bytes.size()) same(http::run(bytes, {cut}, limits));

    // That fields were read before changes nothing.
    auto scripts = http::behind_other_lines(bytes);
    scripts.push_back(std::string(bytes) + std::string(bytes));
    std::vector<std::size_t> const cuts(cut > 0 && cut < bytes.size() ? 1 : 0, cut);
    for (auto const& script : scripts) {
        auto const sections = std::make_unique<http::section_cache>();
        auto const without = http::run(script, {}, limits);
        auto const with = http::run(script, cuts, limits, sections.get());
        want(with.messages == without.messages && with.detail == without.detail);
        want(http::tell(with, script.size()) == http::tell(without, script.size()));
    }
    return 0;
}
