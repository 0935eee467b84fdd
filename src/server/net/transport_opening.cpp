// How a connection begins, on a listener that wants it so: the PROXY header, within the time of a
// request's head, then the TLS handshake.
#include <algorithm>

#include "base/bytes.hpp"
#include "server/net/transport.hpp"

namespace latchkey::server {

using namespace base::limits;

namespace {

// An unfinished header, handshake or record cannot be answered: its connection ends where it would
// have to wait for memory. Until then it counts as it grows, so that the budget keeps its bound.
bool lacks_memory(worker_context const& context, client_flow const& flow) {
    return !context.memory.admits(flow.held_bytes());
}

}  // namespace

void transport::begin_proxy_header() {
    if (!identity_.expect_header()) return abort();
    deadlines_.set_after(deadline::end, context_.current_config().http_header_seconds);
}

// False: it is incomplete, nothing is left behind it, or the connection ends.
bool transport::take_proxy_header(std::string_view& bytes) {
    auto const state = identity_.take_header(bytes);
    flow_.reserve_body(identity_.held_bytes());
    if (state == proxy_header::progress::incomplete) {
        if (lacks_memory(context_, flow_)) reset();
        return false;
    }
    if (state == proxy_header::progress::malformed) {
        abort();
        return false;
    }
    deadlines_.set(deadline::end, 0);
    if (peer().tls) begin_handshake();
    ready_since_ = context_.now.mono;
    if (bytes.empty() && !peer().tls) wake_first_wait();
    return !bytes.empty();
}

// From now on the first request may arrive: the coroutine waits without a limit, and sets one.
void transport::wake_first_wait() {
    if (open() && wait_.is_for(wait::input) && !deadlines_.is_set(deadline::wait))
        resume(wake_reason::bytes);
}

void transport::begin_handshake() {
    tls_.begin(*this, [](coro::resumption& self) {
        auto& io = client_tls::end_signature(self);
        if (io.open() && io.tls_.queue()) io.context_.queues.queue_handshake(io);
        io.check_closed();
    });
    // Without a first byte a client has no more time than for a first head.
    auto const& limits = context_.current_config();
    deadlines_.set_after(deadline::end,
                         std::min(limits.http_handshake_seconds, limits.http_header_seconds));
}

void transport::take_handshake(std::string_view sealed) {
    if (!tls_.has_begun())
        deadlines_.set_after(deadline::end, context_.current_config().http_handshake_seconds);
    auto const demand = tls_.take(sealed);
    flow_.account();
    if (demand != client_tls::demand::end && lacks_memory(context_, flow_)) return reset();
    switch (demand) {
        case client_tls::demand::nothing:
            break;
        case client_tls::demand::step:
            context_.queues.queue_handshake(*this);
            break;
        // The client's input does not end here: what it still sends is read and dropped, so that it
        // can read the answer (RFC 9112 §9.6), and wiped, since it may have a key.
        case client_tls::demand::end:
            identity_.set_plain();
            finish();
            if (wait_.is_for_client()) resume(wake_reason::end);
            break;
    }
}

void transport::handshake_step() {
    if (!open() || !tls_.is_handshaking()) return;
    auto const progress = tls_.step();
    flow_.account();
    if (!tls_.output().empty()) mark_dirty();
    switch (progress) {
        case tls::progress::want_input:
            if (lacks_memory(context_, flow_)) reset();
            break;
        case tls::progress::waiting:
            break;
        case tls::progress::done: {
            deadlines_.set(deadline::end, 0);
            // Requests may have arrived in the same bytes as the end of the handshake.
            auto const records = tls_.take_rest();
            // Where the handshake ends with a message of the client (TLS 1.2 resumed, or no ticket
            // wanted) that uses Nagle's algorithm, its request waits for an acknowledgement, which
            // the kernel delays by 40 ms.
            if (records.empty() && tls_.output().empty()) socket_.acknowledge();
            ready_since_ = context_.now.mono;
            decrypt(records);
            wake_first_wait();
            if (open() && wait_.is_for(wait::input)) socket_.resume();
            break;
        }
        // The alert is sent, then the connection ends; the coroutine only learns that the input has
        // ended.
        case tls::progress::closed:
        case tls::progress::failed:
            tls_.fail();
            end_input();
    }
}

void transport::decrypt(std::string_view sealed) {
    auto& plain = context_.plain_scratch;
    for (;;) {
        plain.clear();
        auto const progress = tls_.read(sealed, plain, unparsed_bytes_max);
        bool const is_full = plain.size() >= unparsed_bytes_max;
        plain.empty() ? flow_.account() : deliver(plain);
        base::wipe(plain.data(), plain.size());
        if (!tls_.output().empty()) mark_dirty();
        if (!open()) return;
        if (progress == tls::progress::failed) tls_.fail();
        if (progress == tls::progress::failed || progress == tls::progress::closed)
            return end_input();
        if (!is_full && sealed.empty()) {
            if (progress == tls::progress::want_input && lacks_memory(context_, flow_)) reset();
            return;
        }
    }
}

}  // namespace latchkey::server
