#include "cluster/followed_log.hpp"

#include <utility>

namespace latchkey::cluster {

void followed_log::follow(std::uint64_t position, store::row_nonce const& nonce) {
    clear();
    is_followed_ = true;
    position_ = position;
    nonce_ = nonce;
}

followed_log::arrival followed_log::add(store::log_row&& row) {
    if (!is_followed_ || row.position < position_) return arrival::known;
    if (row.position == position_)
        return has_other(row.position, row.nonce) ? arrival::other : arrival::known;
    if (row.position != position_ + 1) return arrival::gap;
    position_ = row.position;
    nonce_ = row.nonce;
    bytes_ += row.effects.size();
    rows_.push_back(std::move(row));
    return arrival::added;
}

bool followed_log::has_other(std::uint64_t position, store::row_nonce const& nonce) const {
    if (nonce == store::row_nonce{}) return false;
    if (position == position_ && rows_.empty())
        return nonce_ != store::row_nonce{} && nonce_ != nonce;
    if (rows_.empty() || position < rows_.front().position || position > rows_.back().position)
        return false;
    return rows_[position - rows_.front().position].nonce != nonce;
}

void followed_log::apply(std::uint64_t position, store::row_nonce const& nonce) {
    if (position > position_) {
        position_ = position;
        nonce_ = nonce;
    }
    drop(position);
}

void followed_log::drop(std::uint64_t position) {
    for (; !rows_.empty() && rows_.front().position <= position; rows_.pop_front())
        bytes_ -= rows_.front().effects.size();
}

void followed_log::clear() {
    rows_.clear();
    bytes_ = 0;
}

}  // namespace latchkey::cluster
