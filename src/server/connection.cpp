#include "server/connection.hpp"

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "server/worker.hpp"
#include "store/writer.hpp"

namespace latchkey::server {
namespace {

using api::need;
using base::problem;
using news = transport::news;
using state = enum http::step::state;  // hidden by the member of that name
using body_kind = http::framing::body_kind;
namespace limits = base::limits;

constexpr base::mono_ns second = 1'000'000'000;

// A connection between its first byte and its last. The request and the response themselves belong
// to the worker: they are filled and used up between two suspensions.
class connection {
  public:
    connection(worker& on, accepted const& socket)
        : on_(on), io_(on, socket), rules_(on.rules()), parser_(rules_->parsing, &on.sections()) {}
    connection(connection const&) = delete;
    connection& operator=(connection const&) = delete;

    coro::task<> run();

  private:
    void follow_rules();
    base::mono_ns head_deadline();
    void answer_without_request(problem wrong, std::string_view detail);
    need begin(http::step const& head);
    bool take_body_in_place(http::step const& head);
    problem expect_body(http::step const& head);
    coro::task<problem> collect_body(std::size_t bytes_max, bool keep);
    need finish(problem wrong);
    void answer(store::outcome const& outcome);
    bool write_answer();
    bool may_skip_body() const;
    void end_request();
    base::mono_ns in(std::uint64_t seconds) const {
        return on_.now().mono + static_cast<base::mono_ns>(seconds) * second;
    }
    config const& settings() const { return rules_->configuration; }

    worker& on_;
    transport io_;
    std::shared_ptr<rulebook const> rules_;  // of the request in hand
    http::parser parser_;
    http::framing framing_;
    std::unique_ptr<job> job_;         // of the request in hand
    base::mono_ns head_deadline_ = 0;  // of a head that has begun to arrive
    std::size_t reserved_ = 0;  // of the budget for bodies that are read for their credential
    bool body_unread_ = false;  // the answer came before the body
    bool http_1_0_ = false;
};

coro::task<> connection::run() {
    unsigned in_this_turn = 0;
    while (io_.open()) {
        follow_rules();
        auto const head = parser_.read_head(io_.unread(), on_.request(), framing_);
        if (head.state == state::incomplete) {
            auto const deadline = head_deadline();
            if (io_.idle() && on_.ends_idle()) break;
            news const came = co_await io_.more(deadline);
            if (came == news::bytes) continue;
            if (came == news::late && !io_.idle())
                answer_without_request(problem::request_timeout, "");
            break;
        }
        if (head.state == state::refused) {
            answer_without_request(head.problem, head.detail);
            break;
        }
        need then = begin(head);
        if (then == need::body) {
            auto wrong = problem::none;
            if (!take_body_in_place(head)) {
                wrong = expect_body(head);
                if (wrong == problem::none) {
                    problem const met =
                        co_await collect_body(job_->exchange.body_bytes_max(), true);
                    wrong = met;
                }
            }
            then = finish(wrong);
        }
        if (then == need::commit) {
            job_->entry.keep();
            store::commit done(on_.shared().writer, on_.mailbox(), job_->exchange.take_command());
            store::outcome const& outcome = co_await done;
            answer(outcome);
        }
        if (!write_answer()) break;
        if (body_unread_) {
            problem const met = co_await collect_body(limits::skipped_body_bytes_max, false);
            if (met != problem::none) break;
        }
        auto const heard_again = job_->exchange.heard_again();
        end_request();
        if (io_.unsent() > limits::unsent_bytes_max) co_await io_.room();
        if (heard_again > on_.now().mono) co_await io_.until(heard_again);
        if (++in_this_turn == limits::requests_per_turn_max) {
            in_this_turn = 0;
            co_await io_.next_turn();
        }
    }
    end_request();
    io_.finish();
    co_await io_.gone();
}

// A reload holds from the next request on; the one in hand keeps what it began with.
void connection::follow_rules() {
    if (rules_ == on_.rules()) [[likely]]
        return;
    rules_ = on_.rules();
    parser_.use(rules_->parsing);
    parser_.next();  // a head that is half there is judged anew, from its first byte
}

// An idle connection may wait long; a head that has begun must be complete in time, however slowly
// its bytes drip.
base::mono_ns connection::head_deadline() {
    bool const idle = io_.unread().empty();
    io_.set_idle(idle);
    if (idle)
        head_deadline_ = 0;
    else if (head_deadline_ == 0)
        head_deadline_ = in(settings().http_header_seconds);
    return idle ? in(settings().http_idle_seconds) : head_deadline_;
}

void connection::answer_without_request(problem wrong, std::string_view detail) {
    if (!io_.open()) return;
    job_ = on_.take_job();
    // Whatever else was wrong with it, a HEAD is answered without content (RFC 9110 §9.3.2).
    bool const head = io_.unread().starts_with("HEAD ");
    job_->entry.begin(head ? "HEAD" : std::string_view(), {}, {}, on_.now());
    on_.response().clear();
    api::refuse_unparsed(on_.desk(), io_.peer(), wrong, detail, on_.response(),
                         job_->entry.request_id);
    job_->entry.refused_unparsed = true;
    framing_ = {};
    framing_.keep_alive = false;
    body_unread_ = false;
    write_answer();
}

need connection::begin(http::step const& head) {
    io_.set_idle(false);
    head_deadline_ = 0;
    auto const& request = on_.request();
    job_ = on_.take_job();
    job_->entry.begin(request.method_text, request.path,
                      request.find(http::field_name::user_agent).value_or(std::string_view()),
                      on_.now());
    job_->entry.bytes_in = head.consumed;
    job_->head.clear();
    http_1_0_ = request.minor_version == 0;
    on_.response().clear();
    auto& exchange = job_->exchange;
    bool const away =
        on_.overloaded() && exchange.turn_away(on_.desk(), request, io_.peer(), on_.response());
    auto const then =
        away ? need::nothing
             : exchange.begin(on_.desk(), request, framing_, io_.peer(), on_.now(), on_.response());
    body_unread_ = false;
    if (then == need::body) return then;
    io_.consume(head.consumed);
    body_unread_ = framing_.body != body_kind::none;
    return then;
}

// The whole body came with the head: it is read where it lies.
bool connection::take_body_in_place(http::step const& head) {
    if (framing_.body != body_kind::sized) return false;
    if (io_.unread().size() - head.consumed < framing_.content_length) return false;
    auto const size = static_cast<std::size_t>(framing_.content_length);
    if (size > job_->exchange.body_bytes_max()) return false;
    on_.request().body = io_.unread().substr(head.consumed, size);
    io_.consume(head.consumed + size);
    job_->entry.bytes_in += size;
    return true;
}

// Gets ready to wait for the body: keeps the head, reserves what must be reserved, says `100
// Continue`.
problem connection::expect_body(http::step const& head) {
    job_->entry.keep();
    job_->head.assign(io_.unread().substr(0, head.consumed));
    job_->body.clear();
    io_.consume(head.consumed);
    body_unread_ = true;
    auto const most = job_->exchange.body_bytes_max();
    if (framing_.body == body_kind::sized && framing_.content_length > most)
        return problem::body_too_large;
    if (on_.over_budget()) return problem::overloaded;
    if (job_->exchange.credential_in_body()) {
        auto const size = framing_.body == body_kind::sized
                              ? static_cast<std::size_t>(framing_.content_length)
                              : most;
        auto& all = on_.shared().credential_bodies;
        if (all.fetch_add(size, std::memory_order_relaxed) + size >
            limits::credential_bodies_bytes_max) {
            all.fetch_sub(size, std::memory_order_relaxed);
            return problem::overloaded;
        }
        reserved_ = size;
    }
    if (framing_.expect_continue && io_.unread().empty()) io_.answers().append(http::continue_line);
    body_unread_ = false;
    return problem::none;
}

// Reads the rest of a body, or only skips it. What is too long is so by its chunks' sizes: how much
// of it came at once must not matter to the answer.
coro::task<problem> connection::collect_body(std::size_t bytes_max, bool keep) {
    auto const deadline = in(settings().http_body_seconds);
    for (;;) {
        auto const part = parser_.read_body(io_.unread(), job_->body, bytes_max);
        io_.consume(part.consumed);
        job_->entry.bytes_in += part.consumed;
        if (!keep) wipe_and_clear(job_->body);
        io_.hold_body(job_->body.size());
        if (part.state == state::refused) co_return part.problem;
        if (part.state == state::complete) co_return problem::none;
        news const came = co_await io_.more(deadline);
        if (came == news::late) co_return problem::request_timeout;
        if (came == news::end) co_return problem::malformed_request;
    }
}

need connection::finish(problem wrong) {
    on_.response().clear();
    if (wrong != problem::none) {
        job_->exchange.refuse(on_.desk(), wrong, "", on_.response());
        return need::nothing;
    }
    if (!job_->head.empty()) {
        // The views of the first parse lay in a buffer that is gone; the head itself was kept.
        http::parser again(rules_->parsing);
        auto const head = again.read_head(job_->head, on_.request(), framing_);
        base::check(head.state == state::complete, "a head that was complete is not any more");
        on_.request().body = job_->body;
    }
    return job_->exchange.finish(on_.desk(), on_.request(), on_.now(), on_.response());
}

void connection::answer(store::outcome const& outcome) {
    on_.response().clear();
    job_->exchange.answer(on_.desk(), outcome, on_.response());
}

// A small body that nobody will read is skipped and the connection lives on; a client that asked
// first (`Expect`) may send it or not, and nobody can tell which.
bool connection::may_skip_body() const {
    if (framing_.expect_continue || framing_.expect_unknown) return false;
    return framing_.body == body_kind::chunked ||
           framing_.content_length <= limits::skipped_body_bytes_max;
}

// Serialises the answer and notes it. False: the connection ends after it.
bool connection::write_answer() {
    auto const& answer = on_.response();
    auto& entry = job_->entry;
    bool close = !framing_.keep_alive || on_.draining() || (body_unread_ && !may_skip_body());
    close |= answer.close && !body_unread_;
    on_.response().close = close;  // the field says what happens
    auto& out = io_.answers();
    auto const before = out.size();
    http::write(answer,
                {.head = entry.method == "HEAD",
                 .close = close,
                 .keep_alive_1_0 = !close && framing_.keep_alive && http_1_0_},
                on_.date(), out);
    if (answer.secret) {
        io_.keep_secret();
        base::wipe(on_.response().body.data(), on_.response().body.size());
    }
    entry.status = answer.status;
    entry.code = answer.code;
    entry.bytes_out = out.size() - before;
    on_.note(*job_, io_.peer());
    io_.set_known(answer.status < 400 && job_->exchange.let_in());
    return !close;
}

void connection::end_request() {
    if (!job_) return;
    if (reserved_ != 0)
        on_.shared().credential_bodies.fetch_sub(std::exchange(reserved_, 0),
                                                 std::memory_order_relaxed);
    on_.give_back(std::move(job_));
    io_.hold_body(0);
    parser_.next();
}

}  // namespace

coro::task<> serve(worker* on, accepted socket) {
    connection here(*on, socket);
    co_await here.run();
}

}  // namespace latchkey::server
