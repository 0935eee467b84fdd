// The rows of the cluster's log that have arrived and are not known to be applied, without a gap.
// Guarded by its client's mutex.
#pragma once

#include <cstdint>
#include <deque>

#include "store/shared_log.hpp"

namespace latchkey::cluster {

class followed_log {
  public:
    // What became of a row that has arrived.
    enum class arrival : std::uint8_t { added, known, other, gap };

    // Follows the log behind a position; before, no row is taken.
    void follow(std::uint64_t position, store::row_nonce const& nonce);
    bool is_followed() const { return is_followed_; }
    // The position of the last row that has arrived or was applied, and its nonce.
    std::uint64_t position() const { return position_; }
    store::row_nonce const& nonce() const { return nonce_; }
    std::deque<store::log_row> const& rows() const { return rows_; }
    std::size_t bytes() const { return bytes_; }

    // `other`: another row than the one that this node has at that position. `gap`: rows between
    // are missing.
    arrival add(store::log_row&& row);
    // Is another row than that one at its position?
    bool has_other(std::uint64_t position, store::row_nonce const& nonce) const;
    // The store has applied the rows up to `position`.
    void apply(std::uint64_t position, store::row_nonce const& nonce);
    void drop(std::uint64_t position);  // up to it
    void clear();

  private:
    bool is_followed_ = false;
    std::uint64_t position_ = 0;
    store::row_nonce nonce_{};
    std::deque<store::log_row> rows_;
    std::size_t bytes_ = 0;
};

}  // namespace latchkey::cluster
