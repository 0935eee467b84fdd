// One connection to the engine, through libpq's asynchronous interface in pipeline mode: a batch of
// statements goes out at once and costs one round trip.
//
//     auto const replies = co_await connection.run(&batch, deadline);
//     if (replies.error) …                            // nothing of a failed transaction was done
//     replies.list[0].changes()
//
// Statements of a batch are one transaction, but those that are `apart`. Only a whole batch counts:
// servers answer INSERT before they commit. When the deadline passes or the connection breaks it is
// closed, and whether the batch was done is not known (`broken`).
//
// One coroutine uses it at a time. Owns the socket; one thread.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "helpers/replicate/conninfo.hpp"
#include "helpers/replicate/poller.hpp"
#include "helpers/replicate/statement.hpp"
#include "runtime/coro/task.hpp"

namespace latchkey::replicate {

using batch = std::vector<statement>;

struct engine_error {
    std::string state;  // SQLSTATE; empty: none was told
    std::string text;
    bool broken = false;  // the connection is closed
};

struct replies {
    std::vector<answer> list;  // one for each statement; fewer after an error
    std::optional<engine_error> error;
    bool warned = false;  // the server warned: a commit may not have reached the standby
};

// True if the statement certainly had no effect and never will: an error that ends a transaction,
// told by a server that goes on. 40003 is the one of its class that means "not known".
bool is_certain(engine_error const& error);
// True for errors that a second try may not meet: serialisation failures and deadlocks.
bool is_transient(engine_error const& error);

class connection {
  public:
    explicit connection(poller& poller) : poller_(poller) {}

    // Connects to the host of that index and sets up the session.
    coro::task<base::result<void>> open(conninfo const* target, std::size_t host,
                                        std::uint32_t statement_ms, base::mono_ns deadline);
    void close();
    bool is_open() const { return handle_ != nullptr; }
    // For waiting while idle: readable when the server has closed the connection.
    int descriptor() const { return is_open() ? ::PQsocket(handle_.get()) : -1; }
    // To be called when it is readable while idle; closes it if the server has. The error says why.
    base::result<void> check_idle();
    std::string server() const;  // "PostgreSQL 15.18"

    coro::task<replies> run(batch const* statements, base::mono_ns deadline);
    coro::task<replies> run_one(statement only, base::mono_ns deadline);

    // One statement whose rows are taken one by one, so that a large answer needs no memory.
    // Nothing else runs until `next_row` has given nullopt, with `stream_error` or without.
    void begin_stream(statement const& query);
    coro::task<std::optional<answer>> next_row(base::mono_ns deadline);
    std::optional<engine_error> const& stream_error() const { return stream_error_; }

  private:
    struct deleter {
        void operator()(PGconn* handle) const { ::PQfinish(handle); }
    };
    struct step;

    static void take_notice(void* self, PGresult const* notice);
    coro::task<base::result<void>> handshake(base::mono_ns deadline);
    bool send(statement const& each);
    coro::task<step> next_result(base::mono_ns deadline);
    engine_error break_off(std::string text);
    static void note_break(std::optional<engine_error>& error, engine_error end);
    std::string error_text() const;

    poller& poller_;
    std::unique_ptr<PGconn, deleter> handle_;
    std::map<std::string, std::string, std::less<>> prepared_;  // names by texts
    std::uint64_t names_ = 0;
    std::vector<bool>
        expected_;  // of each result under way: whether a statement's, not a prepare's
    std::optional<engine_error> stream_error_;
    bool warned_ = false;
};

}  // namespace latchkey::replicate
