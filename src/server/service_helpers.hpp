// The helper processes of a service: how they are started, and what goes to them: changes for
// webhooks (docs/decisions/changes.md), spans of requests (docs/decisions/tracing.md). Main thread.
#pragma once

#include <memory>
#include <vector>

#include "delivery/deliverer.hpp"
#include "server/observe/span_exporter.hpp"
#include "server/process/config.hpp"
#include "server/process/listener.hpp"

namespace latchkey::server {

class service_helpers {
  public:
    // Starts those that the configuration wants: before the first thread, and before this process
    // has read anything that is secret.
    base::result<void> start(config const& configuration);

    // Does nothing without the helper.
    base::result<void> make_deliverer(delivery::deliverer_options options);
    // Null: webhooks are not delivered.
    delivery::deliverer* deliverer() const { return deliverer_.get(); }

    // Once the sockets are bound, whose addresses are attributes of spans; before the sandbox.
    base::result<void> begin_tracing(config const& configuration,
                                     std::vector<listen_sockets> const& sockets);
    // Null: no spans are exported.
    span_exporter* spans() const { return spans_.get(); }
    base::mono_ns next_export() const;
    void export_spans(base::mono_ns now);
    // The workers' threads have ended, their rings are still there: the exporter ends before them.
    void export_last_spans();

  private:
    base::descriptor delivery_socket_;  // to the helper, until the deliverer has it
    std::unique_ptr<span_exporter> spans_;
    std::unique_ptr<delivery::deliverer> deliverer_;
};

}  // namespace latchkey::server
