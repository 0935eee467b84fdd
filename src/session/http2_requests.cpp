// A stream's state says what its frames may do: reading (a body), waiting (for tokens), committing,
// responding. The head is parsed into memory that requests share and copied beside the stream only
// when it waits. Grants, denials and wake-ups come between two calls; they are noted by id and
// settled at the next, since the stream may have left by then.
#include "session/http2_requests.hpp"

#include <algorithm>
#include <utility>

#include "api/frame/route.hpp"
#include "base/check.hpp"
#include "base/limits.hpp"
#include "wire/http2/request_head.hpp"

namespace latchkey::session {
namespace {

using api::next_step;
using base::problem;
using h2::error_code;
using verdict = h2::request_head::verdict;

}  // namespace

// ---- header blocks

reaction http2_requests::take_block(header_block const& block, server_state const& server) {
    auto& streams = parts_.streams;
    if (streams.is_idle(block.stream)) return begin(block, server);
    auto const* const stream = streams.find(block.stream);
    bool const goes_on = stream != nullptr && !stream->reset && !stream->input_ended;
    if (goes_on || parts_.leftovers.find(block.stream) != nullptr)
        return read_trailers(block, server);
    // The table has to follow all the same.
    auto const ignore = [](h2::header_field const&) {};
    if (auto const wrong = parts_.blocks.judge(parts_.blocks.decode(block.bytes, ignore)))
        return *wrong;
    if (stream != nullptr && !stream->reset)
        return stream_fault(block.stream, error_code::stream_closed);
    if (stream != nullptr || streams.is_ignored(block.stream)) return {};
    if (streams.was_left_out(block.stream))
        return fault{error_code::protocol_error, "HEADERS below an earlier stream."};
    return fault{error_code::stream_closed, "HEADERS on a closed stream."};
}

reaction http2_requests::begin(header_block const& block, server_state const& server) {
    configuration_ = context_.configuration;
    auto& request = context_.request;
    auto& streams = parts_.streams;
    auto const id = block.stream;
    http::framing framing;
    h2::request_head head(configuration_->parsing, request, framing);
    auto const result =
        parts_.blocks.decode(block.bytes, [&](h2::header_field const& field) { head.add(field); });
    if (auto const wrong = parts_.blocks.judge(result)) return *wrong;
    streams.note_opened(id);
    // Beyond the last one that was named: the client asks elsewhere (§6.8).
    if (parts_.control.has_named_last()) return {};
    streams.note_served(id);
    if (block.depends_on_itself) return stream_fault(id, error_code::protocol_error);
    bool const is_too_large = result == http2_blocks::decode_result::too_large;
    auto const judged = head.finish(block.ends_stream, is_too_large);
    if (judged == verdict::malformed) return stream_fault(id, error_code::protocol_error);
    if (streams.size() >= parts_.announced.streams_max)
        return stream_fault(id, error_code::refused_stream);
    streams.note_activity(server.now.mono);

    auto& stream = streams.take(id, parts_.control.client_window(), parts_.announced.window_bytes,
                                context_.streams.take());
    auto& work = *stream.work;
    work.entry.protocol = protocol::http2;
    stream.input_ended = block.ends_stream;
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
        work.entry.bytes_in = block.bytes.size();
        work.entry.refused_unparsed = true;
        api::refuse_unparsed(*context_.services, client_, head.problem(), head.detail(),
                             context_.response, work.entry.request_id);
        return follow(next_step::respond, stream);
    }
    work.entry.begin(request.method_text, request.path,
                     request.find(http::field_name::user_agent).value_or(std::string_view()),
                     server.now);
    work.entry.bytes_in = block.bytes.size();
    return answer_head(stream, framing, server);
}

step http2_requests::answer_head(http2_stream& stream, http::framing const& framing,
                                 server_state const& server) {
    auto& exchange = stream.work->exchange;
    auto const& request = context_.request;
    bool const is_refused = server.overloaded && exchange.turn_away(*context_.services, request,
                                                                    client_, context_.response);
    auto const reply = is_refused ? next_step::respond
                                  : exchange.begin(*context_.services, request, framing, client_,
                                                   server.now, context_.response);
    if (reply == next_step::read_body) return await_body(stream, server);
    if (reply == next_step::respond) refuse_large_answer(*stream.work, context_.response, server);
    return follow(reply, stream);
}

// §8.1: trailers end the stream and have no pseudo-headers. They are dropped. A request that was
// answered early has them too, and may be malformed by them.
reaction http2_requests::read_trailers(header_block const& block, server_state const& server) {
    bool malformed = !block.ends_stream;
    auto const check = [&](h2::header_field const& field) {
        malformed = malformed || !field.valid || field.name.front() == ':' ||
                    h2::is_connection_specific(field);
    };
    auto const result = parts_.blocks.decode(block.bytes, check);
    if (auto const wrong = parts_.blocks.judge(result)) return *wrong;
    auto* const stream = parts_.streams.find(block.stream);
    auto const& announced =
        stream != nullptr ? stream->announced : *parts_.leftovers.find(block.stream);
    if (malformed || announced.is_wrong(true))
        return stream_fault(block.stream, error_code::protocol_error);
    parts_.leftovers.forget(block.stream);
    if (stream == nullptr) return {};
    stream->input_ended = true;
    if (stream->state != stream_state::reading) return {};
    return end_body(*stream, server);
}

step http2_requests::follow(next_step reply, http2_stream& stream) {
    current_ = stream.id;
    if (reply == next_step::respond) {
        stream.state = stream_state::responding;
        writing_ = &stream;
        return {.kind = step_kind::write};
    }
    bool const commits = reply == next_step::commit;
    stream.work->entry.keep();
    if (!commits || stream.work->exchange.waits()) keep_request(*stream.work, context_.request);
    stream.state = commits ? stream_state::committing : stream_state::waiting;
    parts_.streams.enter(stream, configuration_);
    parts_.streams.count_held(stream);
    if (commits) return {.kind = step_kind::commit};
    bool const awaits_turn = reply == next_step::await_turn;
    return {.kind = awaits_turn ? step_kind::await_turn : step_kind::await_tokens};
}

// ---- bodies

// The head is kept until the body has arrived; other streams go on meanwhile. Of a request that has
// waited for tokens, a part of the body may be there.
step http2_requests::await_body(http2_stream& stream, server_state const& server) {
    stream.work->entry.keep();
    keep_request(*stream.work, context_.request);
    stream.deadline = base::after(server.now.mono, configuration_->body_seconds);
    if (stream.announced.length.value_or(0) > stream.work->exchange.body_bytes_max())
        return refuse_body(stream, problem::body_too_large);
    stream.state = stream_state::reading;
    parts_.streams.enter(stream, configuration_);
    current_ = stream.id;
    parts_.streams.count_held(stream);
    if (stream.body_problem != problem::none) return refuse_body(stream, stream.body_problem);
    if (stream.input_ended) return end_body(stream, server);
    return {.kind = step_kind::grant_body};
}

reaction http2_requests::take_data(h2::frame_head const& head, std::string_view payload,
                                   server_state const& server, std::string& output) {
    auto const inner = h2::content_of(head, payload);
    if (inner.problem != error_code::no_error)
        return fault{inner.problem, "DATA with wrong padding."};
    auto& streams = parts_.streams;
    auto const now = server.now.mono;
    constexpr fault too_many_empty_frames{error_code::enhance_your_calm, "Too many empty frames."};
    auto* const stream = streams.find(head.stream);
    if (stream == nullptr) {
        if (streams.is_idle(head.stream))
            return fault{error_code::protocol_error, "DATA on an idle stream."};
        auto& leftovers = parts_.leftovers;
        if (leftovers.find(head.stream) == nullptr && !streams.is_ignored(head.stream))
            return fault{error_code::stream_closed, "DATA on a closed stream."};
        if (head.length == 0 && !parts_.flood.spend(now)) return too_many_empty_frames;
        return leftovers.drop_data(head, inner.bytes.size(), now, output);
    }
    if (stream->reset) return {};
    if (stream->input_ended) return stream_fault(head.stream, error_code::stream_closed);
    stream->receive_window -= head.length;
    if (stream->receive_window < 0)
        return stream_fault(head.stream, error_code::flow_control_error);
    bool const ends = head.has(h2::flag::end_stream);
    if (inner.bytes.empty() && !ends && !parts_.flood.spend(now)) return too_many_empty_frames;
    stream->announced.received += inner.bytes.size();
    stream->input_ended = ends;
    if (stream->announced.is_wrong(ends))
        return stream_fault(head.stream, error_code::protocol_error);
    return take_content(*stream, inner.bytes, head.length, server);
}

reaction http2_requests::take_content(http2_stream& stream, std::string_view content,
                                      std::uint32_t bytes, server_state const& server) {
    bool const waits = stream.state == stream_state::waiting;
    if (stream.state != stream_state::reading && !waits) return {};
    auto& work = *stream.work;
    work.entry.bytes_in += bytes;
    if (waits) return keep_content(stream, content);
    if (work.body.size() + content.size() > work.exchange.body_bytes_max())
        return refuse_body(stream, problem::body_too_large);
    parts_.streams.keep_body(stream, content);
    if (stream.input_ended) return end_body(stream, server);
    current_ = stream.id;
    return step{.kind = step_kind::grant_body};
}

// Content of a request that waits for tokens, which may still be refused.
reaction http2_requests::keep_content(http2_stream& stream, std::string_view content) {
    auto& work = *stream.work;
    if (work.body.size() + content.size() > work.exchange.body_bytes_max())
        stream.body_problem = problem::body_too_large;
    if (stream.body_problem != problem::none) return {};
    parts_.streams.keep_body(stream, content);
    current_ = stream.id;
    return step{.kind = step_kind::grant_body};
}

step http2_requests::end_body(http2_stream& stream, server_state const& server) {
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
step http2_requests::refuse_body(http2_stream& stream, problem problem) {
    context_.response.clear();
    stream.work->exchange.refuse_and_close(problem, context_.response);
    return follow(next_step::respond, stream);
}

std::optional<step> http2_requests::refuse_late_body(base::mono_ns now) {
    for (auto const& each : parts_.streams.all())
        if (each->state == stream_state::reading && now >= each->deadline)
            return refuse_body(*each, problem::request_timeout);
    return {};
}

bool http2_requests::is_reading(stream_id id) const {
    auto const* const stream = parts_.streams.find(id);
    return stream != nullptr && stream->state == stream_state::reading;
}

// ---- results

std::optional<step> http2_requests::settle(server_state const& server, std::string& output) {
    settle_grant(output);
    while (!denied_.empty()) {
        auto* const stream = parts_.streams.find(denied_.back());
        denied_.pop_back();
        if (stream == nullptr) continue;
        if (stream->state == stream_state::reading)
            return refuse_body(*stream, problem::overloaded);
        if (stream->state == stream_state::waiting) stream->body_problem = problem::overloaded;
    }
    while (!resumed_.empty()) {
        auto* const stream = parts_.streams.find(resumed_.back());
        resumed_.pop_back();
        if (stream == nullptr) continue;
        if (auto const next = resume_request(*stream, server)) return next;
    }
    return {};
}

// A body that may go on gets its window back, for as much of it as was taken.
void http2_requests::settle_grant(std::string& output) {
    auto* const stream = parts_.streams.find(std::exchange(granted_, 0));
    if (stream == nullptr || stream->reset || stream->state != stream_state::reading) return;
    bool const first = std::exchange(stream->first_grant, false);
    if (first && std::exchange(stream->interim_due, false) && stream->announced.received == 0)
        parts_.writer.write_interim(stream->id, output);
    auto const whole = std::int64_t{parts_.announced.window_bytes};
    if (stream->receive_window >= whole / 2) return;
    h2::put_window_update(stream->id, static_cast<std::uint32_t>(whole - stream->receive_window),
                          output);
    stream->receive_window = whole;
}

// What the request waited for has come: it goes on where it stopped.
std::optional<step> http2_requests::resume_request(http2_stream& stream,
                                                   server_state const& server) {
    if (stream.reset && stream.state == stream_state::waiting) {
        parts_.streams.leave(stream.id);
        return {};
    }
    restore_request(*stream.work, context_.request);
    context_.response.clear();
    auto const reply = stream.work->exchange.resume(*context_.services, context_.request,
                                                    server.now, context_.response);
    if (reply == next_step::respond) refuse_large_answer(*stream.work, context_.response, server);
    return reply == next_step::read_body ? await_body(stream, server) : follow(reply, stream);
}

session::stream const& http2_requests::stream() const {
    auto const* const stream = parts_.streams.find(current_);
    // A stream that waits for a commit or for tokens stays, also when its client resets it.
    base::check(stream != nullptr, "the stream of a step has left");
    return *stream->work;
}

domain::command http2_requests::take_command() {
    auto& stream = *parts_.streams.find(current_);
    auto command = session::take_command(*stream.work);
    stream.command_bytes = command.bytes();
    parts_.streams.count_held(stream);
    return command;
}

bool http2_requests::complete(stream_id id, domain::outcome const& outcome) {
    auto* const stream = parts_.streams.find(id);
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
                    goes_on ? domain::outcome{.problem = problem::behind} : outcome,
                    context_.response);
    stream->state = stream_state::responding;
    current_ = id;
    writing_ = stream;
    return true;
}

// ---- responses

written_part http2_requests::write(std::string& output, server_state const& server) {
    written_at_ = server.now.mono;
    auto& stream = *writing_;
    auto& response = context_.response;
    auto& entry = stream.work->entry;
    auto const size_before = output.size();
    auto events = stream.work->exchange.take_event_stream();
    if (!stream.reset)
        parts_.writer.write_response(stream, response, std::move(events), server, output);
    if (response.secret) base::wipe(response.body.data(), response.body.size());
    entry.status = response.status;
    entry.code = response.code;
    entry.bytes_out = output.size() - size_before + stream.content.size();
    return {.response = stream.work.get(),
            .key = stream.work->exchange.key_id(),
            .secret = response.secret,
            .admitted = response.status < 400 && stream.work->exchange.let_in()};
}

std::optional<step> http2_requests::finish_write() {
    auto& stream = *std::exchange(writing_, nullptr);
    auto const resume_at = stream.work->exchange.resume_reading_at();
    stream.work.reset();
    parts_.streams.note_activity(written_at_);
    if (!stream.has_content() || stream.reset) {
        parts_.streams.end(stream);
    } else {
        parts_.streams.enter(stream, configuration_);
        parts_.writer.note_pending(stream, written_at_);
    }
    return step{.kind = step_kind::pause, .time = resume_at};
}

}  // namespace latchkey::session
