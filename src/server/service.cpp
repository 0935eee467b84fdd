// The order of `start` is the point: helpers are forked before the first thread, sockets are bound
// before privileges go, files are confined before workers run, and accepting begins last. The main
// loop sleeps until the earliest of its due times or a signal. A reload is read and validated as a
// whole, then given to each worker, and ends when the last one has acknowledged.
#include "server/service.hpp"

#include <signal.h>

#include <cerrno>
#include <memory>
#include <thread>

#include "auth/key_form.hpp"
#include "base/limits.hpp"
#include "base/system/call_filter.hpp"
#include "base/system/log.hpp"
#include "base/time_units.hpp"
#include "runtime/uring/probe.hpp"
#include "server/observe/exposition.hpp"
#include "server/observe/readiness.hpp"
#include "server/process/confine_service.hpp"
#include "server/process/first_key.hpp"
#include "server/process/reload.hpp"
#include "server/process/server_identity.hpp"
#include "server/process/trace_settings.hpp"
#include "server/running_service.hpp"
#include "wire/tls/self_signed.hpp"

namespace latchkey::server {

namespace {

using base::second;

constexpr base::mono_ns ticket_key_age = 12 * 3600 * second;
constexpr base::mono_ns reader_check_age = 60 * second;

}  // namespace

base::result<void> service::start() {
    if (auto const met = meet_predecessor(); !met) return met.error();
    // Before the first thread.
    if (auto const started = helpers_.start(configuration()); !started) return started.error();
    auto member = cluster_member::start(configuration());
    if (!member) return member.error();
    member_ = std::move(*member);
    if (member_)
        if (auto const able = member_->check_directory(); !able) return able.error();
    auto loop = main_loop::make();
    if (!loop) return loop.error();
    main_loop_ = std::move(*loop);
    unsigned const workers = worker_count(configuration());
    if (auto const able = uring::probe(); !able) return able.error();
    auto const warning = uring::raise_limits(workers);
    if (!warning.empty()) base::log(base::severity::warning, warning);
    process_ = std::make_unique<process_stats>();

    if (auto const status = open_store(); !status) return status.error();
    if (auto const key = make_first_key(*store_, configuration()); !key) return key.error();
    if (auto const status = limits_.open(configuration(), workers); !status) return status.error();
    if (!member_ && !predecessor_) limits_.restore(*store_, configuration().data);
    cursors_ = std::make_unique<auth::mac>(store_->derived_key("cursors").value());

    auto const files = load_files(configuration(), nullptr);
    if (!files) return files.error();
    worker_config_.take(*files);
    worker_config_.tickets = tls::ticket_keys::make();
    if (auto const status = open_sockets(workers); !status) return status.error();
    if (auto const status = helpers_.begin_tracing(configuration(), sockets_); !status)
        return status.error();
    if (auto const status = open_management(); !status) return status.error();
    open_handover();
    if (auto const status = take_over_node(); !status) return status.error();

    // After bind(), which needs a capability for ports below 1024; before the first thread starts.
    if (auto const result = base::give_up_privileges(); !result) return result.error();
    if (configuration().confined && !base::sanitized) files_.confine(configuration(), sockets_);
    auto log = log_thread::open(access_log_path(configuration()));
    if (!log) return log.error();
    log_ = std::move(*log);
    signer_ = std::make_unique<tls::signing_thread>();
    writer_ = std::make_unique<domain::writer>(*store_);
    common_.reset(new common{*store_, *writer_, *limits_.buckets, *limits_.failures, *cursors_,
                             *limits_.open_by_address, *log_, *signer_});
    if (member_) {
        common_->node = &member_->node();
        common_->quota = member_->node().quota();
        member_->begin();
    }
    common_->begin_console(started_.wall, member_ ? member_->name() : std::string());
    if (auto const status = make_deliverer(); !status) return status.error();
    if (configuration().changes_enabled)
        key_watch_ = std::make_unique<key_watch>(*store_, *writer_, main_loop_->waker(),
                                                 member_ ? key_watch::look_interval : 0);
    if (auto const started = start_workers(workers); !started) return started.error();
    if (auto* const deliverer = helpers_.deliverer())
        deliverer->begin(predecessor_ ? delivery::deliverer::start::on_release
                                      : delivery::deliverer::start::at_once);
    if (configuration().confined && !base::sanitized) confine_system_calls();
    if (auto const accepted = take_over(); !accepted) {
        end_at_once();
        return accepted.error();
    }
    for (auto const& socket : sockets_) base::log("listening on " + socket.address().url());
    return {};
}

base::result<void> service::open_store() {
    auto store = store::environment::open(store_options(configuration()));
    if (!store) return store.error();
    store_ = std::move(*store);
    if (auto const claim = claim_store(); !claim) return claim;
    store_->clear_stale_readers();
    if (member_ && !predecessor_) return member_->join(*store_);
    return {};
}

base::result<void> service::make_deliverer() {
    delivery::deliverer_options options{
        .store = *store_,
        .writer = *writer_,
        .allow = worker_config_.rules->interface.webhook_networks,
        .node = member_ ? &member_->node() : nullptr,
        .node_name = member_ ? member_->name() : std::string(),
        .lease_length = base::after(0, configuration().cluster_lease_seconds)};
    return helpers_.make_deliverer(std::move(options));
}

// A default address that is taken is a warning; a configured one is an error.
base::result<void> service::open_management() {
    auto const address = management_address(configuration());
    if (!address) return {};
    auto const handler = [this](auto const& request, auto& response) {
        answer_management(request, response);
    };
    auto passed = predecessor_ ? predecessor_->take_management(*address) : std::nullopt;
    auto sockets = passed ? listen_sockets::adopt(*address, 1, std::move(*passed))
                          : listen_sockets::open(*address, 1);
    auto listener = sockets ? management::serve(std::move(*sockets), handler)
                            : base::result<std::unique_ptr<management>>(sockets.error());
    if (!listener && !configuration().management.empty()) return listener.error();
    // Without the scheme: log lines with a URL are those of the service's own listeners.
    auto const without_scheme = [](std::string const& url) {
        return url.substr(url.find("//") + 2);
    };
    if (!listener) {
        base::log(base::severity::warning, "there is no management listener, because " +
                                               without_scheme(address->url()) +
                                               " is taken (set management to HOST:PORT or off)");
        return {};
    }
    base::log("management on " + without_scheme((*listener)->address().url()) +
              ": /livez, /readyz, /metrics");
    main_loop_->serve(std::move(*listener));
    return {};
}

base::result<void> service::open_sockets(unsigned workers) {
    auto const passed_in = passed_sockets();
    for (auto const& address : listen_addresses(configuration())) {
        bool is_taken = false;
        while (auto passed = predecessor_ ? predecessor_->take_listener(address) : std::nullopt) {
            auto sockets = listen_sockets::adopt(address, workers, std::move(*passed));
            if (!sockets) return sockets.error();
            sockets_.push_back(std::move(*sockets));
            is_taken = true;
            if (address.scheme != listen_address::kind::passed_in) break;
        }
        if (is_taken) continue;
        if (address.scheme == listen_address::kind::passed_in) {
            auto sockets = listen_sockets::take(address, passed_in);
            if (!sockets) return sockets.error();
            for (auto& each : *sockets) sockets_.push_back(std::move(each));
            continue;
        }
        auto sockets = predecessor_ ? listen_sockets::reserve(address, workers)
                                    : listen_sockets::open(address, workers);
        if (!sockets) return sockets.error();
        sockets_.push_back(std::move(*sockets));
    }
    // The address of a passed-in socket is known only now; configured ones were validated before.
    for (auto const& each : sockets_)
        if (auto const safe = validate_plain(each.address(), configuration()); !safe)
            return safe.error();
    return {};
}

base::result<void> service::start_workers(unsigned count) {
    common_->keep_descriptors(*process_, configuration().connections, count);
    for (unsigned i = 0; i < count; ++i) {
        std::vector<listener> assigned;
        for (auto const& socket : sockets_)
            for (int const fd : socket.descriptors_of(i, count))
                assigned.push_back({.fd = fd,
                                    .tls = socket.address().tls(),
                                    .proxy = socket.address().proxy,
                                    .passed_in = socket.passed_in(),
                                    .shared = socket.shared()});
        auto instance = std::make_unique<worker>(*common_, i, worker_config_);
        if (predecessor_) instance->defer_accepting();
        auto const result = instance->start(assigned);
        if (!result) {
            end_at_once();
            return result.error();
        }
        if (auto* const spans = helpers_.spans()) spans->add(*instance->span_ring());
        workers_.push_back(std::move(instance));
    }
    for (auto const& each : workers_) {
        std::vector<worker*> others;
        for (auto const& other : workers_)
            if (other != each) others.push_back(other.get());
        each->set_peers(std::move(others));
    }
    if (member_)
        member_->on_tokens([this] {
            for (auto const& each : workers_) each->tell_tokens();
        });
    return {};
}

void service::handle_signals() {
    auto now = base::read_clocks().mono;
    auto next_tickets = now + ticket_key_age;
    auto next_check = now + reader_check_age;
    auto next_memory = now + memory_return::look_every;
    auto const watchdog = notifier_.watchdog_every();
    auto next_watchdog = watchdog == 0 ? never : now;
    auto next_keys = key_watch_ ? now : never;
    bool reload_wanted = false;
    notifier_.notify("READY=1");
    for (;;) {
        auto const next_handover = handover_ && handover_->next() != 0 ? handover_->next() : never;
        int const number =
            main_loop_->wait(std::min({next_tickets, next_check, next_watchdog, next_memory,
                                       next_keys, next_handover, helpers_.next_export()}));
        now = base::read_clocks().mono;
        if (number == SIGTERM || number == SIGINT) return;
        if (number == SIGHUP) reload_wanted = true;
        if (pending_reload_ && pending_reload_->workers_left == 0) finish_reload();
        if (reload_wanted && !pending_reload_) {
            reload_wanted = false;
            notifier_.notify_reloading(now);
            if (auto const outcome = reload(); !outcome) {
                base::log(
                    base::severity::failure,
                    "nothing was reloaded and all stays as it was: " + outcome.error().message);
                notifier_.notify("READY=1");
                reload_time_.succeeded = false;
                // The file that was rotated away is let go, whatever the configuration says.
                if (auto const log = log_->reopen(access_log_path(configuration())); !log)
                    base::log(base::severity::warning, files_.explain(log.error()).message);
            }
        }
        // Without a ping from us, because a worker hangs, the service manager restarts the service.
        if (now >= next_watchdog) {
            if (heartbeat_.all_alive(workers_, now)) notifier_.notify("WATCHDOG=1");
            next_watchdog = now + watchdog;
        }
        if (now >= next_tickets) rotate_ticket_keys(), next_tickets = now + ticket_key_age;
        if (now >= next_check) check_once_a_minute(), next_check = now + reader_check_age;
        if (now >= next_memory)
            memory_.look_at(workers_, now), next_memory = now + memory_return::look_every;
        helpers_.export_spans(now);
        if (key_watch_) next_keys = predecessor_ ? now + second : key_watch_->turn(now);
        if (predecessor_ && predecessor_->has_ended()) note_end_of_predecessor();
        if (handover_ && handover_->turn(now)) return;
    }
}

// Reads and validates everything before anything changes. Each worker then switches between two of
// its turns and acknowledges.
base::result<void> service::reload() {
    auto const read = reader_();
    if (!read) return read.error();
    auto const next = reload_of(configuration(), *read);
    if (!next) return next.error();
    for (auto const& each : sockets_)
        if (auto const safe = validate_plain(each.address(), next->configuration); !safe)
            return safe.error();
    auto const files = load_files(next->configuration, worker_config_.issuers);
    if (!files) return files_.explain(files.error());
    auto* const spans = helpers_.spans();
    auto trace = spans != nullptr ? read_trace_settings(next->configuration, sockets_)
                                  : trace::protocol::settings{};
    if (!trace) return files_.explain(trace.error());
    if (auto const log = log_->reopen(access_log_path(next->configuration)); !log)
        return files_.explain(log.error());

    worker_config_.rules = std::make_shared<config_snapshot>(next->configuration);
    worker_config_.take(*files);
    if (spans != nullptr) spans->use(std::move(*trace));
    base::set_log_style(log_style_of(configuration()));
    limits_.allow_failures(configuration());
    if (!next->need_restart.empty())
        base::log(base::severity::warning,
                  "only a restart changes " + next->need_restart + ", which stays as it was");
    pending_reload_ = std::make_shared<pending_reload>();
    pending_reload_->workers_left = workers_.size();
    pending_reload_->summary =
        next->changes.empty() ? "nothing changed" : "changed " + next->changes;
    for (auto const& each : workers_)
        each->use(worker_config_, [this, pending = pending_reload_] {
            if (pending->workers_left.fetch_sub(1) == 1) main_loop_->wake();
        });
    return {};
}

// Every worker has acknowledged. Requests in progress still use the old configuration; the last of
// them frees it.
void service::finish_reload() {
    auto const summary = std::exchange(pending_reload_, nullptr)->summary;
    base::log("reloaded the configuration: " + summary);
    reload_time_ = {.success_at = base::read_clocks().clock};
    notifier_.notify("READY=1");
    if (worker_config_.identity)
        base::log("reloaded the certificate: " + worker_config_.identity->summary());
}

void service::check_once_a_minute() {
    store_->clear_stale_readers();
    auto const losses = log_->dropped();
    if (losses != log_lines_reported_)
        base::log(base::severity::warning,
                  std::to_string(losses - log_lines_reported_) +
                      " access log entries could not be written within the last minute");
    log_lines_reported_ = losses;
    clock_.look(store_->offset_of_clock());
}

// True if SIGTERM or SIGINT arrived within `patience`; other signals do not end the wait.
bool service::wait_for_stop(base::mono_ns patience) {
    auto const deadline = base::read_clocks().mono + patience;
    while (base::read_clocks().mono < deadline) {
        int const number = main_loop_->wait(std::min(deadline, helpers_.next_export()));
        if (number == SIGTERM || number == SIGINT) return true;
        helpers_.export_spans(base::read_mono());
    }
    return false;
}

void service::rotate_ticket_keys() {
    worker_config_.tickets = worker_config_.tickets->rotated();
    for (auto const& each : workers_) each->use(worker_config_, [] {});
}

std::size_t service::connections() const {
    std::size_t sum = 0;
    for (auto const& each : workers_) sum += each->connections();
    return sum;
}

// ---- the management listener's pages

void service::answer_management(http::request const& request, http::response& response) {
    if (request.path == "/livez") return answer_liveness(response);
    if (request.path == "/readyz") return answer_ready(response);
    if (request.path == "/metrics") return answer_metrics(response);
    response.status = 404;
    response.content_type = http::content::text;
    response.body.append("the pages are /livez, /readyz and /metrics\n");
}

// Served only once everything has started: the main loop runs after start().
void service::answer_ready(http::response& response) {
    auto const locked_out = writer_->lockout();
    bool const live = heartbeat_.all_alive(workers_, base::read_clocks().mono);
    auto const unready = member_ ? member_->unreadiness() : std::string();
    std::vector<readiness_check> checks{
        {"workers", live ? "" : "a worker does not answer"},
        {"store", locked_out},
        {"accepting", common_->draining ? "draining" : ""},
    };
    if (member_) checks.push_back({"cluster", unready});
    answer_readiness(checks, response);
}

void service::answer_metrics(http::response& response) {
    process_totals totals{.connections = connections(),
                          .commits = writer_->count(),
                          .store = *store_,
                          .log_lines_dropped = log_->dropped(),
                          .started = started_,
                          .now = base::read_clocks(),
                          .node = {},
                          .reload = reload_time_,
                          .backup = read_backup_note(configuration().data),
                          .process = process_->read()};
    if (worker_config_.identity)
        totals.certificate_expires = worker_config_.identity->valid_until();
    if (member_) totals.node = member_->node().report();
    if (auto const* const deliverer = helpers_.deliverer())
        totals.deliveries = &deliverer->metrics();
    if (auto const* const spans = helpers_.spans()) totals.spans = spans->count();
    for (auto const& each : workers_) totals.workers.push_back(&each->metrics());
    response.add("Content-Type", exposition_type);
    append_exposition(totals, response.body);
}

// Loses no acknowledged write and cuts no response.
void service::stop() {
    // Load balancers see `Connection: close` while connections are still accepted.
    notifier_.notify("STOPPING=1\nSTATUS=finishing requests in flight");
    common_->draining.store(true);
    if (predecessor_) main_loop_->forget(predecessor_->fd());
    // A successor that is ready, though its word was not heard yet, needs no answer but this.
    if (handover_ && handover_->turn(base::read_mono()))
        hand_over();
    else
        close_handover();
    if (auto* const deliverer = helpers_.deliverer()) deliverer->drain();
    bool hurry = false;
    if (!is_handed_over_ && configuration().stop_drain_delay_seconds != 0)
        hurry = wait_for_stop(static_cast<base::mono_ns>(configuration().stop_drain_delay_seconds) *
                              second);
    if (!is_handed_over_)
        for (auto const& each : workers_) each->stop_accepting();
    // Idle connections end now, the others with the response to their current request.
    for (auto const& each : workers_) each->drain();
    auto const grace = is_handed_over_ ? 1 : configuration().stop_grace_seconds;
    if (!hurry) await_connections(base::after(base::read_clocks().mono, grace));
    if (auto const open_connections = connections(); open_connections != 0) {
        base::log(base::severity::warning,
                  "ending connections that have not ended: " + std::to_string(open_connections));
        for (auto const& each : workers_) each->abort_all();
    }
    end_threads();
    if (!member_ && !is_handed_over_) limits_.save(*store_, configuration().data);
}

// True: a signal ended the wait.
bool service::await_connections(base::mono_ns deadline) {
    while (connections() != 0 && base::read_clocks().mono < deadline) {
        int const number = main_loop_->wait(base::read_clocks().mono + second / 50);
        if (number == SIGTERM || number == SIGINT) return true;
        helpers_.export_spans(base::read_mono());
    }
    return false;
}

// A worker's thread ends when the kernel has no operation of it; commits in flight finish first.
void service::end_threads() {
    writer_->shorten_waits();
    for (auto const& each : workers_) each->finish();
    if (auto* const deliverer = helpers_.deliverer()) deliverer->finish();
    writer_->stop();
    if (member_) {
        member_->leave();
        member_->on_tokens({});
    }
    helpers_.export_last_spans();
    workers_.clear();  // with their mailboxes, which nobody else uses any more
}

base::result<void> serve_until_stopped(config const& configuration, config_reader reader,
                                       bool takes_over) {
    sigset_t set;
    sigemptyset(&set);
    for (int const number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    // No child leaves a zombie: not a supervisor, and as process 1 of a container no orphan.
    ::signal(SIGCHLD, SIG_IGN);
    service instance(configuration, std::move(reader), takes_over);
    if (auto const started = instance.start(); !started) {
        instance.abandon();
        return started.error();
    }
    instance.handle_signals();
    base::log("stopping");
    instance.stop();
    base::log("stopped");
    return {};
}

}  // namespace latchkey::server
