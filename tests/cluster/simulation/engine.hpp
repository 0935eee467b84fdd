// The engine of the cluster, as latchkey-replicate uses it: the log, the nodes' lines, the lock of
// the head. It goes away, fails over with all that it had promised or without the last of it, and
// appends reach it late.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dice.hpp"
#include "helpers/replicate/node_table.hpp"
#include "helpers/replicate/protocol/quota_grant.hpp"
#include "helpers/replicate/protocol/replicate_messages.hpp"
#include "machine.hpp"

namespace latchkey::simulation {

using replicate::protocol::identity;

class engine {
  public:
    engine(real_ns const& now, dice& dice) : now_(&now), dice_(&dice) {}

    // ---- what clients do
    bool is_away() const { return is_away_; }
    // Connections of an earlier term are broken.
    std::uint64_t term() const { return term_; }
    bool append(replicate::protocol::append const& content);
    // On its way to the server, after its client has given the connection up.
    void append_later(replicate::protocol::append const& content) { late_.push_back(content); }
    std::uint64_t head() const { return rows_.size(); }
    std::optional<identity> nonce_at(std::uint64_t position) const;
    std::vector<replicate::protocol::log_row> rows_after(std::uint64_t position) const;
    // For a second nobody else can append.
    bool reserve(void const* client);
    void release(void const* client);
    bool is_reserved_by_other(void const* client) const;

    void renew(replicate::node_row const& line);
    void write_position(std::string const& name, std::uint64_t position);
    void write_departure(std::string const& name);
    std::vector<replicate::node_row> lines() const;

    // Tokens of limits. No failover takes them back: what is promised of limits assumes that.
    replicate::protocol::quota_rows tokens;

    // ---- what happens to it
    void step();
    void begin_outage();
    void fail_over();
    // At least one row is lost. Lines of nodes too: true for those whose lease, or the last renewal
    // of it, is not known any more.
    std::map<std::string, bool> fail_over_without_promises();
    bool has_lost(identity const& nonce) const { return losses_.contains(nonce); }
    void heal();

  private:
    struct write {  // of a row, else of a line
        std::optional<replicate::protocol::log_row> row;
        replicate::node_row line;
    };
    void commit(write content);
    void replay(write const& content);

    real_ns const* now_;
    dice* dice_;
    std::vector<write> history_;
    std::vector<replicate::protocol::log_row> rows_;
    std::map<std::string, replicate::node_row> lines_;
    std::vector<replicate::protocol::append> late_;
    std::uint64_t term_ = 1;
    bool is_away_ = false;
    std::set<identity> losses_;  // nonces of rows
    void const* reserved_by_ = nullptr;
    real_ns reserved_until_ = 0;
};

}  // namespace latchkey::simulation
