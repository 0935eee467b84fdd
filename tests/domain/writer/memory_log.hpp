// A shared log in memory, for the tests of the store in a cluster: one engine, and a log for each
// node. What a test sets decides how the next appends end; by default each one that is in order
// wins, and arrives everywhere at once.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "domain/store_terms.hpp"
#include "store/shared_log.hpp"

namespace latchkey::domain {

// Thrown by a log where a test ends the node: nothing after that happens.
struct node_crash : std::runtime_error {
    node_crash() : std::runtime_error("the node has crashed") {}
};

class memory_log;

class memory_engine {
  public:
    std::vector<log_row> rows() const;
    std::uint64_t head() const;

  private:
    friend class memory_log;
    mutable std::mutex mutex_;
    std::vector<log_row> rows_;
    std::vector<memory_log*> logs_;
};

enum class append_fault {
    none,
    away,          // not appended, and that is known
    unknown_won,   // appended, but it is not known
    unknown_lost,  // not appended, which is not known
    crash_before,
    crash_after  // appended; the node ends before its store is committed
};

class memory_log final : public shared_log {
  public:
    explicit memory_log(memory_engine& engine);
    ~memory_log();
    memory_log(memory_log const&) = delete;
    memory_log& operator=(memory_log const&) = delete;

    append_result append(log_row const& row) override;
    append_result resolve(log_row const& row) override;
    std::vector<log_row> rows_after(std::uint64_t position, std::size_t bytes_max) override;
    bool fetch(std::uint64_t position) override;
    void release() override;
    void applied(std::uint64_t position, row_nonce const&, bool urgent) override;
    std::uint64_t confirmed() const override;
    base::wall_ms last_lease_end() const override;
    void on_arrival(std::function<void()> wake) override;

    // What a test sets, before the writer runs or with the functions below.
    std::function<void()> before_append;  // by whoever decides, at its position
    std::function<void()> before_rows;    // are asked for
    bool arrives = true;                  // false: rows come only by `fetch`

    void fail_next(append_fault fault);
    void set_away(bool away);          // the engine cannot be reached
    void set_answering(bool answers);  // false: `resolve` is unknown
    void set_lease(bool has_lease);    // counts in `confirmed` of all; none does at the beginning
    void set_lease_end(base::wall_ms time);
    void set_schema(std::uint32_t schema);  // of the rows that arrive here, as if others were newer
    // As the node sees it.
    std::uint64_t position() const;
    std::size_t appends() const;
    std::size_t fetches() const;
    std::size_t releases() const;
    std::size_t urgent_reports() const;  // calls of `applied` for what turns something off

  private:
    append_result finish_append(log_row const& row, append_fault fault);
    void wake_all();

    memory_engine& engine_;
    std::function<void()> wake_;
    std::recursive_mutex wake_mutex_;
    std::deque<append_fault> faults_;
    bool away_ = false, answers_ = true, has_lease_ = false;
    base::wall_ms lease_end_ = 0;
    std::uint32_t schema_ = 0;
    std::uint64_t position_ = 0, fetched_ = 0;
    std::size_t appends_ = 0, fetches_ = 0, releases_ = 0, urgent_reports_ = 0;
};

}  // namespace latchkey::domain
