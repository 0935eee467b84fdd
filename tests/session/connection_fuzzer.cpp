// A whole connection, bytes in and bytes out, over a store: however the input is cut, the output is
// the same, and no status is 500. The first two bytes seed the cuts; in the rest "{key}" stands for
// an API key with every scope.
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "conversation.hpp"
#include "tests/api/twins.hpp"

namespace {

using namespace latchkey::session;
using latchkey::api::prepare_fuzzer;
using latchkey::api::twins;
using latchkey::api::want;

std::string with_key(std::string_view text, std::string_view key) {
    constexpr std::string_view mark = "{key}";
    std::string result;
    for (;;) {
        auto const position = text.find(mark);
        result.append(text.substr(0, position));
        if (position == text.npos) return result;
        result.append(key);
        text.remove_prefix(position + mark.size());
    }
}

// Byte by byte, or in pieces of 1 to 256 bytes.
void receive_in_pieces(conversation& client, std::string_view bytes, unsigned seed) {
    std::minstd_rand random(seed + 1);
    while (!bytes.empty()) {
        auto const size = seed % 4 == 0 ? 1 : 1 + random() % (std::size_t{1} << random() % 9);
        client.receive(bytes.substr(0, size));
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

    if (whole.committed() || split.committed()) both.mark_changed();
    // A body that is announced to a gateway's check may never come (http1::may_skip_body): whether
    // the answer closes depends on whether a part of it came with the head.
    if (input.find("/auth") == input.npos) {
        want(whole.output() == split.output());
        want(whole.closed() == split.closed());
        want(whole.committed() == split.committed());
    }
    want(whole.output().empty() || whole.output().starts_with("HTTP/1.1 "));
    want(whole.output().find("HTTP/1.1 500 ") == whole.output().npos);
    return 0;
}
