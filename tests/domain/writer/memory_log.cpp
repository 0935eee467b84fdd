#include "memory_log.hpp"

#include <algorithm>

namespace latchkey::domain {

using guard = std::lock_guard<std::mutex>;

std::vector<log_row> memory_engine::rows() const {
    guard const lock(mutex_);
    return rows_;
}
std::uint64_t memory_engine::head() const {
    guard const lock(mutex_);
    return rows_.size();
}

memory_log::memory_log(memory_engine& engine) : engine_(engine) {
    guard const lock(engine_.mutex_);
    engine_.logs_.push_back(this);
}

memory_log::~memory_log() {
    guard const lock(engine_.mutex_);
    std::erase(engine_.logs_, this);
}

append_result memory_log::append(log_row const& row) {
    if (before_append) before_append();
    auto fault = append_fault::none;
    {
        guard const lock(engine_.mutex_);
        ++appends_;
        if (away_) return append_result::unavailable;
        if (!faults_.empty()) {
            fault = faults_.front();
            faults_.pop_front();
        }
    }
    if (fault == append_fault::away) return append_result::unavailable;
    if (fault == append_fault::crash_before) throw node_crash();
    if (fault == append_fault::unknown_lost) return append_result::unknown;
    return finish_append(row, fault);
}

append_result memory_log::finish_append(log_row const& row, append_fault fault) {
    {
        guard const lock(engine_.mutex_);
        bool const in_order = row.position == engine_.rows_.size() + 1;
        if (in_order) engine_.rows_.push_back(row);
        if (!in_order && fault == append_fault::none) return append_result::lost;
    }
    if (fault == append_fault::crash_after) throw node_crash();
    wake_all();
    return fault == append_fault::none ? append_result::won : append_result::unknown;
}

append_result memory_log::resolve(log_row const& row) {
    guard const lock(engine_.mutex_);
    if (!answers_ || away_) return append_result::unknown;
    if (row.position > engine_.rows_.size()) return append_result::lost;
    return engine_.rows_[row.position - 1].nonce == row.nonce ? append_result::won
                                                              : append_result::lost;
}

std::vector<log_row> memory_log::rows_after(std::uint64_t position, std::size_t bytes_max) {
    if (before_rows) before_rows();
    guard const lock(engine_.mutex_);
    std::vector<log_row> rows;
    std::size_t size = 0;
    auto const end = arrives && !away_ ? engine_.rows_.size() : fetched_;
    for (auto i = position; i < end; ++i) {
        size += engine_.rows_[i].effects.size();
        if (!rows.empty() && size > bytes_max) break;
        rows.push_back(engine_.rows_[i]);
        if (schema_ != 0) rows.back().schema = schema_;
    }
    return rows;
}

bool memory_log::fetch(std::uint64_t position) {
    guard const lock(engine_.mutex_);
    ++fetches_;
    if (away_) return false;
    fetched_ = engine_.rows_.size();
    return fetched_ > position;
}

void memory_log::release() {
    guard const lock(engine_.mutex_);
    ++releases_;
}

void memory_log::applied(std::uint64_t position, row_nonce const&, bool urgent) {
    {
        guard const lock(engine_.mutex_);
        position_ = position;
        if (urgent) ++urgent_reports_;
    }
    wake_all();
}

std::uint64_t memory_log::confirmed() const {
    guard const lock(engine_.mutex_);
    auto lowest = UINT64_MAX;
    for (auto const* each : engine_.logs_)
        if (each->has_lease_) lowest = std::min(lowest, each->position_);
    return lowest;
}

base::wall_ms memory_log::last_lease_end() const {
    guard const lock(engine_.mutex_);
    return lease_end_;
}

void memory_log::on_arrival(std::function<void()> wake) {
    std::lock_guard const lock(wake_mutex_);
    wake_ = std::move(wake);
}

void memory_log::wake_all() {
    std::vector<memory_log*> logs;
    {
        guard const lock(engine_.mutex_);
        logs = engine_.logs_;
    }
    for (auto* each : logs) {
        std::lock_guard const lock(each->wake_mutex_);
        if (each->wake_) each->wake_();
    }
}

void memory_log::fail_next(append_fault fault) {
    guard const lock(engine_.mutex_);
    faults_.push_back(fault);
}
void memory_log::set_away(bool away) {
    {
        guard const lock(engine_.mutex_);
        fetched_ = std::max<std::uint64_t>(fetched_, position_);
        away_ = away;
    }
    wake_all();
}
void memory_log::set_answering(bool answers) {
    {
        guard const lock(engine_.mutex_);
        answers_ = answers;
    }
    wake_all();
}
void memory_log::set_lease(bool has_lease) {
    guard const lock(engine_.mutex_);
    has_lease_ = has_lease;
}
void memory_log::set_lease_end(base::wall_ms time) {
    guard const lock(engine_.mutex_);
    lease_end_ = time;
}
void memory_log::set_schema(std::uint32_t schema) {
    {
        guard const lock(engine_.mutex_);
        schema_ = schema;
    }
    wake_all();
}
std::uint64_t memory_log::position() const {
    guard const lock(engine_.mutex_);
    return position_;
}
std::size_t memory_log::appends() const {
    guard const lock(engine_.mutex_);
    return appends_;
}
std::size_t memory_log::fetches() const {
    guard const lock(engine_.mutex_);
    return fetches_;
}
std::size_t memory_log::releases() const {
    guard const lock(engine_.mutex_);
    return releases_;
}
std::size_t memory_log::urgent_reports() const {
    guard const lock(engine_.mutex_);
    return urgent_reports_;
}

}  // namespace latchkey::domain
