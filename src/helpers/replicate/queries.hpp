// The tables in the engine, and the statements that several lanes use. Only what PostgreSQL 13 to
// 18, CockroachDB and YugabyteDB share: tables, transactions, primary keys, ON CONFLICT, FOR
// UPDATE.
//
//     latchkey_cluster   one line; its lock is the gate through which rows enter the log
//     latchkey_log       the rows; `shard` is 0 (YugabyteDB orders a table by what follows the
//                        first column of its key)
//     latchkey_record    the state after the row `latchkey_fold.folded`
//     latchkey_node      a line for each node
//     latchkey_quota_…   limits that the nodes share (quota_lane.hpp)
//
// A row is won by inserting it: the primary key decides, and the row before it must be there. No
// line changes with each append, since old versions of such a line, kept for a long snapshot (a
// backup), would make every append slower.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "helpers/replicate/node_table.hpp"
#include "helpers/replicate/postgres_connection.hpp"
#include "helpers/replicate/protocol/replicate_messages.hpp"
#include "helpers/replicate/statement.hpp"
#include "runtime/coro/task.hpp"

namespace latchkey::replicate {

inline constexpr std::uint32_t tables_version = 1;

batch make_tables();

struct append_place {
    replicate::protocol::identity cluster{};
    std::string node;
    std::optional<replicate::protocol::identity>
        previous;  // the nonce of the row before, if it is known
};
// changes() is 1 if the row was won.
statement append_row(replicate::protocol::log_row const& row, append_place const& place);
// (nonce), if it is there.
statement read_nonce(std::uint64_t position);
// In the answer to that: is it another row than the one that is known by this nonce?
bool is_other_row(answer const& nonces, replicate::protocol::identity const& nonce);
// (first position, last position), each NULL without a row.
statement read_bounds();
// (last position), NULL without a row: cheaper, since what was removed lies before the first one.
statement read_head();
// (folded, schema)
statement read_fold();
// The lines for `parse_nodes`.
statement read_nodes();
std::vector<node_row> parse_nodes(answer const& lines);

// The next rows after `position` for `parse_page`.
statement read_page(std::uint64_t position);
// In their order without a gap, up to one that is too large for a page.
std::vector<replicate::protocol::log_row> parse_page(answer const& page);

// The rows after `position` in their order, as many as fit one message, without a gap; none: there
// are none. A gap after `position` itself shows in the first row.
using rows_result = std::optional<std::vector<replicate::protocol::log_row>>;
coro::task<rows_result> read_rows(connection* engine, std::uint64_t position,
                                  base::mono_ns deadline);

// The same, and the row at `position` itself, which tells another history of the log from this one.
struct tail_page {
    answer nonces;  // as of `read_nonce`
    std::vector<replicate::protocol::log_row> rows;
};
coro::task<std::optional<tail_page>> read_tail(connection* engine, std::uint64_t position,
                                               base::mono_ns deadline);

replicate::protocol::identity identity_of(std::string_view bytes);
inline std::string_view view(replicate::protocol::identity const& bytes) {
    return {bytes.data(), bytes.size()};
}
inline bool is_known(replicate::protocol::identity const& nonce) {
    return nonce != replicate::protocol::identity{};
}

}  // namespace latchkey::replicate
