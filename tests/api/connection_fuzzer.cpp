// A whole connection, bytes in and bytes out, over a store: however the bytes are cut, the answers
// are the same bytes, and none of them is a 500. The first two bytes seed the cuts; in the rest
// "{key}" stands for an API key that may do everything.
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "conversation.hpp"
#include "twins.hpp"

namespace {

using namespace latchkey::api;

std::string with_key(std::string_view text, std::string_view key) {
    constexpr std::string_view mark = "{key}";
    std::string made;
    for (;;) {
        auto const at = text.find(mark);
        made.append(text.substr(0, at));
        if (at == text.npos) return made;
        made.append(key);
        text.remove_prefix(at + mark.size());
    }
}

// Byte by byte, or in pieces of very different sizes.
void receive_in_pieces(conversation& with, std::string_view bytes, unsigned seed) {
    std::minstd_rand random(seed + 1);
    while (!bytes.empty()) {
        auto const size = seed % 4 == 0 ? 1 : 1 + random() % (std::size_t{1} << random() % 9);
        with.receive(bytes.substr(0, size));
        bytes.remove_prefix(std::min(size, bytes.size()));
    }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    prepare_fuzzer();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    static twins both;
    if (size < 2) return 0;
    both.begin();
    std::string_view const input(reinterpret_cast<char const*>(data) + 2, size - 2);
    auto const bytes = with_key(input, both.first().key);

    conversation whole(both.first());
    whole.receive(bytes);
    conversation split(both.second());
    receive_in_pieces(split, bytes, data[0] + 256u * data[1]);

    if (whole.committed() || split.committed()) both.written();
    want(whole.answers() == split.answers());
    want(whole.closed() == split.closed());
    want(whole.committed() == split.committed());
    want(whole.answers().empty() || whole.answers().starts_with("HTTP/1.1 "));
    want(whole.answers().find("HTTP/1.1 500 ") == whole.answers().npos);
    return 0;
}
