// The requests of an HTTP/2 connection, each from its header block over its body to the step that
// announces its response or its commit, and to its response. They go side by side: what one waits
// for (a body, a commit, a window) holds up no other. No I/O; belongs to its session.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/http2_blocks.hpp"
#include "session/http2_control.hpp"
#include "session/http2_flood.hpp"
#include "session/http2_leftovers.hpp"
#include "session/http2_streams.hpp"
#include "session/http2_writer.hpp"

namespace latchkey::session {

// What else belongs to the connection.
struct http2_parts {
    http2_options const& announced;
    http2_streams& streams;
    http2_flood& flood;
    http2_leftovers& leftovers;
    http2_blocks& blocks;
    http2_writer& writer;
    http2_control& control;
};

class http2_requests {
  public:
    // All outlive it.
    http2_requests(context& shared, api::peer const& client, http2_parts const& parts)
        : context_(shared), client_(client), parts_(parts), configuration_(shared.configuration) {}

    // ---- frames

    // A header block begins a request, or ends one.
    reaction take_block(header_block const& block, server_state const& server);
    reaction take_data(h2::frame_head const& head, std::string_view payload,
                       server_state const& server, std::string& output);

    // ---- steps

    // What the results that came since the last step lead to.
    std::optional<step> settle(server_state const& server, std::string& output);
    // The first body that took too long.
    std::optional<step> refuse_late_body(base::mono_ns now);
    // Of the request that began last.
    options const& configuration() const { return *configuration_; }

    // As of `protocol_session` (step.hpp).
    written_part write(std::string& output, server_state const& server);
    std::optional<step> finish_write();
    stream_id current() const { return current_; }
    session::stream const& stream() const;
    void grant() { granted_ = current_; }
    void give_up(stream_id id) { denied_.push_back(id); }
    domain::command take_command();
    bool complete(stream_id id, domain::outcome const& outcome);
    void resume(stream_id id) { resumed_.push_back(id); }
    bool is_reading(stream_id id) const;

  private:
    reaction begin(header_block const& block, server_state const& server);
    step answer_head(http2_stream& stream, http::framing const& framing,
                     server_state const& server);
    reaction read_trailers(header_block const& block, server_state const& server);
    reaction take_content(http2_stream& stream, std::string_view content, std::uint32_t bytes,
                          server_state const& server);
    step await_body(http2_stream& stream, server_state const& server);
    reaction keep_content(http2_stream& stream, std::string_view content);
    step end_body(http2_stream& stream, server_state const& server);
    step refuse_body(http2_stream& stream, base::problem problem);
    std::optional<step> resume_request(http2_stream& stream, server_state const& server);
    step follow(api::next_step reply, http2_stream& stream);
    void settle_grant(std::string& output);

    context& context_;
    api::peer const& client_;
    http2_parts const parts_;
    std::shared_ptr<options const> configuration_;
    http2_stream* writing_ = nullptr;  // whose response is announced
    stream_id current_ = 0;
    stream_id granted_ = 0;           // since the last `settle`
    std::vector<stream_id> denied_;   // the same
    std::vector<stream_id> resumed_;  // streams whose wait is over
    base::mono_ns written_at_ = 0;    // the last response
};

}  // namespace latchkey::session
