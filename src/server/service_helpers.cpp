// The helper processes of a service: how they are started, and what goes to them: changes for
// webhooks (docs/decisions/changes.md), spans of requests (docs/decisions/tracing.md).
#include "base/time_units.hpp"
#include "helpers/kit/start.hpp"
#include "server/process/trace_settings.hpp"
#include "server/running_service.hpp"

namespace latchkey::server {
namespace {

// At a stop, for the last spans.
constexpr base::mono_ns last_spans_patience = 2 * base::second;

}  // namespace

// Before the first thread, and before this process has read anything that is secret.
base::result<void> service::start_helpers() {
    if (configuration().changes_enabled)
        delivery_socket_ =
            kit::start_optional_helper("latchkey-deliver", "webhooks are not delivered");
    if (configuration().tracing_endpoint.empty()) return {};
    auto socket = kit::start_helper("latchkey-trace");
    if (!socket) return base::error{"tracing.endpoint is set, but " + socket.error().message};
    spans_ = std::make_unique<span_exporter>(std::move(*socket));
    return {};
}

base::result<void> service::make_deliverer() {
    if (!delivery_socket_.is_open()) return {};
    delivery::deliverer_options options{
        .store = *store_,
        .writer = *writer_,
        .allow = worker_config_.rules->interface.webhook_networks,
        .node = member_ ? &member_->node() : nullptr,
        .node_name = member_ ? member_->name() : std::string(),
        .lease_length = base::after(0, configuration().cluster_lease_seconds)};
    auto result = delivery::deliverer::make(std::move(delivery_socket_), std::move(options));
    if (!result) return result.error();
    deliverer_ = std::move(*result);
    return {};
}

// ---- spans of requests

// Once the sockets are bound, whose addresses are attributes of spans; before the sandbox.
base::result<void> service::begin_tracing() {
    if (!spans_) return {};
    auto settings = read_trace_settings(configuration(), sockets_);
    if (!settings) return settings.error();
    spans_->use(std::move(*settings));
    return {};
}

base::mono_ns service::next_export() const {
    return spans_ ? spans_->next() : never;
}

void service::export_spans(base::mono_ns now) {
    if (spans_ && now >= spans_->next()) spans_->turn(now);
}

// The workers' threads have ended, their rings are still there: the exporter ends before them.
void service::export_last_spans() {
    if (spans_) spans_->finish(base::read_mono() + last_spans_patience);
    spans_.reset();
}

}  // namespace latchkey::server
