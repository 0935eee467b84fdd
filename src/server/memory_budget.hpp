// Memory quota of a worker: heap bytes that its connections occupy, for input not yet parsed,
// header blocks and their tables, requests in progress, commands, and responses not yet sent. An
// idle connection's own state is not counted: `connections` bounds it. Above half of the quota each
// connection gets less, slow readers are reset, large responses need a key, and who holds much
// leaves as much to others. Above all of it the largest holders are ended, and what still comes in
// until then stays within a quarter more. Belongs to the worker's thread.
//
//     memory_budget::reservation reserved(budget);   // gives back what it has when it goes
//     reserved.resize(buffer.capacity());
//     if (!budget.admits(reserved.bytes())) … refuse …
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "base/limits.hpp"
#include "session/step.hpp"

namespace latchkey::server {

class memory_budget : public session::answer_quota {
    // A key, over all of its connections that held much with it.
    struct holder {
        std::size_t bytes = 0;
        std::size_t reservations = 0;
    };

  public:
    class reservation {
      public:
        explicit reservation(memory_budget& budget) : budget_(budget) {}
        ~reservation() {
            resize(0);
            belong_to(0);
        }
        reservation(reservation const&) = delete;
        reservation& operator=(reservation const&) = delete;

        std::size_t bytes() const { return bytes_; }
        // Never fails: the memory is in use already, and the budget decides about what follows.
        void resize(std::size_t bytes) {
            budget_.used_bytes_ = budget_.used_bytes_ - bytes_ + bytes;
            if (holder_ != nullptr) holder_->bytes = holder_->bytes - bytes_ + bytes;
            bytes_ = bytes;
        }
        // From now on it counts as that key's; 0: as nobody's.
        void belong_to(std::uint64_t key) {
            if (key == key_) return;
            if (holder_ != nullptr) {
                holder_->bytes -= bytes_;
                if (--holder_->reservations == 0) budget_.holders_.erase(key_);
            }
            key_ = key;
            holder_ = key == 0 ? nullptr : &budget_.holders_[key];
            if (holder_ == nullptr) return;
            holder_->bytes += bytes_;
            ++holder_->reservations;
        }
        std::uint64_t key() const { return key_; }

      private:
        memory_budget& budget_;
        std::size_t bytes_ = 0;
        std::uint64_t key_ = 0;
        holder* holder_ = nullptr;
    };

    memory_budget() = default;
    memory_budget(memory_budget const&) = delete;
    memory_budget& operator=(memory_budget const&) = delete;

    void set_bytes_max(std::size_t bytes) { bytes_max_ = bytes; }
    std::size_t used() const { return used_bytes_; }
    bool exceeded() const { return used_bytes_ > bytes_max_; }
    bool scarce() const { return used_bytes_ > bytes_max_ / 2; }
    std::size_t bytes_max() const { return bytes_max_; }
    std::size_t held_by(std::uint64_t key) const {
        auto const place = holders_.find(key);
        return place == holders_.end() ? 0 : place->second.bytes;
    }

    // Who holds so much may have more: once memory is scarce, only while as much again is free for
    // others. So however few hold all that they may, there is room for one that holds nothing.
    bool admits(std::size_t bytes) const {
        return !scarce() || used_bytes_ + bytes <= bytes_max_ + bytes_max_ / 4;
    }
    // The same of a large response for that key. The last quarter is for small ones.
    bool admits_answer(std::uint64_t key, std::size_t bytes) const override {
        return !scarce() || used_bytes_ + held_by(key) + bytes <= bytes_max_;
    }

    // All connections of a key, or of an address that showed none, hold no more for long.
    std::size_t owner_bytes_max() const { return bytes_max_ / 4 * 3; }

    // A connection's share of half of the budget, when so many are open.
    std::size_t fair_share(std::size_t connections) const {
        return bytes_max_ / 2 / (connections + 1);
    }
    // So much may be unsent before a connection's next request waits. While memory is scarce it is
    // a share of an eighth of the budget: as much may be unread, and buffers have up to twice the
    // capacity, so that what all may still add stays within the other half.
    std::size_t unsent_bytes_max(std::size_t connections) const {
        if (!scarce()) return base::limits::unsent_bytes_max;
        if (exceeded()) return base::limits::scarce_unsent_bytes_min;
        return std::clamp(bytes_max_ / 8 / (connections + 1), base::limits::scarce_unsent_bytes_min,
                          base::limits::unsent_bytes_max);
    }

    // The most that was held at the end of a turn, since the last `reset_peak`.
    std::size_t peak() const { return peak_; }
    void note_peak() { peak_ = std::max(peak_, used_bytes_); }
    void reset_peak() { peak_ = 0; }

  private:
    std::size_t used_bytes_ = 0;
    std::size_t bytes_max_ = 0;
    std::size_t peak_ = 0;
    std::unordered_map<std::uint64_t, holder> holders_;
};

}  // namespace latchkey::server
