#include "server/observe/span_exporter.hpp"

#include <algorithm>
#include <utility>

#include "base/system/log.hpp"
#include "base/system/poll_until.hpp"
#include "base/time_units.hpp"

namespace latchkey::server {
namespace {

constexpr base::mono_ns interval = base::second / 5;
// On the way to a helper that does not read: what comes then stays in the rings, and is dropped
// there when they are full.
constexpr std::size_t unsent_bytes_max = std::size_t{1} << 20;

}  // namespace

span_exporter::span_exporter(base::descriptor socket) : channel_(std::move(socket)) {
    batch_.spans.reserve(trace::protocol::spans_per_batch_max);
}

void span_exporter::use(trace::protocol::settings settings) {
    if (settings == settings_) return;
    settings_ = std::move(settings);
    if (is_ready_) channel_.queue(trace::protocol::encode(settings_));
}

void span_exporter::turn(base::mono_ns now) {
    next_ = now + interval;
    if (has_failed_) return;
    receive();
    if (is_ready_) collect();
    if (has_failed_) return;
    if (auto const flushed = channel_.flush(); !flushed) fail(flushed.error().message);
}

void span_exporter::receive() {
    auto const intake = kit::receive_each(
        channel_, trace::protocol::decode,
        [this](trace::protocol::message const& content) { return take(content); });
    if (!intake) fail(intake.error().message);
}

bool span_exporter::take(trace::protocol::message const& content) {
    if (auto const* const hello = std::get_if<trace::protocol::hello>(&content)) {
        if (hello->version != trace::protocol::protocol_version) {
            fail("it is of another version than latchkey: install both from one package");
            return false;
        }
        begin_session(hello->session);
        return true;
    }
    auto const* const report = std::get_if<trace::protocol::report>(&content);
    if (report == nullptr) {
        fail("a message that a helper does not send");
        return false;
    }
    if (report->exported > sent_spans_ || report->dropped > sent_spans_ - report->exported) {
        fail("it reports more spans than it was sent");
        return false;
    }
    report_ = *report;
    // Once for each reason, until a request succeeds.
    if (report_.failure != last_failure_ && !report_.failure.empty())
        base::log(base::severity::warning, "spans cannot be exported: " + report_.failure);
    last_failure_ = report_.failure;
    return true;
}

// The helper before this one has ended with what it had.
void span_exporter::begin_session(std::uint64_t session) {
    total_.exported += report_.exported;
    total_.dropped_by_helper += sent_spans_ - report_.exported;
    sent_spans_ = 0;
    report_ = {};
    channel_.drop_unsent();
    channel_.queue(trace::protocol::encode(trace::protocol::begin{session}));
    channel_.queue(trace::protocol::encode(settings_));
    is_ready_ = true;
}

void span_exporter::collect() {
    for (auto* const ring : rings_) {
        for (;;) {
            if (channel_.unsent_bytes() > unsent_bytes_max) return;
            batch_.spans.clear();
            auto const count = ring->take(
                trace::protocol::spans_per_batch_max,
                [this](trace::protocol::span const& each) { batch_.spans.push_back(each); });
            if (count == 0) break;
            channel_.queue(trace::protocol::encode(batch_));
            sent_spans_ += count;
        }
    }
}

void span_exporter::fail(std::string const& reason) {
    base::log(base::severity::warning, "latchkey-trace: " + reason + ": no spans are exported");
    has_failed_ = true;
}

// An endpoint that fails is not waited for: its next attempt may be far away.
void span_exporter::finish(base::mono_ns deadline) {
    if (!is_ready_ || has_failed_) return;
    collect();
    channel_.queue(trace::protocol::encode(trace::protocol::flush{}));
    while (!has_failed_ && unreported() != 0 && report_.failure.empty()) {
        if (auto const flushed = channel_.flush(); !flushed) return;
        pollfd event{.fd = channel_.descriptor(), .events = channel_.events(), .revents = 0};
        if (base::poll_until({&event, 1}, deadline) <= 0) return;
        receive();
    }
}

span_exporter::counts span_exporter::count() const {
    auto all = total_;
    all.exported += report_.exported;
    all.dropped_by_helper += report_.dropped;
    for (auto const* const ring : rings_) all.dropped_by_rings += ring->losses();
    return all;
}

}  // namespace latchkey::server
