#include "conversation.hpp"

#include <algorithm>

namespace latchkey::api {

using state = enum http::step::state;
using body_kind = http::framing::body_kind;

void conversation::receive(std::string_view bytes) {
    pending_.append(bytes);
    while (!closed_ && advance()) {
    }
}

// Each time in memory of exactly that size and at another address, as the sanitizer likes it.
bool conversation::advance() {
    std::string before;
    before.swap(pending_);
    std::unique_ptr<char[]> const copy(new char[before.size()]);
    std::copy(before.begin(), before.end(), copy.get());
    std::string_view const input(copy.get(), before.size());
    pending_ = before;
    switch (phase_) {
        case phase::head:
            return read_head(input);
        case phase::body:
            return collect(input);
        case phase::skipping:
            return skip(input);
    }
    return false;
}

bool conversation::read_head(std::string_view input) {
    auto const head = parser_.read_head(input, request_, framing_);
    if (head.state == state::incomplete) return false;
    answer_.clear();
    if (head.state == state::refused) {
        std::string id;
        refuse_unparsed(at_.desk(), at_.from, head.problem, head.detail, answer_, id);
        write(true, input.starts_with("HEAD "));
        return false;
    }
    at_.desk().snapshot.renew();
    at_.desk().keys.follow(at_.desk().snapshot);
    body_unread_ = false;
    head_.clear();
    auto const then = exchange_.begin(at_.desk(), request_, framing_, at_.from, at_.now, answer_);
    if (then == need::body) {
        auto const next = take_body(input, head);
        return next == need::body || complete(next);
    }
    pending_.erase(0, head.consumed);
    body_unread_ = framing_.body != body_kind::none;
    return complete(then);
}

// In place if it is all there, else it is collected; need::body: that has begun.
need conversation::take_body(std::string_view input, http::step const& head) {
    auto const size = static_cast<std::size_t>(framing_.content_length);
    if (framing_.body != body_kind::sized || input.size() - head.consumed < size ||
        size > exchange_.body_bytes_max())
        return begin_to_collect(input, head);
    request_.body = input.substr(head.consumed, size);
    pending_.erase(0, head.consumed + size);
    answer_.clear();
    return exchange_.finish(at_.desk(), request_, at_.now, answer_);
}

need conversation::begin_to_collect(std::string_view input, http::step const& head) {
    head_.assign(input.substr(0, head.consumed));
    body_.clear();
    pending_.erase(0, head.consumed);
    if (framing_.body == body_kind::sized && framing_.content_length > exchange_.body_bytes_max()) {
        body_unread_ = true;
        return refuse(base::problem::body_too_large);
    }
    phase_ = phase::body;
    return need::body;
}

bool conversation::collect(std::string_view input) {
    auto const part = parser_.read_body(input, body_, exchange_.body_bytes_max());
    pending_.erase(0, part.consumed);
    if (part.state == state::incomplete) return false;
    if (part.state == state::refused) return complete(refuse(part.problem));
    http::parser again(at_.http_limits);
    auto const head = again.read_head(head_, request_, framing_);
    EXPECT_EQ(head.state, state::complete);
    request_.body = body_;
    answer_.clear();
    return complete(exchange_.finish(at_.desk(), request_, at_.now, answer_));
}

bool conversation::skip(std::string_view input) {
    std::string skipped;
    auto const part = parser_.read_body(input, skipped, base::limits::skipped_body_bytes_max);
    pending_.erase(0, part.consumed);
    closed_ = part.state == state::refused;
    if (part.state != state::complete) return false;
    parser_.next();
    phase_ = phase::head;
    return true;
}

need conversation::refuse(base::problem wrong) {
    answer_.clear();
    exchange_.refuse(at_.desk(), wrong, "", answer_);
    return need::nothing;
}

// Answers; false: nothing more is to be read.
bool conversation::complete(need then) {
    if (then == need::commit) {
        committed_ = true;
        answer_.clear();
        exchange_.answer(at_.desk(), at_.commit(exchange_.take_command()), answer_);
    }
    bool close = !framing_.keep_alive || (body_unread_ && !may_skip_body());
    close |= answer_.close && !body_unread_;
    write(close, exchange_.method() == http::method::head);
    if (closed_) return false;
    phase_ = body_unread_ ? phase::skipping : phase::head;
    if (!body_unread_) parser_.next();
    return true;
}

bool conversation::may_skip_body() const {
    if (framing_.expect_continue || framing_.expect_unknown) return false;
    return framing_.body == body_kind::chunked ||
           framing_.content_length <= base::limits::skipped_body_bytes_max;
}

void conversation::write(bool close, bool head) {
    answer_.close = closed_ = close;
    bool const stays_1_0 = !close && request_.minor_version == 0;
    http::write(answer_, {.head = head, .close = close, .keep_alive_1_0 = stays_1_0},
                date_.at(at_.now.wall), answers_);
}

}  // namespace latchkey::api
