// Frames of a client, right and wrong: the service and libnghttp2's server find the same faults of
// the connection and of its streams, what the service sends is valid itself, and it does not depend
// on how the input was cut. The input is a list of actions, each of which makes some frames.
// Not among those of tools/fuzz: it still finds places where libnghttp2 differs from the RFCs, and
// each has to be judged.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "http2_conversation.hpp"
#include "http2_reader.hpp"
#include "http2_script.hpp"
#include "nghttp2_server.hpp"
#include "tests/api/twins.hpp"

namespace {

using namespace latchkey::session;
using latchkey::api::prepare_fuzzer;
using latchkey::api::twins;
using latchkey::api::want;
using script::code;
using script::h2_type;
namespace flag = script::flag;

class frame_maker {
  public:
    frame_maker(std::string_view input, std::string_view key) : input_(input), client_(key) {}

    bool ended() const { return input_.empty(); }
    std::string next();
    std::uint32_t streams() const { return stream_; }

  private:
    unsigned byte() {
        if (input_.empty()) return 0;
        auto const value = static_cast<unsigned char>(input_.front());
        input_.remove_prefix(1);
        return value;
    }
    std::uint32_t word() { return byte() << 24 | byte() << 16 | byte() << 8 | byte(); }
    std::string_view bytes() {
        auto const result = input_.substr(0, byte() % 100);
        input_.remove_prefix(result.size());
        return result;
    }
    std::uint32_t new_stream() {
        stream_ += 2;
        return stream_ - 2;
    }
    // One that is or was open, or the next one, which then counts as opened. libnghttp2 takes HEADERS
    // of an idle stream below the highest one for those of a closed one, so there is none.
    std::uint32_t some_stream() {
        auto const stream = any_stream();
        if (stream == stream_) stream_ += 2;
        return stream;
    }
    std::uint32_t any_stream() { return byte() % (stream_ + 1); }
    script::fields odd_fields();

    std::string_view input_;
    script::client client_;
    std::uint32_t stream_ = 1;
};

script::fields frame_maker::odd_fields() {
    constexpr char const* names[] = {":path",   ":method",    ":status",        "connection",
                                     "te",      "Upper",      "x-a b",          "",
                                     "host",    "cookie",     "content-length", "transfer-encoding",
                                     "expect",  "x-trailer",  ":scheme",        ":authority",
                                     "upgrade", "keep-alive", "priority",       ":protocol"};
    constexpr char const* values[] = {
        "/api/v1/users/1", "GET",   "trailers", "a\nb", "", " a", "latchkey.test", "0", "2", "-1",
        "100-continue",    "https", "u=0"};
    auto const name = names[byte() % std::size(names)];
    return {{name, values[byte() % std::size(values)]}};
}

std::string frame_maker::next() {
    switch (byte() % 18) {
        case 0:
            return client_.get(new_stream());
        case 1:
            return client_.post(new_stream());
        case 2: {
            auto const stream = some_stream();
            std::string const content(byte() * 64, ' ');
            auto const options = byte();
            auto const end = options & 1 ? flag::end_stream : std::uint8_t{0};
            if (options & 2)
                return script::frame(h2_type::data, static_cast<std::uint8_t>(end | flag::padded),
                                     stream, script::padded(options >> 2, content));
            return script::data(stream, content, end);
        }
        case 3:
            return client_.whole_post(new_stream());
        case 4: {
            // Where libnghttp2 differs from the RFCs other actions make the frame: it ignores
            // PRIORITY_UPDATE with a long value, refuses numbers in GOAWAY, and ends the connection
            // for a PRIORITY of another size or a window that grows by 0, faults of the stream, and
            // for an ACK of no SETTINGS and for values of settings that are not RFC 9113's.
            auto const choice = static_cast<h2_type>(byte() % 20);
            bool const differs = choice == h2_type::priority_update || choice == h2_type::goaway ||
                                 choice == h2_type::priority || choice == h2_type::window_update ||
                                 choice == h2_type::settings;
            auto const type = differs ? 0x42u : static_cast<unsigned>(choice);
            // Nor does it look at the padding of DATA on a closed stream.
            auto mask = ~0u;
            if (choice == h2_type::data) mask = ~unsigned{flag::padded};
            auto const flags = static_cast<std::uint8_t>(byte() & mask);
            auto const stream = some_stream();
            return script::frame(type, flags, stream, bytes());
        }
        case 5: {
            auto const id = byte() % 8;  // not those of RFC 8441 and 9218, judged in another way
            return script::settings_of({{id, word()}});
        }
        case 6: {
            auto const stream = some_stream();
            // Below what depends on how much each of the two has sent.
            return script::window_update(stream, (word() >> 8) | 1u);
        }
        case 7:
            return script::reset(some_stream(), static_cast<code>(byte()));
        case 8:
            return script::ping("opaque-8", static_cast<std::uint8_t>(byte() & 1));
        case 9: {
            // libnghttp2 ignores one of stream 0, and one that depends on itself.
            auto const stream = any_stream() | 1;
            return script::priority(stream, stream + 2);
        }
        case 10: {
            auto const stream = new_stream();
            return script::headers(stream, bytes(), script::last_block);
        }
        case 11: {
            auto const more = odd_fields();
            return client_.get(new_stream(), more);
        }
        case 12: {
            auto const stream = new_stream();
            auto const block = script::block(client_.get_fields());
            auto const cut = byte() % block.size();
            return script::headers(stream, block.substr(0, cut), flag::end_stream) +
                   script::continuation(stream, block.substr(cut),
                                        byte() & 1 ? flag::end_headers : std::uint8_t{0});
        }
        case 13: {
            auto const stream = some_stream();
            return script::headers(stream, script::block(odd_fields()),
                                   byte() & 1 ? script::last_block : script::whole_block);
        }
        case 14:
            input_ = {};  // libnghttp2 looks at nothing behind it
            return script::goaway(0);
        case 15: {
            // libnghttp2 takes numbers that no client's stream has, which RFC 9218 §7.1 forbids.
            auto const stream = any_stream() | 1;
            return script::priority_update(stream, byte() & 1 ? "u=1, i" : bytes());
        }
        case 16: {
            auto more = odd_fields();
            return client_.post(new_stream(), more);
        }
        default: {
            auto const stream = some_stream();
            return script::data(stream, script::client::content, flag::end_stream);
        }
    }
}

// libnghttp2 has forgotten what it has closed; the service remembers it for a while (RFC 9113 §5.1).
bool may_be_stricter(std::uint32_t failure) {
    return failure == static_cast<std::uint32_t>(code::stream_closed) ||
           failure == static_cast<std::uint32_t>(code::enhance_your_calm);
}

bool leaves_block_open(std::string_view frames) {
    latchkey::session::h2::frame_head head{};
    while (frames.size() >= latchkey::session::h2::frame_head_bytes) {
        head = latchkey::session::h2::read_frame_head(frames.data());
        frames.remove_prefix(latchkey::session::h2::frame_head_bytes + head.length);
    }
    bool const is_block = head.type == h2_type::headers || head.type == h2_type::continuation;
    return is_block && !head.has(flag::end_headers);
}

bool begins_below(std::string_view frames, std::uint32_t next_stream) {
    auto const head = latchkey::session::h2::read_frame_head(frames.data());
    return head.type == h2_type::headers && head.stream + 2 < next_stream;
}

void report(std::string_view fault, std::string_view script) {
    std::fprintf(stderr, "%.*s behind frame:", static_cast<int>(fault.size()), fault.data());
    for (unsigned char const byte : script.substr(0, 200)) std::fprintf(stderr, " %02x", byte);
    std::fprintf(stderr, "\n");
}

// What differs between the service and the reference; empty: nothing that may not.
std::string difference(http2_reader const& reader, nghttp2_server const& reference) {
    auto const ours = reader.failure(), theirs = reference.failure();
    if (ours && !theirs && !may_be_stricter(*ours))
        return "only the service fails, with " + std::to_string(*ours);
    if (theirs && !ours) return "only the reference fails, with " + std::to_string(*theirs);
    if (ours) return {};
    for (auto const& [id, request] : reference.requests()) {
        auto const stream = static_cast<std::uint32_t>(id);
        auto const status = reader.status_of(stream);
        auto const reset = reader.reset_of(stream);
        if (request.reset && status == 0 && !reset)
            return "only the reference resets " + std::to_string(id) + " with " +
                   std::to_string(*request.reset);
        // Responses with content may wait for a window and keep their places.
        bool const is_refusal = reset == static_cast<std::uint32_t>(code::refused_stream);
        if (request.complete && !request.reset && status < 200 && !is_refusal)
            return "only the reference takes the request of " + std::to_string(id);
    }
    return {};
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
    std::minstd_rand random(data[0] + 1u);
    frame_maker maker({reinterpret_cast<char const*>(data) + 1, size - 1}, both.first().key);
    http2_options const settings;
    http2_conversation whole(both.first(), settings);
    http2_conversation split(both.second(), settings);
    nghttp2_server reference(settings);
    http2_reader reader, split_reader;
    auto const exchange = [&](std::string_view frames) {
        reader.expect_acknowledgements(frames);
        split_reader.expect_acknowledgements(frames);
        whole.receive(frames);
        reader.read(whole.take_output());
        for (auto rest = frames; !rest.empty();) {
            auto const part = rest.substr(0, 1 + random() % (std::size_t{1} << random() % 9));
            split.receive(part);
            rest.remove_prefix(part.size());
        }
        split_reader.read(split.take_output());
        reference.receive(frames);
    };
    exchange(std::string(latchkey::session::h2::preface) + script::settings_of() +
             script::settings_ack());
    // With more streams than are allowed libnghttp2 ends the connection, the service the stream: RFC
    // 9113 §5.1.2 leaves that open.
    constexpr std::uint32_t stream_max = 2 * 100;
    while (!maker.ended() && !whole.closed() && maker.streams() < stream_max) {
        auto const frames = maker.next();
        if (std::getenv("LATCHKEY_FUZZ_TRACE") != nullptr) report("sends", frames);
        exchange(frames);
        want(whole.closed() == split.closed());
        want(whole.statuses() == split.statuses());
        want(reader.failure() == split_reader.failure());
        // libnghttp2 decodes a block before it is complete.
        if (leaves_block_open(frames)) {
            if (reference.failure()) break;
            continue;
        }
        // RFC 9113 §5.1.1: no stream is opened below another one; libnghttp2 ignores it.
        if (reader.failure() && begins_below(frames, maker.streams())) break;
        if (auto const fault = difference(reader, reference); !fault.empty()) {
            report(fault, frames);
            __builtin_trap();
        }
    }
    if (whole.committed() || split.committed()) both.mark_changed();
    return 0;
}
