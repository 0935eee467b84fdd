// Any bytes, cut in three ways that the first two bytes choose between, must come out the same; and
// whatever the parser shows of them must be memory that it was given (AddressSanitizer).
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>

#include "wire.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    namespace http = latchkey::http;
    if (size < 3) return 0;
    std::size_t const cut = data[0] + 256u * (data[1] & 3u);
    auto const limits = (data[1] & 4) != 0 ? http::small_limits : http::settings{};
    std::string_view const bytes(reinterpret_cast<char const*>(data) + 2, size - 2);
    std::vector<std::size_t> every(bytes.size() - 1);
    std::iota(every.begin(), every.end(), 1);

    auto const whole = http::run(bytes, {}, limits);
    auto const told = http::tell(whole, bytes.size());
    auto const single = http::run(bytes, every, limits);
    if (http::tell(single, bytes.size()) != told || single.detail != whole.detail) __builtin_trap();
    if (cut > 0 && cut < bytes.size()) {
        auto const split = http::run(bytes, {cut}, limits);
        if (http::tell(split, bytes.size()) != told || split.detail != whole.detail)
            __builtin_trap();
    }
    return 0;
}
