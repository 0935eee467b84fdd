// The bytes of one client between its socket and its session: input that was received and not
// consumed, output that was not sent, what both and the requests in hand hold of the memory budget,
// and how fast the client takes it. Belongs to its worker's thread.
//
// Views of `unread` hold until the coroutine next suspends or consumes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/limits.hpp"
#include "server/net/client_tls.hpp"
#include "server/net/memory_holders.hpp"
#include "server/worker_context.hpp"

namespace latchkey::server {

class client_flow {
  public:
    // `tls` is used by the connection, or it has none.
    client_flow(worker_context& context, client_tls& tls)
        : context_(context), tls_(tls), reserved_(context.memory) {}
    client_flow(client_flow const&) = delete;
    client_flow& operator=(client_flow const&) = delete;

    // ---- input

    std::string_view unread() const { return unread_; }
    void consume(std::size_t bytes) { unread_.remove_prefix(bytes); }
    void drop_unread() { unread_ = {}; }
    // Plain input to be kept.
    void append_unread(std::string_view plain);
    // The same without a copy where nothing is unread; `keep_unread` before its bytes go.
    void lend_unread(std::string_view plain);
    void keep_unread();
    // Of what is kept only the unread bytes stay.
    void drop_consumed();

    // ---- output

    // Where output is appended. Call `account_output` after it, so that the memory budget counts it
    // before the next request.
    std::string& output();
    void account_output() {
        if (output_.capacity() != output_reserved_) account();
    }
    // The output holds a secret: from now on this connection's buffers are wiped after use.
    void mark_secret() { secret_ = true; }
    std::size_t unsent() const {
        return output_.size() + tls_.output().size() + sending_.size() - sent_bytes_;
    }
    // Less than half of what may be unsent is unsent.
    bool has_room() const { return unsent() <= context_.unsent_bytes_max() / 2; }

    // Encrypts the output; after all that there will be, with the end of TLS.
    void seal(bool is_last);
    // Takes all output to be sent. False: there is none.
    bool load();
    // What is to be sent next of it.
    std::string_view next_part() const;
    // Whether the client has taken enough for its time limit to begin again.
    bool makes_progress();
    // The kernel has taken so much. False: that was the rest.
    bool note_sent(std::size_t bytes);

    // ---- memory

    // Counts anew what is held.
    void account();
    std::size_t held_bytes() const { return reserved_.bytes(); }
    // Heap memory of a request in hand, or of a PROXY header.
    void reserve_body(std::size_t bytes) {
        if (bytes == body_bytes_) return;
        body_bytes_ = bytes;
        account();
    }
    // Of what is held, content that waits for a window of the client's protocol.
    void set_pending(std::size_t bytes) { pending_bytes_ = bytes; }
    // The key of a response. Only what is more than buffers of small ones counts for it, so that a
    // connection with many keys costs nothing.
    void hold_for(model::id key) {
        if (held_bytes() > 2 * base::limits::unparsed_bytes_max)
            reserved_.belong_to(static_cast<std::uint64_t>(key));
    }
    // 0: what is held counts for none.
    std::uint64_t key() const { return reserved_.key(); }
    // While memory is scarce, now and again.
    holder_watch::standing look(std::size_t share, base::mono_ns now) {
        return watch_.look(held_bytes(), unsent() + pending_bytes_, taken_bytes_, share, now);
    }

  private:
    worker_context& context_;
    client_tls& tls_;
    memory_budget::reservation reserved_;
    bool secret_ = false;  // a key was in the output

    std::string_view unread_;
    std::string kept_input_;  // unread bytes that outlived their turn
    std::string output_;      // plain, not yet sealed or sent
    std::string sending_;     // the kernel reads it until the send has completed
    std::size_t sent_bytes_ = 0;
    std::size_t output_reserved_ = 0;  // of the reservation, for `output_`
    std::size_t body_bytes_ = 0;
    std::size_t pending_bytes_ = 0;
    std::uint64_t taken_bytes_ = 0;    // by the kernel, of the output
    std::uint64_t progress_mark_ = 0;  // of these, when its deadline was set
    holder_watch watch_;
};

}  // namespace latchkey::server
