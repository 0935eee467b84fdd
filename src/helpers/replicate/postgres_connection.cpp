// PQflush, PQisBusy and PQconsumeInput around the poller give one result at a time; results match
// statements by order, and `expected_` says which belong to a preparation. Names of prepared
// statements are never used twice. A late answer closes the connection: it would be taken for one
// of the next batch.
#include "helpers/replicate/postgres_connection.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/check.hpp"
#include "base/time_units.hpp"

namespace latchkey::replicate {
namespace {

std::string one_line(char const* message) {
    std::string text(message != nullptr ? message : "");
    std::ranges::replace(text, '\n', ' ');
    std::ranges::replace(text, '\t', ' ');
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}

std::string field(PGresult const* result, int code) {
    char const* const text = ::PQresultErrorField(result, code);
    return text != nullptr ? text : "";
}

engine_error error_of(PGresult const* result) {
    auto text = field(result, PG_DIAG_MESSAGE_PRIMARY);
    if (text.empty()) text = one_line(::PQresultErrorMessage(result));
    return {.state = field(result, PG_DIAG_SQLSTATE), .text = std::move(text)};
}

constexpr std::size_t statements_prepared_max = 100;

// Settings of every session; an engine that does not know one of them is used all the same. A
// reservation whose holder hangs ends by itself. All reading goes by primary keys, whatever the
// engine's statistics say of tables that have just been filled. Commits are durable where the
// default is that they are not; where it is something else, the operator chose it.
constexpr char const* session_settings[] = {
    "SET idle_in_transaction_session_timeout = 3000",
    "SET default_transaction_isolation = 'read committed'",
    "SET enable_seqscan = off",
    "SET enable_bitmapscan = off",
    "SET enable_sort = off",
    "SET enable_hashjoin = off",
    "SET enable_mergejoin = off",
    // The cost that PostgreSQL adds to a plan that was switched off would have it compiled: 39 ms.
    "SET jit = off",
    ("SELECT set_config('synchronous_commit', 'on', false) "
     "WHERE current_setting('synchronous_commit') = 'off'"),
};

}  // namespace

struct connection::step {
    PGresult* result = nullptr;  // null: the end of one statement's results
    std::optional<engine_error> error{};
};

bool is_certain(engine_error const& error) {
    static constexpr std::array<std::string_view, 10> classes{"22", "23", "25", "28", "40",
                                                              "42", "53", "54", "55", "0A"};
    std::string_view const state = error.state;
    if (error.broken || state.size() != 5 || state == "40003") return false;
    return state == "57014" ||
           std::ranges::any_of(classes, [&](auto each) { return state.starts_with(each); });
}

bool is_transient(engine_error const& error) {
    return !error.broken && (error.state == "40001" || error.state == "40P01");
}

void connection::take_notice(void* self, PGresult const* notice) {
    if (field(notice, PG_DIAG_SEVERITY_NONLOCALIZED) == "WARNING")
        static_cast<connection*>(self)->warned_ = true;
}

coro::task<base::result<void>> connection::open(conninfo const* target, std::size_t host,
                                                std::uint32_t statement_ms,
                                                base::mono_ns deadline) {
    close();
    handle_.reset(target->start(host));
    if (!handle_) co_return base::error{"no memory for a connection"};
    ::PQsetNoticeReceiver(handle_.get(), take_notice, this);
    auto connected = co_await handshake(deadline);
    if (!connected) {
        close();
        co_return connected;
    }
    ::PQsetnonblocking(handle_.get(), 1);
    ::PQenterPipelineMode(handle_.get());
    batch settings;
    settings.emplace_back("SET statement_timeout = " + std::to_string(statement_ms));
    for (auto const* each : session_settings) settings.emplace_back(each);
    for (auto& each : settings) each.once().apart();
    auto const replies = co_await run(&settings, deadline);
    if (!is_open()) co_return base::error{replies.error->text};
    co_return base::result<void>();
}

coro::task<base::result<void>> connection::handshake(base::mono_ns deadline) {
    if (::PQstatus(handle_.get()) == CONNECTION_BAD) co_return base::error{error_text()};
    for (auto state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK;) {
        if (state == PGRES_POLLING_FAILED) co_return base::error{error_text()};
        short const events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT;
        auto const cause = co_await poller_.until(
            {.descriptor = ::PQsocket(handle_.get()), .events = events, .deadline = deadline});
        if (cause == wake_cause::late) co_return base::error{"no answer in time"};
        state = ::PQconnectPoll(handle_.get());
    }
    co_return base::result<void>();
}

void connection::close() {
    handle_.reset();
    prepared_.clear();
    expected_.clear();
}

std::string connection::error_text() const {
    return one_line(::PQerrorMessage(handle_.get()));
}

engine_error connection::break_off(std::string text) {
    close();
    return {.text = std::move(text), .broken = true};
}

// A server that ends a connection says why before it does.
void connection::note_break(std::optional<engine_error>& error, engine_error end) {
    if (error)
        error->broken = true;
    else
        error = std::move(end);
}

base::result<void> connection::check_idle() {
    if (!is_open()) return base::error{"not connected"};
    // A server says why it ends a connection, and then ends it: both are read.
    for (pollfd polled{descriptor(), POLLIN, 0}; ::poll(&polled, 1, 0) > 0;) {
        if (::PQconsumeInput(handle_.get()) == 1 && ::PQstatus(handle_.get()) == CONNECTION_OK) {
            (void)::PQisBusy(handle_.get());  // takes notices out of the buffer
            continue;
        }
        auto const text = error_text();
        close();
        return base::error{text};
    }
    return {};
}

std::string connection::server() const {
    char const* const version =
        is_open() ? ::PQparameterStatus(handle_.get(), "server_version") : nullptr;
    return version != nullptr ? "PostgreSQL " + std::string(version) : "";
}

// Puts a statement into libpq's buffer, and before it what prepares it. False: libpq refuses.
bool connection::send(statement const& each) {
    std::vector<Oid> types;
    std::vector<char const*> values;
    std::vector<int> sizes, formats;
    for (auto const& [type, bytes] : each.parameters()) {
        types.push_back(type);
        values.push_back(bytes.data());
        sizes.push_back(static_cast<int>(bytes.size()));
        formats.push_back(1);
    }
    auto const count = static_cast<int>(types.size());
    if (!each.is_prepared()) {
        expected_.push_back(true);
        return ::PQsendQueryParams(handle_.get(), each.sql().c_str(), count, types.data(),
                                   values.data(), sizes.data(), formats.data(), 1) == 1;
    }
    auto name = prepared_.find(each.sql());
    if (name == prepared_.end()) {
        // Texts are constants, or of a list of one size or of few; others are sent once.
        base::check(prepared_.size() < statements_prepared_max, "statements prepared without end");
        name = prepared_.emplace(each.sql(), "s" + std::to_string(++names_)).first;
        expected_.push_back(false);
        if (::PQsendPrepare(handle_.get(), name->second.c_str(), each.sql().c_str(), count,
                            types.data()) != 1)
            return false;
    }
    expected_.push_back(true);
    return ::PQsendQueryPrepared(handle_.get(), name->second.c_str(), count, values.data(),
                                 sizes.data(), formats.data(), 1) == 1;
}

coro::task<connection::step> connection::next_result(base::mono_ns deadline) {
    for (;;) {
        int const unsent = ::PQflush(handle_.get());
        if (unsent < 0) co_return step{.error = break_off(error_text())};
        if (::PQisBusy(handle_.get()) == 0) break;
        short const events = unsent > 0 ? POLLIN | POLLOUT : POLLIN;
        auto const cause = co_await poller_.until(
            {.descriptor = ::PQsocket(handle_.get()), .events = events, .deadline = deadline});
        if (cause == wake_cause::late) co_return step{.error = break_off("no answer in time")};
        if (::PQconsumeInput(handle_.get()) == 0) co_return step{.error = break_off(error_text())};
    }
    PGresult* const result = ::PQgetResult(handle_.get());
    if (::PQstatus(handle_.get()) == CONNECTION_BAD) {
        auto text = result != nullptr ? one_line(::PQresultErrorMessage(result)) : error_text();
        ::PQclear(result);
        co_return step{.error = break_off(std::move(text))};
    }
    co_return step{.result = result};
}

coro::task<replies> connection::run(batch const* statements, base::mono_ns deadline) {
    replies replies;
    if (!is_open()) {
        replies.error = engine_error{.text = "not connected", .broken = true};
        co_return replies;
    }
    warned_ = false;
    expected_.clear();
    std::size_t transactions = 0;
    for (auto const& each : *statements) {
        bool const last = &each == &statements->back();
        bool accepted = send(each);
        if (accepted && (last || each.is_apart())) {
            accepted = ::PQpipelineSync(handle_.get()) == 1;
            ++transactions;
        }
        if (!accepted) {
            replies.error = break_off(error_text());
            co_return replies;
        }
    }
    for (std::size_t place = 0; transactions > 0;) {
        auto step = co_await next_result(deadline);
        if (step.error) {
            note_break(replies.error, std::move(*step.error));
            co_return replies;
        }
        if (step.result == nullptr) continue;
        answer result(step.result);
        auto const status = ::PQresultStatus(step.result);
        if (status == PGRES_PIPELINE_SYNC) {
            --transactions;
            continue;
        }
        if (status == PGRES_FATAL_ERROR && !replies.error) replies.error = error_of(step.result);
        bool const reply_expected = place >= expected_.size() || expected_[place];
        ++place;
        if (reply_expected) replies.list.push_back(std::move(result));
    }
    replies.warned = warned_;
    // What was prepared in a failed batch may not exist: the names are not used again.
    if (replies.error) prepared_.clear();
    co_return replies;
}

coro::task<replies> connection::run_one(statement only, base::mono_ns deadline) {
    batch statements;
    statements.push_back(std::move(only));
    auto replies = co_await run(&statements, deadline);
    co_return replies;
}

void connection::begin_stream(statement const& query) {
    stream_error_.reset();
    expected_.clear();
    if (!is_open())
        stream_error_ = break_off("not connected");
    else if (!send(query) || ::PQpipelineSync(handle_.get()) != 1)
        stream_error_ = break_off(error_text());
}

coro::task<std::optional<answer>> connection::next_row(base::mono_ns deadline) {
    while (is_open()) {
        ::PQsetSingleRowMode(handle_.get());  // of the statement whose results come next
        auto step = co_await next_result(deadline);
        if (step.error) {
            note_break(stream_error_, std::move(*step.error));
            break;
        }
        if (step.result == nullptr) continue;
        answer result(step.result);
        auto const status = ::PQresultStatus(step.result);
        if (status == PGRES_PIPELINE_SYNC) break;
        if (status == PGRES_FATAL_ERROR && !stream_error_) stream_error_ = error_of(step.result);
        if (status == PGRES_SINGLE_TUPLE) co_return std::optional(std::move(result));
    }
    co_return std::optional<answer>();
}

}  // namespace latchkey::replicate
