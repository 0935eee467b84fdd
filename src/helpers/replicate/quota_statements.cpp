#include "helpers/replicate/quota_statements.hpp"

#include <algorithm>

#include "base/bytes.hpp"

namespace latchkey::replicate {
namespace {

// Statements for so many buckets are kept by the server.
constexpr std::size_t kept_max = 16;

constexpr char const* member_columns =
    "SELECT name, process, presence, share, clock FROM latchkey_quota_node";

statement keep(statement&& query, std::size_t count) {
    if (count > kept_max) query.once();
    return std::move(query);
}

// "$1, $2, …"
std::string parameters(std::size_t count) {
    std::string text;
    for (std::size_t i = 1; i <= count; ++i) text += (i == 1 ? "$" : ", $") + std::to_string(i);
    return text;
}

std::uint64_t to_number(std::int64_t value) {
    return static_cast<std::uint64_t>(value);
}

}  // namespace

std::string bucket_id(replicate::protocol::quota_bucket const& bucket) {
    std::string id;
    base::append(id, bucket.key);
    base::append(id, bucket.slot);
    base::append(id, bucket.generation);
    return id;
}

statement add_buckets(std::vector<replicate::protocol::quota_bucket> const& list) {
    std::string sql = "INSERT INTO latchkey_quota_bucket (id, arrival, clock) VALUES ";
    statement values("");
    for (std::size_t i = 0; i < list.size(); ++i) {
        sql += (i == 0 ? "($" : ", ($") + std::to_string(i + 1) + ", 0, 0)";
        values.bytes(bucket_id(list[i]));
    }
    sql += " ON CONFLICT (id) DO NOTHING";
    return keep(std::move(values).with_text(std::move(sql)), list.size());
}

statement lock_buckets(std::vector<replicate::protocol::quota_bucket> const& list) {
    statement query("SELECT id, arrival, clock FROM latchkey_quota_bucket WHERE id IN (" +
                    parameters(list.size()) + ") ORDER BY id FOR UPDATE");
    for (auto const& each : list) query.bytes(bucket_id(each));
    return keep(std::move(query), list.size());
}

statement write_buckets(std::vector<std::pair<replicate::protocol::quota_bucket,
                                              replicate::protocol::quota_level>> const& list) {
    std::string sql = "INSERT INTO latchkey_quota_bucket (id, arrival, clock) VALUES ";
    statement values("");
    for (std::size_t i = 0; i < list.size(); ++i) {
        auto const& [bucket, level] = list[i];
        auto const number = [&](std::size_t column) { return std::to_string(3 * i + column); };
        sql += (i == 0 ? "($" : ", ($") + number(1) + ", $" + number(2) + ", $" + number(3) + ")";
        values.bytes(bucket_id(bucket));
        values.number(to_number(level.arrival)).number(to_number(level.clock));
    }
    sql += " ON CONFLICT (id) DO UPDATE SET arrival = excluded.arrival, clock = excluded.clock";
    return keep(std::move(values).with_text(std::move(sql)), list.size());
}

statement sweep_buckets(replicate::protocol::cluster_ns clock) {
    statement query(
        "DELETE FROM latchkey_quota_bucket WHERE id IN (SELECT id FROM latchkey_quota_bucket "
        "WHERE arrival < $1 LIMIT 10000) AND arrival < $1");
    query.number(to_number(clock));
    return query;
}

statement read_members() {
    return statement(member_columns);
}

statement lock_member(std::string_view name) {
    statement query(std::string(member_columns) + " WHERE name = $1 FOR UPDATE");
    query.text(name);
    return query;
}

statement lock_members() {
    return statement(std::string(member_columns) + " ORDER BY name FOR UPDATE");
}

statement write_member(replicate::protocol::quota_member const& member) {
    statement query(
        "INSERT INTO latchkey_quota_node (name, process, presence, share, clock) "
        "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (name) DO UPDATE SET process = excluded.process, "
        "presence = excluded.presence, share = excluded.share, clock = excluded.clock");
    query.text(member.name).number(member.process).number(member.presence);
    query.small(member.share).number(to_number(member.clock));
    return query;
}

statement remove_member(std::string_view name) {
    statement query("DELETE FROM latchkey_quota_node WHERE name = $1");
    query.text(name);
    return query;
}

void parse_buckets(answer const& lines, std::vector<replicate::protocol::quota_bucket> const& list,
                   replicate::protocol::quota_rows& rows) {
    // Both are in the same order.
    for (std::size_t i = 0; i < std::min(lines.rows(), list.size()); ++i)
        rows.buckets[list[i]] = {.arrival = static_cast<std::int64_t>(lines.number(i, 1)),
                                 .clock = static_cast<std::int64_t>(lines.number(i, 2))};
}

void parse_members(answer const& lines, replicate::protocol::quota_rows& rows) {
    auto const count = std::min(lines.rows(), replicate::protocol::nodes_max);
    for (std::size_t i = 0; i < count; ++i) {
        std::string name(lines.bytes(i, 0).substr(0, replicate::protocol::name_bytes_max));
        rows.members[name] = {.name = name,
                              .process = lines.number(i, 1),
                              .presence = lines.number(i, 2),
                              .share = static_cast<std::uint32_t>(lines.number(i, 3)),
                              .clock = static_cast<std::int64_t>(lines.number(i, 4))};
    }
}

}  // namespace latchkey::replicate
