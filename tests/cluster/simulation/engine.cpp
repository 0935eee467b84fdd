#include "engine.hpp"

#include <algorithm>
#include <utility>

namespace latchkey::simulation {
namespace {

constexpr std::size_t rows_per_message = 8;

bool may_hold_lease(replicate::node_row const& line) {
    return line.lease_ms != 0 && !line.departed;
}

}  // namespace

void engine::replay(write const& content) {
    if (content.row)
        rows_.push_back(*content.row);
    else
        lines_[content.line.name] = content.line;
}

void engine::commit(write content) {
    replay(content);
    history_.push_back(std::move(content));
}

std::optional<identity> engine::nonce_at(std::uint64_t position) const {
    if (position == 0) return identity{};
    if (position > rows_.size()) return std::nullopt;
    return rows_[position - 1].nonce;
}

bool engine::append(replicate::protocol::append const& content) {
    if (content.row.position != rows_.size() + 1) return false;
    bool const follows = content.row.previous == identity{} ||
                         nonce_at(content.row.position - 1) == content.row.previous;
    if (follows) commit({.row = content.row, .line = {}});
    return follows;
}

std::vector<replicate::protocol::log_row> engine::rows_after(std::uint64_t position) const {
    std::vector<replicate::protocol::log_row> rows;
    for (auto i = position; i < rows_.size() && rows.size() < rows_per_message; ++i)
        rows.push_back(rows_[i]);
    return rows;
}

bool engine::reserve(void const* client) {
    if (is_reserved_by_other(client)) return false;
    reserved_by_ = client;
    reserved_until_ = *now_ + base::second;
    return true;
}

void engine::release(void const* client) {
    if (reserved_by_ == client) reserved_by_ = nullptr;
}

bool engine::is_reserved_by_other(void const* client) const {
    return reserved_by_ != nullptr && reserved_by_ != client && *now_ < reserved_until_;
}

void engine::renew(replicate::node_row const& line) {
    auto content = line;
    auto const place = lines_.find(line.name);
    content.renewal = place == lines_.end() ? 1 : place->second.renewal + 1;
    commit({.row = std::nullopt, .line = std::move(content)});
}

void engine::write_position(std::string const& name, std::uint64_t position) {
    auto const place = lines_.find(name);
    if (place == lines_.end()) return;
    auto content = place->second;
    content.position = position;
    commit({.row = std::nullopt, .line = std::move(content)});
}

void engine::write_departure(std::string const& name) {
    auto const place = lines_.find(name);
    if (place == lines_.end()) return;
    auto content = place->second;
    content.departed = true;
    commit({.row = std::nullopt, .line = std::move(content)});
}

std::vector<replicate::node_row> engine::lines() const {
    std::vector<replicate::node_row> lines;
    for (auto const& [name, line] : lines_) lines.push_back(line);
    return lines;
}

void engine::step() {
    if (is_away_ && dice_->proceeds(30)) is_away_ = false;
    if (is_away_ || late_.empty() || !dice_->fails(100)) return;
    auto const place = late_.begin() + static_cast<long>(dice_->below(late_.size()));
    append(*place);
    late_.erase(place);
}

void engine::begin_outage() {
    is_away_ = true;
    ++term_;
    reserved_by_ = nullptr;
}

void engine::fail_over() {
    if (dice_->below(2) == 0) begin_outage();
    late_.clear();
    reserved_by_ = nullptr;
    ++term_;
}

std::map<std::string, bool> engine::fail_over_without_promises() {
    std::map<std::string, bool> forgotten;
    auto const lines = lines_;
    auto const bound = rows_.size() - 1 - dice_->below(std::min<std::size_t>(rows_.size(), 3));
    while (rows_.size() > bound || (!history_.empty() && dice_->below(2) == 0)) {
        if (auto const& row = history_.back().row) {
            losses_.insert(row->nonce);
            rows_.pop_back();
        }
        history_.pop_back();
    }
    rows_.clear();
    lines_.clear();
    for (auto const& each : history_) replay(each);
    for (auto const& [name, line] : lines) {
        auto const place = lines_.find(name);
        bool const is_known = place != lines_.end() && may_hold_lease(place->second) &&
                              place->second.renewal == line.renewal;
        forgotten[name] = may_hold_lease(line) && !is_known;
    }
    fail_over();
    return forgotten;
}

void engine::heal() {
    for (auto const& each : std::exchange(late_, {})) append(each);
    is_away_ = false;
    reserved_by_ = nullptr;
}

}  // namespace latchkey::simulation
