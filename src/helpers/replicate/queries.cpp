// The statements are texts with numbered parameters, which a connection prepares once. An append is
// a single INSERT … SELECT behind a locking subquery, which yields no row unless the row before is
// there. A page of the log leaves large effects out; the first row of a page, if it lacks them, is
// read alone.
#include "helpers/replicate/queries.hpp"

#include <algorithm>

namespace latchkey::replicate {
namespace {

constexpr std::uint32_t urgent_flag = 1;

// Rows of a page of the log: small ones come with their effects, larger ones alone.
constexpr char const* log_page =
    "SELECT position, nonce, schema, flags, "
    "CASE WHEN octet_length(effects) <= 262144 THEN effects END "
    "FROM latchkey_log WHERE shard = 0 AND position > $1 ORDER BY position LIMIT 64";
static_assert(64 * 262'144 <= replicate::protocol::rows_bytes_max);

constexpr char const* tables[] = {
    "CREATE TABLE IF NOT EXISTS latchkey_cluster (id int PRIMARY KEY, cluster bytea NOT NULL, "
    "version int NOT NULL, key_check bytea NOT NULL, created_at timestamptz NOT NULL)",
    "CREATE TABLE IF NOT EXISTS latchkey_log (shard int NOT NULL, position bigint NOT NULL, "
    "node text NOT NULL, nonce bytea NOT NULL, schema int NOT NULL, flags int NOT NULL, "
    "effects bytea NOT NULL, PRIMARY KEY (shard, position))",
    "CREATE TABLE IF NOT EXISTS latchkey_record (part int NOT NULL, key bytea NOT NULL, "
    "value bytea NOT NULL, PRIMARY KEY (part, key))",
    "CREATE TABLE IF NOT EXISTS latchkey_fold (id int PRIMARY KEY, folded bigint NOT NULL, "
    "schema int NOT NULL)",
    "CREATE TABLE IF NOT EXISTS latchkey_node (name text PRIMARY KEY, instance bytea NOT NULL, "
    "position bigint NOT NULL, renewal bigint NOT NULL, lease_ms int NOT NULL, "
    "version text NOT NULL, schema int NOT NULL, joined_at timestamptz NOT NULL, "
    "left_at timestamptz)",
    "CREATE TABLE IF NOT EXISTS latchkey_quota_bucket (id bytea PRIMARY KEY, "
    "arrival bigint NOT NULL, clock bigint NOT NULL)",
    "CREATE TABLE IF NOT EXISTS latchkey_quota_node (name text PRIMARY KEY, "
    "process bigint NOT NULL, presence bigint NOT NULL, share int NOT NULL, "
    "clock bigint NOT NULL)",
};

constexpr char const* append_sql =
    "WITH gate AS (SELECT id FROM latchkey_cluster WHERE id = 1 AND cluster = $1 FOR UPDATE) "
    "INSERT INTO latchkey_log (shard, position, node, nonce, schema, flags, effects) "
    "SELECT 0, $2, $3, $4, $5, $6, $7 FROM gate WHERE EXISTS (SELECT 1 FROM latchkey_log "
    "WHERE shard = 0 AND position = $8) ON CONFLICT (shard, position) DO NOTHING";
// The same, but the row before must be the one that this node has.
constexpr char const* append_after_sql =
    "WITH gate AS (SELECT id FROM latchkey_cluster WHERE id = 1 AND cluster = $1 FOR UPDATE) "
    "INSERT INTO latchkey_log (shard, position, node, nonce, schema, flags, effects) "
    "SELECT 0, $2, $3, $4, $5, $6, $7 FROM gate WHERE EXISTS (SELECT 1 FROM latchkey_log "
    "WHERE shard = 0 AND position = $8 AND nonce = $9) ON CONFLICT (shard, position) DO NOTHING";

replicate::protocol::log_row row_without_effects(answer const& page, std::size_t line) {
    replicate::protocol::log_row row;
    row.position = page.number(line, 0);
    row.nonce = identity_of(page.bytes(line, 1));
    row.schema = static_cast<std::uint32_t>(page.number(line, 2));
    row.urgent = (page.number(line, 3) & urgent_flag) != 0;
    return row;
}

// The rows of a page, or its first one, which is too large for it.
coro::task<rows_result> complete_page(connection* engine, answer const* page,
                                      base::mono_ns deadline) {
    auto rows = parse_page(*page);
    if (!rows.empty() || page->rows() == 0) co_return rows_result(std::move(rows));
    auto row = row_without_effects(*page, 0);
    statement alone("SELECT effects FROM latchkey_log WHERE shard = 0 AND position = $1");
    alone.number(row.position);
    auto const content = co_await engine->run_one(std::move(alone), deadline);
    if (content.error) co_return rows_result();
    if (content.list[0].rows() == 1) {
        row.effects = content.list[0].bytes(0, 0);
        rows.push_back(std::move(row));
    }
    co_return rows_result(std::move(rows));
}

}  // namespace

batch make_tables() {
    batch statements;
    for (auto const* each : tables) statements.push_back(std::move(statement(each).once()));
    return statements;
}

statement append_row(replicate::protocol::log_row const& row, append_place const& place) {
    statement query(place.previous ? append_after_sql : append_sql);
    query.bytes(view(place.cluster)).number(row.position).text(place.node).bytes(view(row.nonce));
    query.small(row.schema).small(row.urgent ? urgent_flag : 0).bytes(row.effects);
    query.number(row.position - 1);
    if (place.previous) query.bytes(view(*place.previous));
    return query;
}

statement read_nonce(std::uint64_t position) {
    return std::move(statement("SELECT nonce FROM latchkey_log WHERE shard = 0 AND position = $1")
                         .number(position));
}

bool is_other_row(answer const& nonces, replicate::protocol::identity const& nonce) {
    return is_known(nonce) && nonces.rows() == 1 && nonces.bytes(0, 0) != view(nonce);
}

statement read_bounds() {
    return statement(
        "SELECT (SELECT position FROM latchkey_log WHERE shard = 0 ORDER BY position LIMIT 1), "
        "(SELECT position FROM latchkey_log WHERE shard = 0 ORDER BY position DESC LIMIT 1)");
}

statement read_head() {
    return statement(
        "SELECT (SELECT position FROM latchkey_log WHERE shard = 0 ORDER BY position DESC LIMIT "
        "1)");
}

statement read_fold() {
    return statement("SELECT folded, schema FROM latchkey_fold WHERE id = 1");
}

statement read_nodes() {
    return statement(
        "SELECT name, instance, position, renewal, lease_ms, schema, version, "
        "CASE WHEN left_at IS NULL THEN 0 ELSE 1 END FROM latchkey_node");
}

std::vector<node_row> parse_nodes(answer const& lines) {
    std::vector<node_row> nodes;
    auto const count = std::min(lines.rows(), replicate::protocol::nodes_max);
    for (std::size_t i = 0; i < count; ++i) {
        auto& node = nodes.emplace_back();
        node.name = lines.bytes(i, 0).substr(0, replicate::protocol::name_bytes_max);
        node.instance = identity_of(lines.bytes(i, 1));
        node.position = lines.number(i, 2);
        node.renewal = lines.number(i, 3);
        node.lease_ms = static_cast<std::uint32_t>(lines.number(i, 4));
        node.schema = static_cast<std::uint32_t>(lines.number(i, 5));
        node.version = lines.bytes(i, 6).substr(0, replicate::protocol::name_bytes_max);
        node.departed = lines.number(i, 7) != 0;
    }
    return nodes;
}

statement read_page(std::uint64_t position) {
    return std::move(statement(log_page).number(position));
}

std::vector<replicate::protocol::log_row> parse_page(answer const& page) {
    std::vector<replicate::protocol::log_row> rows;
    for (std::size_t i = 0; i < page.rows() && !page.is_null(i, 4); ++i) {
        auto row = row_without_effects(page, i);
        if (!rows.empty() && row.position != rows.back().position + 1) break;
        row.effects = page.bytes(i, 4);
        rows.push_back(std::move(row));
    }
    return rows;
}

coro::task<rows_result> read_rows(connection* engine, std::uint64_t position,
                                  base::mono_ns deadline) {
    auto const page = co_await engine->run_one(read_page(position), deadline);
    if (page.error) co_return rows_result();
    auto rows = co_await complete_page(engine, &page.list[0], deadline);
    co_return rows;
}

coro::task<std::optional<tail_page>> read_tail(connection* engine, std::uint64_t position,
                                               base::mono_ns deadline) {
    batch statements;
    statements.push_back(read_nonce(position));
    statements.push_back(read_page(position));
    auto replies = co_await engine->run(&statements, deadline);
    if (replies.error) co_return std::nullopt;
    auto rows = co_await complete_page(engine, &replies.list[1], deadline);
    if (!rows) co_return std::nullopt;
    co_return tail_page{.nonces = std::move(replies.list[0]), .rows = std::move(*rows)};
}

replicate::protocol::identity identity_of(std::string_view bytes) {
    replicate::protocol::identity value{};
    bytes.copy(value.data(), value.size());
    return value;
}

}  // namespace latchkey::replicate
