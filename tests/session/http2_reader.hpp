// A client's reading of what the server sends over HTTP/2: what happened, as a person would tell
// it, and whether the server itself holds to RFC 9113: frames of their sizes, on streams that are
// open, header blocks that libnghttp2 decodes, responses as long as they say, numbers of GOAWAY
// that never grow. A violation is a failure of the test that reads.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/wire/http2/nghttp2_hpack.hpp"
#include "wire/http2/frame.hpp"

namespace latchkey::session {

namespace h2 = ::latchkey::http2;

class http2_reader {
  public:
    // The client has sent these frames: the server is to keep to their SETTINGS from its ACK on.
    void expect_acknowledgements(std::string_view frames);
    // Reads whole frames; what it told before is forgotten.
    void read(std::string_view output);

    // "settings", "ack", "pong …", "drain", "1: 200", "1: RST_STREAM CANCEL", "GOAWAY NO_ERROR";
    // a response whose end is missing is "1: 200 unfinished".
    std::string events() const;
    // How much content each stream got, in all that was read: "1: 4".
    std::string contents() const;
    std::optional<std::uint32_t> last_stream() const { return last_stream_; }  // of GOAWAY
    std::optional<std::uint32_t> failure() const { return failure_; }          // the same
    // 0: no response yet.
    unsigned status_of(std::uint32_t stream) const;
    // The code of RST_STREAM.
    std::optional<std::uint32_t> reset_of(std::uint32_t stream) const;

  private:
    struct stream {
        unsigned status = 0;
        std::string length;
        std::size_t content_bytes = 0;
        bool has_end = false;
        bool reset = false;
        std::uint32_t reset_code = 0;
    };
    struct event {
        std::string text;
        std::uint32_t responding_stream = 0;  // 0: no response
    };

    void read_frame(h2::frame_head const& head, std::string_view payload);
    void read_block(h2::frame_head const& head, std::string_view payload);
    void read_data(h2::frame_head const& head, std::string_view payload);
    void read_settings(h2::frame_head const& head, std::string_view payload);
    void read_goaway(std::string_view payload);
    stream& open_stream(h2::frame_head const& head, char const* frame_name);
    void end(stream& target, std::uint32_t id);
    void tell(std::string text, std::uint32_t responding_stream = 0) {
        events_.push_back({std::move(text), responding_stream});
    }

    std::optional<std::uint32_t> failure_;
    h2::reference_decoder decoder_;
    std::deque<std::optional<std::uint32_t>> table_sizes_;  // of SETTINGS that wait for their ACK
    std::map<std::uint32_t, stream> streams_;
    std::vector<event> events_;
    std::optional<std::uint32_t> last_stream_;
    bool is_first_frame_ = true;
};

}  // namespace latchkey::session
