// The state_lane's init: a state is taken over into an engine that has no cluster.
//
// The line of latchkey_cluster has version 0 until the state is whole. Each step locks it and looks
// whether the init is still this one, so that an interrupted init can be begun again at once.
#include "helpers/replicate/queries.hpp"
#include "helpers/replicate/state_lane.hpp"
#include "helpers/replicate/state_times.hpp"

namespace latchkey::replicate {

using replicate::protocol::failure;

coro::task<> state_lane::begin_init(std::uint32_t request,
                                    replicate::protocol::init_begin settings) {
    // Made one by one: not all engines make tables within a transaction.
    for (auto& each : make_tables()) {
        auto const creation = co_await engine_->run_one(std::move(each), long_deadline());
        if (creation.error) {
            error_ = *creation.error;
            fail(request);
            co_return;
        }
    }
    std::string_view const key_check(shared_.settings.key_check.data(),
                                     shared_.settings.key_check.size());
    batch statements;
    statements.push_back(std::move(
        statement("INSERT INTO latchkey_cluster (id, cluster, version, key_check, created_at) "
                  "VALUES (1, $1, 0, $2, now()) ON CONFLICT (id) DO UPDATE SET cluster = "
                  "excluded.cluster, key_check = excluded.key_check WHERE "
                  "latchkey_cluster.version = 0")
            .bytes(view(settings.cluster))
            .bytes(key_check)));
    auto const replies = co_await engine_->run(&statements, long_deadline());
    if (replies.error) {
        error_ = *replies.error;
        fail(request);
        co_return;
    }
    if (replies.list[0].changes() == 0) {
        shared_.out.fail(failure::exists,
                         "the engine holds a cluster already: a node joins it with an empty data "
                         "directory and the cluster's master.key",
                         request);
        co_return;
    }
    new_cluster_ = settings.cluster;
    bool going = co_await lock_init();
    if (going) {
        batch clearance;  // of an init that was interrupted
        for (auto const* table :
             {"latchkey_record", "latchkey_log", "latchkey_node", "latchkey_fold"})
            clearance.emplace_back("DELETE FROM " + std::string(table));
        clearance.emplace_back("COMMIT");
        going = co_await run_batch(std::move(clearance));
    }
    if (going)
        shared_.out.send(replicate::protocol::completion{}, request);
    else
        fail(request);
}

// Begins a transaction in which nobody else can begin an init. False: `error_` says why.
coro::task<bool> state_lane::lock_init() {
    if (!new_cluster_) {
        error_ = {.text = "no init has begun"};
        co_return false;
    }
    batch statements;
    statements.emplace_back("BEGIN");
    statements.push_back(
        std::move(statement("SELECT id FROM latchkey_cluster WHERE id = 1 AND cluster = $1 AND "
                            "version = 0 FOR UPDATE")
                      .bytes(view(*new_cluster_))));
    auto const replies = co_await engine_->run(&statements, long_deadline());
    if (!replies.error && replies.list[1].rows() == 1) co_return true;
    error_ = replies.error ? *replies.error : engine_error{.text = "another init has begun"};
    auto const undone = co_await engine_->run_one(statement("ROLLBACK"), long_deadline());
    co_return false;
}

coro::task<> state_lane::take_chunk(std::uint32_t request,
                                    replicate::protocol::state_chunk const* chunk) {
    bool going = co_await lock_init();
    if (going) {
        going = co_await write_records(&chunk->records);
        batch end;
        end.emplace_back(going ? "COMMIT" : "ROLLBACK");
        auto const commit = co_await engine_->run(&end, long_deadline());
        if (going && commit.error) error_ = *commit.error;
        going = going && !commit.error;
    }
    if (going)
        shared_.out.send(replicate::protocol::completion{}, request);
    else
        fail(request);
}

coro::task<> state_lane::end_init(std::uint32_t request, replicate::protocol::init_end settings) {
    bool going = co_await lock_init();
    if (going) {
        // The row before the first one: every append looks for the row before its own.
        batch statements;
        statements.push_back(std::move(
            statement("INSERT INTO latchkey_log (shard, position, node, nonce, schema, flags, "
                      "effects) VALUES (0, $1, $2, $3, $4, 0, '')")
                .number(settings.position)
                .text(shared_.settings.node)
                .bytes(view(replicate::protocol::identity{}))
                .small(settings.schema)));
        statements.push_back(
            std::move(statement("INSERT INTO latchkey_fold (id, folded, schema) VALUES (1, $1, $2)")
                          .number(settings.position)
                          .small(settings.schema)));
        statements.push_back(
            std::move(statement("UPDATE latchkey_cluster SET version = $1 WHERE id = 1")
                          .small(tables_version)));
        statements.emplace_back("COMMIT");
        going = co_await run_batch(std::move(statements));
        if (!going && engine_.is_open())
            co_await engine_->run_one(statement("ROLLBACK"), long_deadline());
    }
    if (!going) {
        fail(request);
        co_return;
    }
    new_cluster_.reset();
    shared_.out.send(replicate::protocol::completion{}, request);
    on_init_();
}

}  // namespace latchkey::replicate
