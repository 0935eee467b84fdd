// The follow_lane's words with the engine about the cluster as a whole: which it is, this node's
// line in it, who left.
#include <algorithm>

#include "base/bytes.hpp"
#include "helpers/replicate/follow_lane.hpp"
#include "helpers/replicate/follow_times.hpp"
#include "helpers/replicate/queries.hpp"

namespace latchkey::replicate {
namespace {

using replicate::protocol::failure;

constexpr char const* undefined_table = "42P01";

// Renews this node's line, or makes it. No row: the line is another instance's.
constexpr char const* renewal_sql =
    "INSERT INTO latchkey_node (name, instance, position, renewal, lease_ms, version, schema, "
    "joined_at) VALUES ($1, $2, $3, 1, $4, $5, $6, now()) ON CONFLICT (name) DO UPDATE SET "
    "position = excluded.position, renewal = latchkey_node.renewal + 1, "
    "lease_ms = excluded.lease_ms, version = excluded.version, schema = excluded.schema, "
    "left_at = NULL WHERE latchkey_node.instance = excluded.instance RETURNING renewal";

}  // namespace

coro::task<bool> follow_lane::greet() {
    bool const reached = co_await check_cluster();
    if (!reached || !shared_.cluster) co_return reached;
    bool const whole = co_await check_position(false);
    if (!whole) co_return false;
    shared_.out.send(replicate::protocol::ready{.cluster = *shared_.cluster,
                                                .head = shared_.head,
                                                .folded = shared_.folded,
                                                .first = first_});
    tail_time_ = nodes_time_ = lease_time_ = 0;
    co_return true;
}

// False: the connection is lost. No cluster is no failure of it: `shared_.cluster` stays empty.
coro::task<bool> follow_lane::check_cluster() {
    auto const replies = co_await engine_->run_one(
        statement("SELECT cluster, version, key_check FROM latchkey_cluster WHERE id = 1"),
        step_deadline());
    if (replies.error && replies.error->state != undefined_table) co_return keep(*replies.error);
    std::string complaint;
    static answer const nothing;
    auto const& lines = replies.error ? nothing : replies.list[0];
    if (lines.rows() == 0)
        complaint = "the engine holds no cluster yet: latchkey cluster init makes one";
    else if (lines.number(0, 1) == 0)
        complaint =
            "the cluster in the engine is not whole: latchkey cluster init is at work, "
            "or was interrupted and has to be run again";
    if (!complaint.empty()) {
        if (complaint != complaint_) shared_.out.fail(failure::no_cluster, complaint);
        complaint_ = complaint;
        co_return true;
    }
    auto const& settings = shared_.settings;
    auto const cluster = identity_of(lines.bytes(0, 0));
    std::string_view const key_check(settings.key_check.data(), settings.key_check.size());
    if (lines.number(0, 1) > tables_version)
        shared_.stop_for_good(failure::newer,
                              "the tables in the engine are those of a newer version of latchkey");
    else if (settings.cluster != replicate::protocol::identity{} && settings.cluster != cluster)
        shared_.stop_for_good(failure::other_cluster,
                              "the engine holds another cluster than the one of this store");
    else if (!base::equal_in_constant_time(lines.bytes(0, 2), key_check))
        shared_.stop_for_good(failure::other_key,
                              "master.key is not the one of the cluster: all nodes share it");
    if (shared_.stopped) co_return false;
    shared_.cluster = cluster;
    co_return true;
}

// Whether the log still is the one that this node has read: it reaches back to its position, and
// its last row has not become another one (an engine that failed over without its last commits).
coro::task<bool> follow_lane::check_position(bool gap) {
    // Both as they are now: meanwhile this node may append.
    auto const position = shared_.position, known_head = shared_.head;
    shared_.unchecked = false;
    batch statements;
    statements.push_back(read_bounds());
    statements.push_back(read_fold());
    statements.push_back(read_nonce(position));
    auto const replies = co_await engine_->run(&statements, step_deadline());
    if (replies.error) co_return keep(*replies.error);
    auto const first = replies.list[0].number(0, 0), head = replies.list[0].number(0, 1);
    auto const& nonces = replies.list[2];
    bool const other = shared_.position == position && is_other_row(nonces, shared_.nonce);
    bool const has_position = tailing_ || position != 0;
    if (head < known_head || (has_position && position > head) || other) {
        doubt_host();
        co_return false;
    }
    doubt_time_.reset();
    if (has_position && (position < first || (gap && shared_.position == position))) {
        shared_.stop_for_good(
            failure::rows_gone,
            "the log in the engine no longer has the rows after the position of this node, which "
            "was away for too long: it has to join anew with an empty data directory");
    }
    if (shared_.stopped) co_return false;
    if (shared_.position == position) server_position_ = position;
    shared_.head = std::max(shared_.head, head);
    shared_.folded = replies.list[1].number(0, 0);
    first_ = first;
    co_return true;
}

// Rows that this node has applied are not there: they are lost, or this server was the primary
// until a moment ago and does not know that another one is. That passes, so other hosts are asked
// for as long as this node may hold a lease and answers anyway.
void follow_lane::doubt_host() {
    auto const now = read_boot_clock();
    auto const patience = shared_.settings.lease_ms * base::millisecond;
    if (!doubt_time_) doubt_time_ = now;
    if (now - *doubt_time_ >= patience)
        shared_.stop_for_good(failure::rows_lost, replicate::protocol::rows_lost_text);
    else
        shared_.report(shared_.follow_connected, false,
                       engine_.host() + ": it lacks rows that this node has applied");
    engine_.leave_host();
}

coro::task<bool> follow_lane::renew() {
    auto const& settings = shared_.settings;
    bool const holding = lease_ == lease_state::holding;
    auto const interval = settings.lease_ms * base::millisecond / renewals_per_lease;
    auto const start = read_boot_clock();
    auto const applied = shown_position();
    batch statements;
    statement renewal(renewal_sql);
    renewal.text(settings.node).bytes(view(settings.instance)).number(applied);
    renewal.small(holding ? settings.lease_ms : 0).text(settings.version).small(settings.schema);
    statements.push_back(std::move(renewal.apart()));
    statements.push_back(read_bounds());
    statements.push_back(read_fold());
    auto const replies = co_await engine_->run(&statements, step_deadline());
    // At once again if the lease was to begin meanwhile.
    bool const current = holding == (lease_ == lease_state::holding);
    lease_time_ = current ? base::read_mono() + interval : 0;
    if (replies.error) {
        lease_time_ = 0;
        co_return keep(*replies.error);
    }
    if (replies.list[0].rows() == 0) {
        bool const going = co_await take_over();
        co_return going;
    }
    auto const count = replies.list[0].number(0, 0);
    if (renewal_ && count != *renewal_ + 1) {
        shared_.stop_for_good(failure::name_taken,
                              "another process renews the lease of this node: two nodes run with "
                              "copies of one data directory");
        co_return false;
    }
    renewal_ = count;
    applied_told_ = applied;
    auto const head = replies.list[1].number(0, 1);
    shared_.head = std::max(shared_.head, head);
    shared_.folded = replies.list[2].number(0, 0);
    if (holding && lease_ == lease_state::holding)
        shared_.out.send(replicate::protocol::lease{.start = start, .head = head});
    co_return true;
}

// The line under this node's name is another instance's. When that has left, or its lease has
// ended, the name is taken over; a running one is left alone.
coro::task<bool> follow_lane::take_over() {
    lease_time_ = base::read_mono() + base::second / 2;
    auto const& settings = shared_.settings;
    auto const lines = co_await engine_->run_one(read_nodes(), step_deadline());
    if (lines.error) co_return keep(*lines.error);
    auto const now = read_boot_clock();
    shared_.nodes.observe(parse_nodes(lines.list[0]), now);
    auto const* other = shared_.nodes.find(settings.node);
    if (other == nullptr || other->instance == settings.instance) co_return true;
    if (foreign_ && other->renewal != foreign_renewal_) {
        shared_.stop_for_good(
            failure::name_taken,
            "another node runs under the name " + settings.node + ": each needs a name of its own");
        co_return false;
    }
    if (!foreign_ && !other->departed)
        shared_.out.fail(failure::engine,
                         "the name of this node was another one's: waiting for its lease to end");
    foreign_ = true;
    foreign_renewal_ = other->renewal;
    auto const all = shared_.nodes.list(now);
    bool const alive = std::ranges::any_of(
        all, [&](auto const& each) { return each.name == settings.node && each.alive; });
    if (alive) co_return true;
    statement update(
        "UPDATE latchkey_node SET instance = $1 WHERE name = $2 AND instance = $3 AND renewal = "
        "$4");
    update.bytes(view(settings.instance)).text(settings.node).bytes(view(other->instance));
    update.number(foreign_renewal_);
    auto const replies = co_await engine_->run_one(std::move(update), step_deadline());
    if (replies.error) co_return keep(*replies.error);
    foreign_ = false;
    lease_time_ = 0;
    co_return true;
}

// An empty name says that the departure was answered.
coro::task<bool> follow_lane::depart(departure* leaving) {
    auto const* node = shared_.nodes.find(leaving->node);
    if (node == nullptr) {
        shared_.out.fail(failure::engine, "no node is called " + leaving->node, leaving->request);
        leaving->node.clear();
        co_return true;
    }
    bool const own = node->instance == shared_.settings.instance && shared_.settings.lease_ms != 0;
    if (own) lease_ = lease_state::ended;
    if (!std::exchange(leaving->in_progress, true)) leaving->renewal = node->renewal;
    auto const all = shared_.nodes.list(read_boot_clock());
    bool const alive = std::ranges::any_of(
        all, [&](auto const& each) { return each.name == leaving->node && each.alive; });
    if (!own && node->renewal != leaving->renewal) {
        shared_.out.fail(failure::name_taken, leaving->node + " is running: stop it first",
                         leaving->request);
        leaving->node.clear();
        co_return true;
    }
    if (alive && !own) co_return true;
    statement update(
        "UPDATE latchkey_node SET left_at = now() WHERE name = $1 AND instance = $2 AND "
        "renewal = $3");
    update.text(leaving->node).bytes(view(node->instance)).number(node->renewal);
    auto const replies = co_await engine_->run_one(std::move(update), step_deadline());
    if (replies.error) co_return keep(*replies.error);
    if (replies.list[0].changes() == 0) co_return true;  // it was renewed meanwhile
    shared_.out.send(replicate::protocol::completion{}, leaving->request);
    leaving->node.clear();
    co_return true;
}

coro::task<bool> follow_lane::report_status(std::uint32_t request) {
    batch statements;
    statements.push_back(read_bounds());
    statements.push_back(read_fold());
    statements.emplace_back("SELECT cluster, version FROM latchkey_cluster WHERE id = 1");
    auto const replies = co_await engine_->run(&statements, step_deadline());
    if (replies.error) co_return keep(*replies.error);
    replicate::protocol::status_report report{.server = engine_->server(), .host = engine_.host()};
    report.first = replies.list[0].number(0, 0);
    report.head = replies.list[0].number(0, 1);
    report.folded = replies.list[1].number(0, 0);
    report.cluster = identity_of(replies.list[2].bytes(0, 0));
    report.version = static_cast<std::uint32_t>(replies.list[2].number(0, 1));
    report.nodes = shared_.nodes.list(read_boot_clock());
    // PostgreSQL's own; others wait for their replicas anyway and have no such setting.
    auto const standbys = co_await engine_->run_one(
        statement("SELECT current_setting('synchronous_standby_names')"), step_deadline());
    if (!engine_.is_open()) co_return false;
    report.standby_synchronous = standbys.error || !standbys.list[0].bytes(0, 0).empty();
    shared_.out.send(std::move(report), request);
    co_return true;
}

}  // namespace latchkey::replicate
