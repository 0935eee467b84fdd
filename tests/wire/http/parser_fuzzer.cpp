// Any bytes, split in three ways that the first two bytes select, must give the same outcome, and
// the same requests and refusals as the reference parser (reference.hpp). Every view must point
// into the memory that was passed in (AddressSanitizer).
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

void require(bool holds) {
    if (!holds) __builtin_trap();
}

bool starts_with(std::vector<std::string> const& all, std::vector<std::string> const& first) {
    return all.size() >= first.size() && std::equal(first.begin(), first.end(), all.begin());
}

void compare(std::string_view bytes, http::size_limits const& limits, http::outcome const& actual) {
    auto const other = reference::read_requests(
        bytes, {limits.request_line_bytes_max, limits.header_bytes_max, limits.body_bytes_max});
    require(starts_with(other.messages, actual.messages));
    require(starts_with(actual.messages, other.messages));
    if (other.is_refused) require(actual.refused());
}

}  // namespace

// Failed expectations of the harness count as well.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
    testing::GTEST_FLAG(throw_on_failure) = true;
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size < 3) return 0;
    std::size_t const cut = data[0] + 256u * (data[1] & 3u);
    auto const limits = (data[1] & 4) != 0 ? http::small_limits : http::size_limits{};
    std::string_view const bytes(reinterpret_cast<char const*>(data) + 2, size - 2);
    std::vector<std::size_t> every(bytes.size() - 1);
    std::iota(every.begin(), every.end(), 1);

    auto const whole = http::run(bytes, {}, limits);
    compare(bytes, limits, whole);
    auto const text = http::format_outcome(whole, bytes.size());
    auto const same = [&](http::outcome const& split) {
        require(split.messages == whole.messages && split.detail == whole.detail);
        require(http::format_outcome(split, bytes.size()) == text);
    };
    same(http::run(bytes, every, limits));
    if (cut > 0 && cut < bytes.size()) same(http::run(bytes, {cut}, limits));

    // A section cache must not change the outcome.
    auto scripts = http::with_other_request_lines(bytes);
    scripts.push_back(std::string(bytes) + std::string(bytes));
    std::vector<std::size_t> const cuts(cut > 0 && cut < bytes.size() ? 1 : 0, cut);
    for (auto const& script : scripts) {
        auto const sections = std::make_unique<http::section_cache>();
        auto const uncached = http::run(script, {}, limits);
        auto const cached = http::run(script, cuts, limits, sections.get());
        require(cached.messages == uncached.messages && cached.detail == uncached.detail);
        require(http::format_outcome(cached, script.size()) ==
                http::format_outcome(uncached, script.size()));
    }
    return 0;
}
