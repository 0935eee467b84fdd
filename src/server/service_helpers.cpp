#include "server/service_helpers.hpp"

#include "base/time_units.hpp"
#include "helpers/kit/start.hpp"
#include "server/main_loop.hpp"
#include "server/process/trace_settings.hpp"

namespace latchkey::server {
namespace {

// At a stop, for the last spans.
constexpr base::mono_ns last_spans_patience = 2 * base::second;

}  // namespace

base::result<void> service_helpers::start(config const& configuration) {
    if (configuration.changes_enabled)
        delivery_socket_ =
            kit::start_optional_helper("latchkey-deliver", "webhooks are not delivered");
    if (configuration.tracing_endpoint.empty()) return {};
    auto socket = kit::start_helper("latchkey-trace");
    if (!socket) return base::error{"tracing.endpoint is set, but " + socket.error().message};
    spans_ = std::make_unique<span_exporter>(std::move(*socket));
    return {};
}

base::result<void> service_helpers::make_deliverer(delivery::deliverer_options options) {
    if (!delivery_socket_.is_open()) return {};
    auto result = delivery::deliverer::make(std::move(delivery_socket_), std::move(options));
    if (!result) return result.error();
    deliverer_ = std::move(*result);
    return {};
}

// ---- spans of requests

base::result<void> service_helpers::begin_tracing(config const& configuration,
                                                  std::vector<listen_sockets> const& sockets) {
    if (!spans_) return {};
    auto settings = read_trace_settings(configuration, sockets);
    if (!settings) return settings.error();
    spans_->use(std::move(*settings));
    return {};
}

base::mono_ns service_helpers::next_export() const {
    return spans_ ? spans_->next() : never;
}

void service_helpers::export_spans(base::mono_ns now) {
    if (spans_ && now >= spans_->next()) spans_->turn(now);
}

void service_helpers::export_last_spans() {
    if (spans_) spans_->finish(base::read_mono() + last_spans_patience);
    spans_.reset();
}

}  // namespace latchkey::server
