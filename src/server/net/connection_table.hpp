// The open connections of a worker: an intrusive list, which only the worker's thread uses, and
// their number, which any thread may read. A `Connection` has the members `next_open` and
// `open_link`, takes itself off the list when it ends, and is not known here.
#pragma once

#include <atomic>
#include <cstddef>

namespace latchkey::server {

template <class Connection>
class connection_table {
  public:
    connection_table() = default;
    connection_table(connection_table const&) = delete;
    connection_table& operator=(connection_table const&) = delete;

    void add(Connection& connection) {
        connection.next_open = first_;
        connection.open_link = &first_;
        if (first_ != nullptr) first_->open_link = &connection.next_open;
        first_ = &connection;
        count_.fetch_add(1, std::memory_order_relaxed);
    }
    void remove(Connection& connection) {
        *connection.open_link = connection.next_open;
        if (connection.next_open != nullptr) connection.next_open->open_link = connection.open_link;
        count_.fetch_sub(1, std::memory_order_relaxed);
    }
    // The visited connection may end meanwhile.
    void for_each(auto visit) {
        for (auto *connection = first_, *next = connection; connection != nullptr;
             connection = next) {
            next = connection->next_open;
            visit(*connection);
        }
    }

    // Open ones and expected ones; any thread, a little late.
    std::size_t count() const { return count_.load(); }
    // Counts a connection that is on its way here; any thread.
    void expect() { count_.fetch_add(1); }
    void end_expecting() { count_.fetch_sub(1); }

  private:
    Connection* first_ = nullptr;
    std::atomic<std::size_t> count_{0};
};

}  // namespace latchkey::server
