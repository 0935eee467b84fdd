// The parts of the page of metrics that are about the process, its operation and exact statuses.
#include "server/observe/exposition.hpp"
#include "server/observe/exposition_page.hpp"

namespace latchkey::server {
namespace {

// Prometheus takes Unix time in seconds.
double seconds_of(base::wall_ms time) {
    return static_cast<double>(time) / 1000;
}

void append_operation(std::string const& name, std::string const& subject,
                      operation_time const& operation, page& output) {
    output
        .family("latchkey_" + name + "_successful", "gauge",
                "Whether the last " + subject + " succeeded.")
        .sample(operation.succeeded ? 1 : 0);
    if (operation.success_at == 0) return;
    output
        .family("latchkey_" + name + "_success_timestamp_seconds", "gauge",
                "When the last " + subject + " succeeded, in Unix time.")
        .sample(seconds_of(operation.success_at));
}

}  // namespace

void append_statuses(process_totals const& totals, page& output) {
    output.family("latchkey_http_responses_total", "counter",
                  "Responses, by exact status (other: those of a class without a label of their "
                  "own).");
    auto const rows = api::routes().size() + 1;
    for (std::size_t slot = 0; slot < status_slots.size(); ++slot) {
        std::uint64_t total = 0;
        for (auto const* each : totals.workers)
            for (std::size_t row = 0; row < rows; ++row)
                for (std::size_t verb = 0; verb < worker_metrics::methods; ++verb)
                    total += each->requests_of_slot(row, static_cast<http::method>(verb), slot);
        auto const& [status_class, code] = status_slots[slot];
        auto const name = code != 0 ? std::to_string(code) : std::to_string(status_class) + "xx";
        if (total != 0 || code != 0) output.sample(total, label("code", name));
    }
}

void append_operations(process_totals const& totals, page& output) {
    if (totals.certificate_expires != 0)
        output
            .family("latchkey_certificate_expires_seconds", "gauge",
                    "When the certificate in use expires, in Unix time.")
            .sample(seconds_of(totals.certificate_expires));
    append_operation("reload", "reload of the configuration", totals.reload, output);
    if (totals.backup) append_operation("backup", "backup", *totals.backup, output);
}

void append_process(process_totals const& totals, page& output) {
    output.family("process_start_time_seconds", "gauge", "Start of the process, in Unix time.")
        .sample(seconds_of(totals.started.clock));
    if (!totals.process) return;
    auto const& process = *totals.process;
    output
        .family("process_cpu_seconds_total", "counter",
                "User and system time of the processors that the process has used.")
        .sample(process.cpu_seconds);
    output
        .family("process_resident_memory_bytes", "gauge", "Resident memory, the mapped store too.")
        .sample(process.resident_bytes);
    output.family("process_virtual_memory_bytes", "gauge", "Size of the address space.")
        .sample(process.virtual_bytes);
    output.family("process_open_fds", "gauge", "Open file descriptors.")
        .sample(process.open_descriptors);
    output.family("process_max_fds", "gauge", "Maximum of open file descriptors.")
        .sample(process.descriptors_max);
}

}  // namespace latchkey::server
