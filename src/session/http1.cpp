// A machine of phases: `advance` acts by the phase it is in, consumes input and returns the next
// step. A request without a body, or with one that arrived whole, is answered where it lies; any
// other is copied beside its stream and restored when it goes on. How the bytes are split into
// calls changes no answer.
#include "session/http1.hpp"

#include "api/frame/route.hpp"
#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/time_units.hpp"

namespace latchkey::session {
namespace {

using api::next_step;
using base::after;
using base::problem;
using parse_progress = http::step::progress;
using body_kind = http::framing::body_kind;
namespace limits = base::limits;

// Empty lines belong to no request (RFC 9112 §2.2): some clients send one behind each body.
bool is_blank(std::string_view input) {
    return input.find_first_not_of("\r\n") == input.npos;
}

}  // namespace

http1::http1(context& shared, api::peer const& client)
    : context_(shared),
      client_(client),
      configuration_(shared.configuration),
      parser_(configuration_->parsing, &shared.sections) {}

step http1::advance(std::string_view input, wake_reason reason, server_state const& server,
                    std::string& output) {
    switch (phase_) {
        case phase::head:
            if (reason != wake_reason::bytes) return end_without_head(input, reason, server);
            return read_head(input, server);
        case phase::body_granted:
            return start_body(input, server, output);
        case phase::body_awaited:
            phase_ = phase::body;
            return {.kind = step_kind::read, .time = body_deadline_};
        case phase::body:
            if (reason == wake_reason::late)
                return finish_body(problem::request_timeout, 0, server);
            if (reason == wake_reason::end)
                return finish_body(problem::malformed_request, 0, server);
            return collect_body(input, server);
        case phase::body_denied:
            return finish_body(problem::overloaded, 0, server);
        case phase::resumed:
            return resume_request(input, server);
        case phase::response:
            return {.kind = step_kind::write};
        case phase::events:
            return next_events(reason, server);
        case phase::skipping:
            return skip_body(input, reason);
        case phase::closing:
            return {.kind = step_kind::close};
        case phase::body_announced:
        case phase::body_kept:
        case phase::commit:
        case phase::awaiting:
        case phase::finished:
            break;
    }
    base::check(false, "a session was advanced before it had what it asked for");
    return close();
}

step http1::close() {
    phase_ = phase::closing;
    return {.kind = step_kind::close};
}

// ---- the head

step http1::read_head(std::string_view input, server_state const& server) {
    follow_configuration();
    auto const head = parser_.read_head(input, context_.request, framing_);
    if (head.state == parse_progress::complete) [[likely]]
        return begin_request(input, head, server);
    if (head.state == parse_progress::incomplete) {
        bool const idle = is_blank(input);
        // A head that goes on is kept, and nobody is known yet to whom it counts.
        if (!idle && server.quota != nullptr && !server.quota->admits_answer(0, input.size()))
            return refuse_unparsed(input, problem::overloaded, "", server);
        return await_head(idle, server);
    }
    if (head.problem == problem::body_too_large && api::ignores_body(context_.request.path))
        return begin_request(input, head, server);
    return refuse_unparsed(input, head.problem, head.detail, server);
}

// A reload takes effect with the next request; the one in hand keeps what it began with.
void http1::follow_configuration() {
    if (configuration_ == context_.configuration) [[likely]]
        return;
    configuration_ = context_.configuration;
    parser_.use(configuration_->parsing);
    parser_.next();  // half a head is parsed again under the new limits, from its first byte
}

// An idle connection may wait for long; a head that has begun must be complete in time, however
// slowly its bytes arrive. A connection that has never sent anything does not count as idle.
step http1::await_head(bool idle, server_state const& server) {
    step wait{.kind = step_kind::read, .idle = idle};
    if (first_request_) {
        wait.time = after(server.ready_since, configuration_->header_seconds);
        return wait;
    }
    if (idle)
        head_deadline_ = 0;
    else if (head_deadline_ == 0)
        head_deadline_ = after(server.now.mono, configuration_->header_seconds);
    wait.time = idle ? after(server.now.mono, configuration_->idle_seconds) : head_deadline_;
    return wait;
}

step http1::end_without_head(std::string_view input, wake_reason reason,
                             server_state const& server) {
    if (reason == wake_reason::end || is_blank(input)) return close();
    return refuse_unparsed(input, problem::request_timeout, "", server);
}

step http1::refuse_unparsed(std::string_view input, problem problem, std::string_view detail,
                            server_state const& server) {
    stream_ = context_.streams.take();
    // Even then a HEAD is answered without content (RFC 9110 §9.3.2).
    bool const head = input.starts_with("HEAD ");
    stream_->entry.begin(head ? "HEAD" : std::string_view(), {}, {}, server.now);
    context_.response.clear();
    api::refuse_unparsed(*context_.services, client_, problem, detail, context_.response,
                         stream_->entry.request_id);
    stream_->entry.refused_unparsed = true;
    stream_->entry.protocol = protocol::http1_1;
    framing_ = {};
    framing_.keep_alive = false;
    body_unread_ = false;
    return follow(next_step::respond, 0);
}

step http1::begin_request(std::string_view input, http::step const& head,
                          server_state const& server) {
    head_deadline_ = 0;
    first_request_ = false;
    auto const& request = context_.request;
    auto& response = context_.response;
    stream_ = context_.streams.take();
    stream_->entry.begin(request.method_text, request.path,
                         request.find(http::field_name::user_agent).value_or(std::string_view()),
                         server.now);
    stream_->entry.bytes_in = head.consumed;
    http_1_0_ = request.minor_version == 0;
    stream_->entry.protocol = http_1_0_ ? protocol::http1_0 : protocol::http1_1;
    response.clear();
    auto& exchange = stream_->exchange;
    bool const is_refused =
        server.overloaded && exchange.turn_away(*context_.services, request, client_, response);
    auto const next = is_refused ? next_step::respond
                                 : exchange.begin(*context_.services, request, framing_, client_,
                                                  server.now, response);
    if (next == next_step::read_body) return begin_body(input, head.consumed, server);
    if (next == next_step::respond) refuse_large_answer(*stream_, context_.response, server);
    body_unread_ = framing_.body != body_kind::none;
    body_doubtful_ = body_unread_ && input.size() == head.consumed && exchange.ignores_body();
    return follow(next, head.consumed);
}

step http1::follow(next_step next, std::size_t consumed) {
    if (next == next_step::commit) {
        stream_->entry.keep();
        if (stream_->exchange.waits()) keep_waiting();
        phase_ = phase::commit;
        return {.kind = step_kind::commit, .consumed = consumed};
    }
    if (next == next_step::await_tokens || next == next_step::await_turn) {
        stream_->entry.keep();
        keep_waiting();
        phase_ = phase::awaiting;
        bool const awaits_turn = next == next_step::await_turn;
        return {.kind = awaits_turn ? step_kind::await_turn : step_kind::await_tokens,
                .consumed = consumed};
    }
    phase_ = phase::response;
    return {.kind = step_kind::write, .consumed = consumed};
}

void http1::keep_waiting() {
    keep_request(*stream_, context_.request);
    held_bytes_ = stream_->held_bytes();
}

// ---- the body

step http1::begin_body(std::string_view input, std::size_t head_bytes, server_state const& server) {
    body_unread_ = false;
    if (!take_body_in_place(input, head_bytes)) return announce_body(head_bytes);
    auto const body_bytes = static_cast<std::size_t>(framing_.content_length);
    return finish_body(problem::none, head_bytes + body_bytes, server);
}

// A body that arrived whole with its head is read where it lies.
bool http1::take_body_in_place(std::string_view input, std::size_t head_bytes) {
    if (framing_.body != body_kind::sized) return false;
    if (input.size() - head_bytes < framing_.content_length) return false;
    auto const size = static_cast<std::size_t>(framing_.content_length);
    if (size > stream_->exchange.body_bytes_max()) return false;
    // A request that has waited is restored from its copy, and its body from this one.
    if (!stream_->request_copy.empty()) stream_->body.assign(input.substr(head_bytes, size));
    context_.request.body = input.substr(head_bytes, size);
    stream_->entry.bytes_in += size;
    return true;
}

// Keeps the request for when its body has arrived, so that the head is not parsed twice.
step http1::announce_body(std::size_t head_bytes) {
    stream_->entry.keep();
    keep_request(*stream_, context_.request);
    stream_->body.clear();
    body_unread_ = true;
    if (framing_.body == body_kind::sized &&
        framing_.content_length > stream_->exchange.body_bytes_max()) {
        context_.response.clear();
        stream_->exchange.refuse_and_close(problem::body_too_large, context_.response);
        return follow(next_step::respond, head_bytes);
    }
    phase_ = phase::body_announced;
    return {.kind = step_kind::grant_body, .consumed = head_bytes};
}

void http1::grant() {
    if (phase_ == phase::body_announced) body_unread_ = false;
    phase_ = phase_ == phase::body_announced ? phase::body_granted : phase::body_awaited;
}

step http1::start_body(std::string_view input, server_state const& server, std::string& output) {
    phase_ = phase::body;
    body_deadline_ = after(server.now.mono, configuration_->body_seconds);
    if (framing_.expect_continue && input.empty()) output.append(http::continue_line);
    return collect_body(input, server);
}

// A chunked body is too long by the sizes of its chunks: the answer must not depend on how much of
// it arrived at once.
step http1::collect_body(std::string_view input, server_state const& server) {
    auto& body = stream_->body;
    auto const part = parser_.read_body(input, body, stream_->exchange.body_bytes_max());
    stream_->entry.bytes_in += part.consumed;
    held_bytes_ = stream_->held_bytes();
    if (part.state != parse_progress::incomplete)
        return finish_body(part.problem, part.consumed, server);
    phase_ = phase::body_kept;
    return {.kind = step_kind::grant_body, .consumed = part.consumed};
}

step http1::finish_body(problem problem, std::size_t consumed, server_state const& server) {
    auto& response = context_.response;
    auto& exchange = stream_->exchange;
    response.clear();
    if (problem != problem::none) {
        exchange.refuse_and_close(problem, response);
        return follow(next_step::respond, consumed);
    }
    auto& request = context_.request;
    if (!stream_->request_copy.empty()) {
        stream_->request_copy.restore(request);
        request.body = stream_->body;
    }
    return follow(exchange.finish(*context_.services, request, server.now, response), consumed);
}

// The rest of a body that was answered without being read; it belongs to no request any more.
step http1::skip_body(std::string_view input, wake_reason reason) {
    if (reason != wake_reason::bytes) return close();
    std::string content;
    auto const part = parser_.read_body(input, content, limits::skipped_body_bytes_max);
    base::wipe(content.data(), content.size());
    if (part.state == parse_progress::refused) return close();
    if (part.state == parse_progress::incomplete)
        return {.kind = step_kind::read, .consumed = part.consumed, .time = body_deadline_};
    phase_ = phase::head;
    parser_.next();
    return {.kind = step_kind::pause, .consumed = part.consumed, .time = resume_at_};
}

// A small body is skipped and the connection lives on. After `Expect` the client may send the body
// or the next request, and the bytes do not tell which; so it is with a gateway that passes on its
// client's Content-Length without the body.
bool http1::may_skip_body() const {
    if (framing_.expect_continue || framing_.expect_unknown || body_doubtful_) return false;
    return framing_.body == body_kind::chunked ||
           framing_.content_length <= limits::skipped_body_bytes_max;
}

// ---- the response

domain::command http1::take_command() {
    auto command = session::take_command(*stream_);
    if (held_bytes_ != 0) held_bytes_ = stream_->held_bytes();
    command_bytes_ = command.bytes();
    return command;
}

bool http1::complete(stream_id, domain::outcome const& outcome) {
    command_bytes_ = 0;
    if (stream_->exchange.waits() && outcome.problem == problem::none) {
        phase_ = phase::resumed;
        return false;
    }
    context_.response.clear();
    stream_->exchange.answer(*context_.services, outcome, context_.response);
    phase_ = phase::response;
    return true;
}

// What the request waited for has come: it goes on where it stopped.
step http1::resume_request(std::string_view input, server_state const& server) {
    restore_request(*stream_, context_.request);
    context_.response.clear();
    auto const next = stream_->exchange.resume(*context_.services, context_.request, server.now,
                                               context_.response);
    if (next == next_step::respond) refuse_large_answer(*stream_, context_.response, server);
    return next == next_step::read_body ? begin_body(input, 0, server) : follow(next, 0);
}

written_part http1::write(std::string& output, server_state const& server) {
    if (phase_ == phase::events) return write_events(output, server);
    auto& response = context_.response;
    auto& entry = stream_->entry;
    bool close = !framing_.keep_alive || server.draining || (body_unread_ && !may_skip_body());
    close |= response.close && !body_unread_;
    bool const head_only = entry.method == "HEAD";
    auto events = stream_->exchange.take_event_stream();
    if (events && !head_only) {
        events_ = std::move(events);
        // Content without chunks ends with the connection.
        close |= http_1_0_;
        closes_after_events_ = close || body_unread_;
    }
    response.close = close;  // what the field says
    auto const output_start = output.size();
    http::write(response,
                {.head = head_only,
                 .close = close,
                 .keep_alive_1_0 = !close && framing_.keep_alive && http_1_0_,
                 .chunked = !http_1_0_},
                context_.date.at(server.now.clock), output);
    if (response.secret) base::wipe(response.body.data(), response.body.size());
    entry.status = response.status;
    entry.code = response.code;
    entry.bytes_out = output.size() - output_start;
    phase_ = close ? phase::closing : body_unread_ ? phase::skipping : phase::finished;
    if (events_) phase_ = phase::events;
    if (body_unread_) body_deadline_ = after(server.now.mono, configuration_->body_seconds);
    return {.response = stream_.get(),
            .key = stream_->exchange.key_id(),
            .secret = response.secret,
            .admitted = response.status < 400 && stream_->exchange.let_in()};
}

std::optional<step> http1::finish_write() {
    if (!stream_) return finish_events();
    resume_at_ = stream_->exchange.resume_reading_at();
    stream_.reset();
    held_bytes_ = 0;
    if (phase_ == phase::closing) return step{.kind = step_kind::close};
    if (phase_ == phase::skipping) return {};
    if (phase_ == phase::events) return step{.kind = step_kind::pause};
    phase_ = phase::head;
    parser_.next();
    return step{.kind = step_kind::pause, .time = resume_at_};
}

// ---- a response that goes on

step http1::next_events(wake_reason reason, server_state const& server) {
    if (reason == wake_reason::end) {
        events_.reset();
        return close();
    }
    using enum api::event_stream::progress;
    auto& text = context_.events;
    text.clear();
    auto const room = event_bytes_max(*events_, server);
    progress_ =
        server.draining ? ended : events_->append(*context_.services, server.now, room, text);
    if (room == 0 && progress_ == more) {
        events_->postpone(server.now.mono + event_room_wait);
        progress_ = idle;
    }
    if (text.empty() && progress_ == idle)
        return {.kind = step_kind::read, .takes_input = false, .time = events_->due()};
    return {.kind = step_kind::write};
}

written_part http1::write_events(std::string& output, server_state const& server) {
    auto& text = context_.events;
    if (http_1_0_)
        output.append(text);
    else if (!text.empty())
        http::write_chunk(text, output);
    if (text.capacity() > 2 * limits::stream_step_bytes_max) std::string().swap(text);
    if (progress_ != api::event_stream::progress::ended) return {.key = events_->key_id()};
    events_.reset();
    if (!http_1_0_) output.append(http::last_chunk);
    closes_after_events_ |= server.draining;
    return {};
}

step http1::finish_events() {
    if (events_) return {.kind = step_kind::pause};
    if (closes_after_events_) return close();
    phase_ = phase::head;
    parser_.next();
    return {.kind = step_kind::pause};
}

}  // namespace latchkey::session
