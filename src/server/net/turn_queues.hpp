// Which connections of a worker have something to do later in its turn, or in the next one.
// Pointers only: a connection that ends takes itself off all queues with `forget`. Belongs to the
// worker's thread; allocates nothing while no more than `capacity` connections wait in a queue.
//
// A `Connection` has the member `next_dirty` and the functions that the runs below call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace latchkey::server {

template <class Connection>
class turn_queues {
  public:
    explicit turn_queues(std::size_t capacity) {
        for (auto* const queue : {&next_turn_, &batch_, &starved_}) queue->reserve(capacity);
    }
    turn_queues(turn_queues const&) = delete;
    turn_queues& operator=(turn_queues const&) = delete;

    // It has output to seal or to send: at the end of this turn. Once at a time.
    void mark_dirty(Connection& connection) {
        connection.next_dirty = dirty_;
        dirty_ = &connection;
    }
    void resume_next_turn(Connection& connection) { next_turn_.push_back(&connection); }
    void queue_handshake(Connection& connection) { handshakes_.push_back(&connection); }
    // The kernel had no buffer for what it received.
    void queue_starved(Connection& connection) { starved_.push_back(&connection); }
    void forget(Connection& connection, bool dirty) {
        for (auto* const queue : {&next_turn_, &handshakes_, &starved_, &batch_})
            std::replace(queue->begin(), queue->end(), &connection,
                         static_cast<Connection*>(nullptr));
        if (!dirty) return;
        auto** link = &dirty_;
        while (*link != &connection) link = &(*link)->next_dirty;
        *link = connection.next_dirty;
    }

    // Nothing that a next turn would do at once; the starved wait for buffers.
    bool idle() const { return next_turn_.empty() && handshakes_.empty() && dirty_ == nullptr; }
    bool has_starved() const { return !starved_.empty(); }
    bool has_resumed() const { return !next_turn_.empty(); }

    // Those of an earlier turn, until `is_spent()` after one of them; the others come before those
    // that are queued meanwhile.
    template <class Spent>
    void run_resumed(Spent is_spent) {
        batch_.swap(next_turn_);
        // By index: a connection that ends meanwhile is struck out of the batch.
        std::size_t count = 0;
        while (count < batch_.size()) {
            auto* const connection = batch_[count++];
            if (connection == nullptr) continue;
            connection->resume_later();
            if (is_spent()) break;
        }
        erase_front(batch_, count);
        if (batch_.empty()) return;
        batch_.insert(batch_.end(), next_turn_.begin(), next_turn_.end());
        next_turn_.clear();
        batch_.swap(next_turn_);
    }
    // First come, first served.
    template <class Spent>
    void run_handshakes(std::size_t count_max, Spent is_spent) {
        std::size_t count = 0;
        while (count < std::min(handshakes_.size(), count_max)) {
            auto* const connection = handshakes_[count++];
            if (connection == nullptr) continue;
            connection->handshake_step();
            if (is_spent()) break;
        }
        erase_front(handshakes_, count);
    }
    void feed_starved(std::size_t buffers) {
        auto const count = std::min(starved_.size(), buffers);
        for (std::size_t i = 0; i < count; ++i)
            if (starved_[i] != nullptr) starved_[i]->receive_again();
        erase_front(starved_, count);
    }
    void flush_dirty() {
        while (dirty_ != nullptr) {
            auto* const connection = dirty_;
            dirty_ = connection->next_dirty;
            connection->flush();
        }
    }

  private:
    static void erase_front(std::vector<Connection*>& queue, std::size_t count) {
        queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(count));
    }

    std::vector<Connection*> next_turn_, handshakes_, starved_, batch_;
    Connection* dirty_ = nullptr;
};

}  // namespace latchkey::server
