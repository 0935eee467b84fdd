// Simulated kernel for one ring of one thread, in memory, behind liburing's calls
// (wrapped_calls.cpp): the product's code fills real SQEs and reads real CQEs. Sockets are pairs of
// byte streams whose other end is a `client` of the test. Everything happens within `enter`, with
// the time, random numbers and faults of a `world`.
//
// Behaves like Linux 6.1 to 6.18: results of one operation keep their order; a multishot operation
// ends when the completion queue is full; completions that do not fit wait; a cancelled operation
// still completes; a closed socket lives until its last operation has ended; closing with unread
// input resets the connection, and the client loses what it has not read.
//
// Checks the ownership rules: a send whose bytes change, a descriptor that is used after its close
// or left open, a buffer that is not returned and an operation that is left behind end the run.
#pragma once

#include <liburing.h>

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "world.hpp"

namespace latchkey::fake {

// The other end of a connection. Called within `enter`.
class client {
  public:
    virtual void readable() = 0;  // `take` has bytes, or the end was reached
    // From now on the connection may break at any time.
    virtual void break_allowed() = 0;

  protected:
    ~client() = default;
};

struct operation;

// A connection with both its ends.
struct connection {
    client* peer = nullptr;
    // To the server.
    std::string inbound;
    bool input_ended = false;
    // To the client.
    std::string outbound;
    std::size_t capacity = 0;  // of outbound
    bool output_ended = false;
    base::mono_ns output_ended_at = 0;
    // Both directions.
    bool broken = false;  // reset
    bool unseen = false;  // an armed receive does not report it
    bool accepted = false;
    bool closed = false;  // has no descriptor
    bool released = false;
    bool may_break = false;
    unsigned holders = 0;  // operations in flight
    base::mono_ns lateness_budget = second;
};
using connection_ptr = std::shared_ptr<connection>;

class kernel {
  public:
    explicit kernel(world& owner);
    ~kernel();
    kernel(kernel const&) = delete;
    kernel& operator=(kernel const&) = delete;
    static kernel* current();

    // ---- for clients
    int listen();
    connection_ptr connect(int listener, client& peer);
    void send(connection_ptr const& target, std::string_view bytes);
    void end(connection_ptr const& target);
    void reset(connection_ptr const& target);
    // From now on that connection may break at any time.
    void allow_break(connection& target);
    std::string take(connection_ptr const& source, std::size_t bytes_max);
    // Nothing is left to take, and nothing more can arrive.
    static bool at_end(connection const& source);

    // ---- for the test
    // Makes io_uring_setup or io_uring_register fail with that errno from now on; 0: not.
    int set_up_fails = 0, register_fails = 0;
    void expect_settled() const;
    std::uint64_t enters() const { return enters_; }

    // ---- what the product calls
    int set_up(unsigned entries, io_uring& ring, io_uring_params& params);
    void tear_down();
    int enter(unsigned to_submit, unsigned min_complete, unsigned flags,
              io_uring_getevents_arg const& argument);
    int register_buffers(io_uring_buf_reg const& registration);
    int unregister_buffers();
    static bool owns(int fd) { return fd >= first_descriptor; }
    int accept_now(int listener);
    int shut(int fd, int mode);
    short poll(int fd);
    bool is_open(int fd) const;

  private:
    struct listener {
        std::deque<connection_ptr> backlog;
        bool shut = false;
    };
    struct outcome {
        std::uint64_t serial, user_data;
        std::int32_t result;
        std::uint32_t flags;
    };
    static constexpr int first_descriptor = 1'000'000, first_listener = 2'000'000;
    static constexpr std::uint64_t enters_max = 400'000;

    // kernel.cpp: the ring
    int submit(unsigned count);
    void begin(io_uring_sqe const& sqe);
    void cancel(std::uint64_t user_data, operation& request);
    void schedule(std::shared_ptr<operation> const& op);
    void schedule_all(connection const& source);
    void run_reads();
    bool wait(base::mono_ns deadline);
    void post(operation& op, std::int32_t result, std::uint32_t flags);
    void complete(std::shared_ptr<operation> const& op, std::int32_t result,
                  std::uint32_t flags = 0);
    void deliver();
    unsigned cq_used() const;
    base::mono_ns delay_for(connection* source);

    // sockets.cpp: what operations do
    void run(std::shared_ptr<operation> const& op);
    void run_accept(std::shared_ptr<operation> const& op);
    void run_receive(std::shared_ptr<operation> const& op);
    void run_send(std::shared_ptr<operation> const& op);
    void run_read(std::shared_ptr<operation> const& op);
    void run_close(std::shared_ptr<operation> const& op);
    bool inject_failure(std::shared_ptr<operation> const& op);
    void receive_bytes(std::shared_ptr<operation> const& op);
    std::uint32_t take_buffer();
    bool has_buffer() const;
    void break_connection(connection& target);
    void release_if_done(connection& target);
    int open(connection_ptr source);
    void close(int fd);

    world& world_;
    std::uint64_t serial_ = 0;
    std::uint64_t enters_ = 0;
    unsigned refusals_ = 0;  // in a row
    std::vector<std::shared_ptr<operation>> in_flight_;
    std::vector<outcome> ready_;
    std::vector<connection_ptr> open_;  // by descriptor
    std::vector<listener> listeners_;

    io_uring* ring_ = nullptr;
    std::vector<io_uring_sqe> sqes_;
    std::vector<io_uring_cqe> cqes_;
    std::vector<unsigned> array_;
    unsigned sq_head_ = 0, sq_tail_ = 0, sq_flags_ = 0, cq_head_ = 0, cq_tail_ = 0;
    unsigned sq_mask_ = 0, sq_entries_ = 0, cq_mask_ = 0, cq_entries_ = 0;
    io_uring_buf_ring* buffers_ = nullptr;
    unsigned buffer_count_ = 0;
    std::uint16_t buffers_head_ = 0;
};

// An accepted SQE, until its last CQE.
struct operation {
    std::uint64_t serial = 0;
    io_uring_sqe sqe{};
    connection_ptr socket;
    std::size_t sent_bytes = 0;  // bytes of a send
    std::string submitted;       // the bytes at submission
    bool cancelled = false;
    bool decided = false;  // its last completion is scheduled
    bool scheduled = false;
    bool finished = false;
};

}  // namespace latchkey::fake
