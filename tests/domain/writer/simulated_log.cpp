#include "simulated_log.hpp"

#include <algorithm>

namespace latchkey::domain {

bool simulated_engine::try_append(log_row const& row) {
    if (row.position != rows_.size() + 1) return false;
    rows_.push_back(row);
    return true;
}

void simulated_engine::step() {
    if (is_away_ ? happens(rates_.return_) : happens(rates_.outage)) is_away_ = !is_away_;
    if (is_away_ || late_rows_.empty() || !happens(rates_.landing)) return;
    auto const place = late_rows_.begin() + static_cast<long>(number(late_rows_.size()));
    try_append(*place);
    late_rows_.erase(place);
}

void simulated_engine::heal() {
    for (auto const& row : late_rows_) try_append(row);
    late_rows_.clear();
    is_away_ = false;
    is_healed_ = true;
}

append_result simulated_log::append(log_row const& row) {
    auto const& rates = engine_.rates_;
    if (engine_.happens(rates.crash_before)) throw node_crash();
    if (engine_.is_away_) return append_result::unavailable;
    if (engine_.happens(rates.loss)) return append_result::unknown;
    if (engine_.happens(rates.late)) {
        engine_.late_rows_.push_back(row);
        return append_result::unknown;
    }
    bool const won = engine_.try_append(row);
    if (engine_.happens(rates.doubled)) engine_.late_rows_.push_back(row);
    if (engine_.happens(rates.crash_after)) throw node_crash();
    if (engine_.happens(rates.unanswered)) return append_result::unknown;
    return won ? append_result::won : append_result::lost;
}

// Asking takes the lock of the head, after which nothing of the old connection can arrive.
append_result simulated_log::resolve(log_row const& row) {
    if (engine_.is_away_ || engine_.happens(engine_.rates_.unresolved))
        return append_result::unknown;
    std::erase_if(engine_.late_rows_, [&](auto const& each) { return each.nonce == row.nonce; });
    auto const& rows = engine_.rows_;
    bool const is_there = row.position <= rows.size() && rows[row.position - 1].nonce == row.nonce;
    return is_there ? append_result::won : append_result::lost;
}

std::vector<log_row> simulated_log::rows_after(std::uint64_t position, std::size_t bytes_max) {
    bool const arrives =
        !engine_.is_away_ && (engine_.is_healed_ || engine_.happens(engine_.rates_.arrival));
    if (arrives) arrivals_ = engine_.head();
    std::vector<log_row> rows;
    std::size_t size = 0;
    for (auto i = position; i < arrivals_; ++i) {
        auto const& row = engine_.rows_[i];
        size += row.effects.size();
        if (!rows.empty() && size > bytes_max) break;
        rows.push_back(row);
    }
    return rows;
}

bool simulated_log::fetch(std::uint64_t position) {
    if (engine_.is_away_) return false;
    arrivals_ = engine_.head();
    return arrivals_ > position;
}

void simulated_log::applied(std::uint64_t, row_nonce const&, bool) {
    if (engine_.happens(engine_.rates_.crash_applied)) throw node_crash();
}

}  // namespace latchkey::domain
