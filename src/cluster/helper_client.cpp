// The messages of the helper, and the calls that wait for them.
#include "cluster/helper_client.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/system/log.hpp"
#include "base/time_units.hpp"

namespace latchkey::cluster {
namespace {

// Backpressure: so much may wait for the store before the socket is not read for a while.
constexpr std::size_t row_bytes_max = 64 * base::limits::mib;
constexpr std::size_t parts_max = 16;
constexpr base::mono_ns report_interval = 200 * base::millisecond;

}  // namespace

helper_client::helper_client(base::descriptor socket, node_options node,
                             std::atomic<boot_ns>& published_lease_end)
    : options(std::move(node)),
      published_lease_end(published_lease_end),
      channel(std::move(socket)),
      wakes(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      lease(options.lease_ms * base::millisecond) {
    if (!wakes.is_open()) closed = base::errno_error("no descriptor for waking a thread", errno);
}

// Only the service logs: a command reports the same sentence as its own error.
void helper_client::log(base::severity level, std::string const& sentence) const {
    if (options.lease_ms != 0) base::log(level, sentence);
}

void helper_client::send(replicate::protocol::message content, std::uint32_t request) {
    if (closed) return;
    channel.queue(replicate::protocol::encode({request, std::move(content)}));
    auto const progress = channel.flush();
    if (!progress)
        closed = progress.error();
    else if (!*progress)
        wake_thread();
}

std::optional<replicate::protocol::message> helper_client::call(
    lock& mutex_lock, replicate::protocol::message content, base::mono_ns patience) {
    pending_call waiting;
    auto const request = calls.add(waiting);
    send(std::move(content), request);
    wait(mutex_lock, patience, [&] { return waiting.is_over(); });
    calls.remove(request);
    return std::move(waiting.answer);
}

bool helper_client::wait(lock& mutex_lock, base::mono_ns patience,
                         base::function_ref<bool()> is_over) {
    auto const is_done = [&] { return is_over() || closed || stopping; };
    if (!options.time) {
        change.wait_for(mutex_lock, std::chrono::nanoseconds(patience), is_done);
        return is_over();
    }
    for (auto const end = now() + patience; !is_done() && now() < end;) {
        mutex_lock.unlock();
        options.time->pass();
        mutex_lock.lock();
    }
    return is_over();
}

void helper_client::note_applied(std::uint64_t position, store::row_nonce const& nonce,
                                 bool urgent) {
    if (followed.has_other(position, nonce)) lose_rows(position, nonce);
    applied.position = std::max(applied.position, position);
    applied.is_urgent |= urgent;
    followed.apply(position, nonce);
    lease.reach(position);
    publish_lease();
    try_begin_lease();
    report_applied();
}

// The helper finds the same then, and stops.
void helper_client::lose_rows(std::uint64_t position, store::row_nonce const& nonce) {
    if (engine.fatal) return;
    send(replicate::protocol::tail{position, nonce});
    on(replicate::protocol::failed{replicate::protocol::failure::rows_lost, true,
                                   replicate::protocol::rows_lost_text});
}

bool helper_client::is_full() const {
    return followed.bytes() > row_bytes_max || calls.parts().size() > parts_max;
}

base::error helper_client::reason_of_silence() const {
    if (closed) return base::error{"the helper latchkey-replicate has gone: " + closed->message};
    return engine.reason_of_silence();
}

void helper_client::receive_all() {
    if (!is_full() && !closed) {
        auto const intake = kit::receive_each(channel, replicate::protocol::decode,
                                              [this](replicate::protocol::envelope&& parcel) {
                                                  handle(parcel.request, std::move(parcel.content));
                                                  return !is_full() && !closed;
                                              });
        if (!intake) closed = intake.error();
    }
    if (!closed) return;
    drop_calls();
    if (!stopping)
        base::log(base::severity::failure,
                  "the helper latchkey-replicate cannot be heard any more: " + closed->message);
}

void helper_client::handle(std::uint32_t request, replicate::protocol::message content) {
    auto* const waiting = calls.find(request);
    // Rows come before the answer to the request that asked for them.
    bool const is_answer =
        waiting != nullptr && !std::holds_alternative<replicate::protocol::rows>(content);
    if (request != 0 && request == tokens.request)
        take_tokens(content);
    else if (calls.is_in_parts(request))
        calls.parts().push_back(std::move(content));
    else if (is_answer)
        waiting->answer = std::move(content);
    else if (request == 0 || !std::holds_alternative<replicate::protocol::failed>(content))
        std::visit([this](auto& each) { on(each); }, content);
    change.notify_all();
}

void helper_client::drop_calls() {
    calls.lose_all();
    if (tokens.request != 0) take_tokens(replicate::protocol::failed{});
    change.notify_all();
}

// A new helper: the answers of the one before will not come.
void helper_client::on(replicate::protocol::hello const& hello) {
    drop_calls();
    engine.is_ready = engine.is_connected = false;
    channel.drop_unsent();
    if (hello.version != replicate::protocol::protocol_version) {
        engine.fatal = {
            replicate::protocol::failure::protocol, true,
            "latchkey-replicate is of another version than latchkey: install packages of the "
            "same version"};
        log(base::severity::failure, engine.fatal->text);
        return;
    }
    send(replicate::protocol::configure{hello.session, options.conninfo, options.name,
                                        options.instance, options.cluster, options.key_check,
                                        options.version, options.schema, options.lease_ms});
}

void helper_client::on(replicate::protocol::ready const& ready) {
    engine.is_ready = engine.is_connected = true;
    engine.complaint.reset();
    engine.last_ready = ready;
    head = std::max(head, ready.head);
    if (followed.is_followed()) request_rows();
    if (!leases) lease_from = ready.head;
    if (std::exchange(leases, false)) lease_from = 0;  // the new helper does not know it
    try_begin_lease();
    if (watched > confirmed.position) send(replicate::protocol::watch{watched});
    wake_store();
}

void helper_client::on(replicate::protocol::failed const& failed) {
    (failed.fatal ? engine.fatal : engine.complaint) = failed;
    // What this node shows is not what the others have.
    if (failed.fatal && failed.reason == replicate::protocol::failure::rows_lost) {
        followed.clear();
        wants_lease = leases = false;
        lease.end();
        publish_lease();
    }
    log(failed.fatal ? base::severity::failure : base::severity::warning, failed.text);
    wake_store();
}

void helper_client::on(replicate::protocol::engine const& news) {
    if (news.connected != engine.is_connected || news.text != engine.text)
        log(news.connected ? base::severity::info : base::severity::warning,
            news.connected ? "the cluster's engine is reached: " + news.text
                           : "the cluster's engine cannot be reached: " + news.text);
    engine.is_connected = news.connected;
    engine.text = news.text;
    wake_store();
}

void helper_client::on(replicate::protocol::rows& arrived) {
    if (engine.fatal) return;
    for (auto& row : arrived.list) {
        head = std::max(head, row.position);
        auto const result = followed.add(std::move(row));
        if (result == followed_log::arrival::other)
            return lose_rows(followed.position(), followed.nonce());
        if (result == followed_log::arrival::gap) {
            request_rows();
            break;
        }
    }
    wake_store();
}

void helper_client::on(replicate::protocol::lease const& renewal) {
    head = std::max(head, renewal.head);
    if (engine.fatal) return;
    // The log may lack what this node has applied, as an earlier helper appended it. Or that came
    // after the renewal, and the helper finds it.
    if (followed.is_followed() && renewal.head < applied.position) request_rows();
    lease.renew(renewal.start, renewal.head);
    publish_lease();
}

void helper_client::try_begin_lease() {
    if (!wants_lease || leases || !engine.is_ready || applied.position < lease_from) return;
    leases = true;
    send(replicate::protocol::applied{applied.position, true});
    send(replicate::protocol::begin_lease{});
}

void helper_client::on(replicate::protocol::confirmed const& positions) {
    confirmed = positions;
    wake_store();
}

void helper_client::on(replicate::protocol::nodes& list) {
    nodes = std::move(list.list);
}

void helper_client::publish_lease() {
    published_lease_end.store(lease.end_time(), std::memory_order_release);
}

// A change of a key is reported at once, since somebody waits for it.
void helper_client::report_applied() {
    auto const time = now();
    if (!engine.is_ready || !applied.is_due() ||
        (!applied.is_urgent && time - applied.time < report_interval))
        return;
    send(replicate::protocol::applied{applied.position, applied.is_urgent});
    applied.reported = applied.position;
    applied.time = time;
    applied.is_urgent = false;
}

void helper_client::watch(std::uint64_t position) {
    watched = position;
    send(replicate::protocol::watch{position});
}

void helper_client::release_position() {
    if (std::exchange(reserves, false)) send(replicate::protocol::release{});
}

void helper_client::wake_store() {
    std::lock_guard const mutex_lock(wake_mutex);
    if (wake) wake();
}

}  // namespace latchkey::cluster
