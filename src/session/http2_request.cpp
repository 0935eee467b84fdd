// The way of a request through an HTTP/2 session: from its header block over its body to the step
// that announces its response or its commit.
#include <algorithm>

#include "api/frame/route.hpp"
#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/time_units.hpp"
#include "http2/request_head.hpp"
#include "session/http2.hpp"
#include "session/http2_stream.hpp"

namespace latchkey::session {
namespace {

using api::next_step;
using base::after;
using base::problem;
using h2::error_code;
using block_result = h2::hpack_decoder::result;
using verdict = h2::request_head::verdict;

}  // namespace

http2::next http2::begin_request(stream_id id, std::string_view block, bool ends_stream,
                                 bool depends_on_itself, server_state const& server,
                                 std::string& output) {
    configuration_ = context_.configuration;
    auto& request = context_.request;
    http::framing framing;
    h2::request_head head(configuration_->parsing, request, framing);
    auto const result = decoder_.decode(block, context_.header_text,
                                        [&](h2::header_field const& field) { head.add(field); });
    if (auto const end = judge_block(result, output)) return end;
    note_opened(id);
    // Beyond the last one that was named: the client asks elsewhere (§6.8).
    if (drain_ == drain_phase::last_named) return {};
    last_stream_ = id;
    if (depends_on_itself) return reset(id, error_code::protocol_error, output);
    auto const judged = head.finish(ends_stream, result == block_result::too_large);
    if (judged == verdict::malformed) return reset(id, error_code::protocol_error, output);
    if (streams_.size() >= announced_.streams_max)
        return reset(id, error_code::refused_stream, output);
    idle_since_ = now_;

    auto& stream = take_stream(id);
    auto& work = *stream.work;
    stream.input_ended = ends_stream;
    stream.head_only = request.method_text == "HEAD";
    if (framing.body == http::framing::body_kind::sized)
        stream.announced.length = framing.content_length;
    stream.interim_due = framing.expect_continue;
    stream.urgency = head.urgency().value_or(h2::priority{});
    context_.response.clear();
    bool const is_ignored =
        head.problem() == problem::body_too_large && api::ignores_body(request.path);
    if (judged == verdict::refused && !is_ignored) {
        work.entry.begin(stream.head_only ? "HEAD" : std::string_view(), {}, {}, server.now);
        work.entry.bytes_in = block.size();
        work.entry.refused_unparsed = true;
        api::refuse_unparsed(*context_.services, client_, head.problem(), head.detail(),
                             context_.response, work.entry.request_id);
        return follow(next_step::respond, stream);
    }
    work.entry.begin(request.method_text, request.path,
                     request.find(http::field_name::user_agent).value_or(std::string_view()),
                     server.now);
    work.entry.bytes_in = block.size();
    auto& exchange = work.exchange;
    bool const is_refused = server.overloaded && exchange.turn_away(*context_.services, request,
                                                                    client_, context_.response);
    auto const reply = is_refused ? next_step::respond
                                  : exchange.begin(*context_.services, request, framing, client_,
                                                   server.now, context_.response);
    if (reply == next_step::read_body) return await_body(stream, server);
    if (reply == next_step::respond) refuse_large_answer(work, context_.response, server);
    return follow(reply, stream);
}

http2::next http2::follow(next_step reply, open_stream& stream) {
    current_ = stream.id;
    if (reply != next_step::respond) {
        bool const commits = reply == next_step::commit;
        stream.work->entry.keep();
        if (!commits || stream.work->exchange.waits()) keep_request(*stream.work, context_.request);
        stream.state = commits ? stream_state::committing : stream_state::waiting;
        if (&stream == fresh_.get()) enter();
        count_held(stream);
        if (commits) return step{.kind = step_kind::commit};
        bool const awaits_turn = reply == next_step::await_turn;
        return step{.kind = awaits_turn ? step_kind::await_turn : step_kind::await_tokens};
    }
    stream.state = stream_state::responding;
    writing_ = &stream;
    return step{.kind = step_kind::write};
}

// The head is kept until the body has arrived; other streams go on meanwhile. Of a request that has
// waited for tokens, a part of the body may be there.
http2::next http2::await_body(open_stream& stream, server_state const& server) {
    stream.work->entry.keep();
    keep_request(*stream.work, context_.request);
    stream.deadline = after(now_, configuration_->body_seconds);
    if (stream.announced.length.value_or(0) > stream.work->exchange.body_bytes_max())
        return refuse_body(stream, problem::body_too_large);
    stream.state = stream_state::reading;
    if (&stream == fresh_.get()) enter();
    current_ = stream.id;
    count_held(stream);
    if (stream.body_problem != problem::none) return refuse_body(stream, stream.body_problem);
    if (stream.input_ended) return end_body(stream, server);
    return step{.kind = step_kind::grant_body};
}

// Content of a request that waits for tokens, which may still be refused.
http2::next http2::keep_content(open_stream& stream, std::string_view content) {
    auto& work = *stream.work;
    if (work.body.size() + content.size() > work.exchange.body_bytes_max())
        stream.body_problem = problem::body_too_large;
    if (stream.body_problem != problem::none) return {};
    keep_body(stream, content);
    current_ = stream.id;
    return step{.kind = step_kind::grant_body};
}

http2::next http2::end_body(open_stream& stream, server_state const& server) {
    auto& work = *stream.work;
    work.request_copy.restore(context_.request);
    context_.request.body = work.body;
    context_.response.clear();
    auto const reply =
        work.exchange.finish(*context_.services, context_.request, server.now, context_.response);
    return follow(reply, stream);
}

// Answered before its body was read to the end: the rest is dropped as it comes, and the stream is
// reset behind the response (RFC 9113 §8.1).
http2::next http2::refuse_body(open_stream& stream, problem problem) {
    context_.response.clear();
    stream.work->exchange.refuse_and_close(problem, context_.response);
    return follow(next_step::respond, stream);
}

session::stream const& http2::stream() const {
    auto const* const stream = find(current_);
    // A stream that waits for a commit or for tokens stays, also when its client resets it.
    base::check(stream != nullptr, "the stream of a step has left");
    return *stream->work;
}

void http2::grant() {
    granted_ = current_;
}

void http2::deny() {
    denied_.push_back(current_);
}

void http2::give_up(stream_id id) {
    denied_.push_back(id);
}

// A body that may go on gets its window back, for as much of it as was taken.
void http2::settle_grant(std::string& output) {
    auto* const stream = find(std::exchange(granted_, 0));
    if (stream == nullptr || stream->reset || stream->state != stream_state::reading) return;
    bool const first = std::exchange(stream->first_grant, false);
    if (first && std::exchange(stream->interim_due, false) && stream->announced.received == 0) {
        std::string block;
        encoder_.begin_block(block);
        encoder_.add_status(100, block);
        h2::put_frame_head({static_cast<std::uint32_t>(block.size()), h2::frame_type::headers,
                            h2::flag::end_headers, stream->id},
                           output);
        output.append(block);
    }
    auto const whole = std::int64_t{announced_.window_bytes};
    if (stream->receive_window >= whole / 2) return;
    h2::put_window_update(stream->id, static_cast<std::uint32_t>(whole - stream->receive_window),
                          output);
    stream->receive_window = whole;
}

bool http2::is_reading(stream_id id) const {
    auto const* const stream = find(id);
    return stream != nullptr && stream->state == stream_state::reading;
}

store::command http2::take_command() {
    auto& stream = *find(current_);
    auto command = stream.work->exchange.take_command();
    stream.command_bytes = command.bytes();
    count_held(stream);
    return command;
}

bool http2::complete(stream_id id, store::outcome const& outcome) {
    auto* const stream = find(id);
    // A commit keeps its stream until it is complete, also when its client resets it.
    base::check(stream != nullptr && stream->state == stream_state::committing,
                "a commit of a stream that does not wait for one");
    stream->command_bytes = 0;
    auto& exchange = stream->work->exchange;
    bool const goes_on = exchange.waits() && outcome.problem == problem::none;
    if (goes_on && !stream->reset) {
        resumed_.push_back(id);
        return false;
    }
    context_.response.clear();
    // Nobody is there for what a stream that was reset would begin now.
    exchange.answer(*context_.services,
                    goes_on ? store::outcome{.problem = problem::behind} : outcome,
                    context_.response);
    stream->state = stream_state::responding;
    current_ = id;
    writing_ = stream;
    return true;
}

// What the request waited for has come: it goes on where it stopped.
http2::next http2::resume_request(open_stream& stream, server_state const& server) {
    if (stream.reset && stream.state == stream_state::waiting) {
        leave(stream.id);
        return {};
    }
    restore_request(*stream.work, context_.request);
    context_.response.clear();
    auto const reply = stream.work->exchange.resume(*context_.services, context_.request,
                                                    server.now, context_.response);
    if (reply == next_step::respond) refuse_large_answer(*stream.work, context_.response, server);
    return reply == next_step::read_body ? await_body(stream, server) : follow(reply, stream);
}

}  // namespace latchkey::session
