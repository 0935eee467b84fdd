// A kernel for one ring of one thread, in memory: behind liburing's calls (calls.cpp), so that the
// product's own code fills real SQEs and reads real CQEs, and everything beyond is made up. Sockets
// are pairs of byte streams; at the other end is a `client` of the test's. All that happens,
// happens within `enter`, in the time and by the chance of a `world`, whose faults strike here.
//
// It does what Linux 6.1 to 6.18 does: results of one operation keep their order; a multishot
// operation ends when the completion queue is full; what does not fit waits; a cancelled operation
// still completes; a socket lives until its last operation has ended, whoever closed it; closing
// with unread input resets the connection, and the client loses what it has not read.
//
// It watches over what the kernel owns: bytes of a send that change, a descriptor used after it was
// closed or left open, a buffer that does not come back, an operation left behind end the run.
#pragma once

#include <liburing.h>

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "world.hpp"

namespace latchkey::fake {

// Who is at the other end of a connection. Called within `enter`.
class client {
  public:
    virtual void readable() = 0;  // there is something to `take`, or the end
    // From here on the connection may be cut at any moment, rightly.
    virtual void spoiled() = 0;

  protected:
    ~client() = default;
};

struct operation;

// A connection, seen from both its ends.
struct connection {
    client* other = nullptr;
    // To the server.
    std::string inbound;
    bool input_ended = false;
    // To the client.
    std::string outbound;
    std::size_t capacity = 0;  // of outbound
    bool output_ended = false;
    base::mono_ns output_ended_at = 0;
    // Either way.
    bool broken = false;  // reset
    bool unseen = false;  // and an armed receive will not tell
    bool accepted = false;
    bool closed = false;  // no descriptor any more
    bool released = false;
    bool is_spoiled = false;
    unsigned holders = 0;  // operations in flight
    base::mono_ns lateness_left = second;
};
using connection_ptr = std::shared_ptr<connection>;

class kernel {
  public:
    explicit kernel(world& of);
    ~kernel();
    kernel(kernel const&) = delete;
    kernel& operator=(kernel const&) = delete;
    static kernel* current();

    // ---- for clients
    int listen();
    connection_ptr connect(int listener, client& who);
    void send(connection_ptr const& to, std::string_view bytes);
    void end(connection_ptr const& to);
    void reset(connection_ptr const& to);
    std::string take(connection_ptr const& from, std::size_t bytes_max);
    // Nothing is left to take, and nothing more will come.
    static bool at_end(connection const& of);

    // ---- for the test
    // Makes calls fail from now on: io_uring_setup, io_uring_register. 0: not.
    int set_up_fails = 0, register_fails = 0;
    void expect_settled() const;
    std::uint64_t enters() const { return enters_; }

    // ---- what the product calls
    int set_up(unsigned entries, io_uring& ring, io_uring_params& params);
    void tear_down();
    int enter(unsigned to_submit, unsigned min_complete, unsigned flags,
              io_uring_getevents_arg const& argument);
    int register_buffers(io_uring_buf_reg const& what);
    int unregister_buffers();
    static bool owns(int fd) { return fd >= first_descriptor; }
    int accept_now(int listener);
    int shut(int fd, int how);
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
    void cancel(std::uint64_t user_data, operation& by);
    void look(std::shared_ptr<operation> const& at);
    void look_at(connection const& which);
    void look_at_reads();
    bool wait(base::mono_ns until);
    void post(operation& of, std::int32_t result, std::uint32_t flags);
    void complete(std::shared_ptr<operation> const& which, std::int32_t result,
                  std::uint32_t flags = 0);
    void deliver();
    unsigned cq_used() const;
    base::mono_ns delay_for(connection* of);

    // sockets.cpp: what operations do
    void run(std::shared_ptr<operation> const& which);
    void run_accept(std::shared_ptr<operation> const& which);
    void run_receive(std::shared_ptr<operation> const& which);
    void run_send(std::shared_ptr<operation> const& which);
    void run_read(std::shared_ptr<operation> const& which);
    void run_close(std::shared_ptr<operation> const& which);
    bool struck(std::shared_ptr<operation> const& which);
    void bring(std::shared_ptr<operation> const& which);
    std::uint32_t take_buffer();
    bool has_buffer() const;
    void spoil(connection& which);
    void break_off(connection& which);
    void release_if_done(connection& which);
    int open(connection_ptr what);
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

// One SQE that was taken, until its last CQE.
struct operation {
    std::uint64_t serial = 0;
    io_uring_sqe sqe{};
    connection_ptr on;
    std::size_t done = 0;  // bytes of a send
    std::string promised;  // what they were when the kernel got them
    bool cancelled = false;
    bool decided = false;  // its last completion is on its way
    bool looked_at = false;
    bool over = false;
};

}  // namespace latchkey::fake
