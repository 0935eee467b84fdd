#include "server/service.hpp"

#include <signal.h>
#include <sys/stat.h>

#include <memory>
#include <thread>

#include "auth/key_form.hpp"
#include "base/log.hpp"
#include "server/bucket_file.hpp"
#include "server/confine.hpp"
#include "server/control.hpp"
#include "server/exposition.hpp"
#include "server/management.hpp"
#include "server/pulse.hpp"
#include "server/readiness.hpp"
#include "server/reload.hpp"
#include "server/systemd.hpp"
#include "server/worker.hpp"
#include "uring/probe.hpp"

namespace latchkey::server {
namespace {

constexpr base::mono_ns second = 1'000'000'000;
constexpr base::mono_ns never = INT64_MAX;
constexpr base::mono_ns ticket_key_age = 12 * 3600 * second;
constexpr base::mono_ns reader_check_age = 60 * second;
constexpr std::int64_t day_ms = 24 * 3600 * 1000;

class service {
  public:
    service(config const& configuration, read_again again)
        : again_(std::move(again)),
          supplies_{std::make_shared<rulebook>(configuration), nullptr, nullptr} {}

    base::result<void> start();
    void obey_signals();
    void stop();

  private:
    config const& settings() const { return supplies_.rules->configuration; }
    base::result<void> open_management();
    base::result<std::shared_ptr<tls::identity const>> load_identity(config const& of) const;
    base::result<void> open_sockets(unsigned workers);
    base::result<void> start_workers(unsigned count);
    void confine() const;
    bool wait_for_stop(base::mono_ns patience);
    base::result<void> reload();
    void finish_reload();
    void rotate_ticket_keys();
    void look_after();
    void show_page(http::request const& asked, http::response& answer);
    void show_readiness(http::response& answer);
    void show_metrics(http::response& answer);
    std::size_t connections() const;

    manager manager_;
    read_again again_;
    supplies supplies_;
    // A reload that not every worker has taken up yet.
    struct taking_up {
        std::atomic<std::size_t> workers_left;
        std::string what;
    };
    std::shared_ptr<taking_up> reloading_;
    base::instant const started_ = base::read_clocks();
    std::unique_ptr<control> control_;
    std::unique_ptr<store::environment> store_;
    std::unique_ptr<limit::buckets> buckets_;
    std::unique_ptr<limit::failures> failures_;
    std::unique_ptr<auth::seal> cursors_;
    std::unique_ptr<address_counts> open_by_address_;
    std::unique_ptr<log_thread> log_;
    std::unique_ptr<tls::signing_thread> signer_;
    std::vector<listening> sockets_;
    std::unique_ptr<store::writer> writer_;
    std::unique_ptr<common> common_;
    pulse pulse_;
    std::vector<std::unique_ptr<worker>> workers_;
    std::uint64_t log_lines_dropped_ = 0;  // of those, as many were told of
};

base::result<void> service::start() {
    auto made = control::make();
    if (!made) return made.error();
    control_ = std::move(*made);
    unsigned const workers = worker_count(settings());
    if (auto const able = uring::probe(); !able) return able.error();
    auto const warning = uring::raise_limits(workers, settings().connections * workers);
    if (!warning.empty()) base::say(base::severity::warning, warning);

    auto store = store::environment::open(
        {.directory = settings().data,
         .map_bytes = settings().store_map_mib << 20,
         .for_server = true,
         .event_retention_ms =
             static_cast<std::int64_t>(settings().events_retention_days) * day_ms});
    if (!store) return store.error();
    store_ = std::move(*store);
    if (auto const mine = store_->claim_for_server(); !mine) return mine.error();
    store_->clear_stale_readers();
    auto buckets = limit::buckets::make();
    if (!buckets) return buckets.error();
    buckets_ = std::move(*buckets);
    restore_buckets(*buckets_, settings().data);
    std::uint64_t seed = 0;
    auth::random_bytes(&seed, sizeof seed);
    failures_ = std::make_unique<limit::failures>(
        static_cast<std::uint32_t>(settings().auth_failures_per_minute), seed);
    open_by_address_ = std::make_unique<address_counts>(settings().http_connections_per_address,
                                                        settings().connections * workers, seed);
    cursors_ = std::make_unique<auth::seal>(store_->derived_key("cursors").value());

    auto const identity = load_identity(settings());
    if (!identity) return identity.error();
    supplies_.identity = *identity;
    supplies_.tickets = tls::ticket_keys::make();
    if (auto const opened = open_sockets(workers); !opened) return opened.error();
    if (auto const opened = open_management(); !opened) return opened.error();

    // Ports below 1024 may have taken a capability; no thread has begun.
    if (auto const given_up = give_up_privileges(); !given_up) return given_up.error();
    auto log = log_thread::open(access_log_path(settings()));
    if (!log) return log.error();
    log_ = std::move(*log);
    signer_ = std::make_unique<tls::signing_thread>();
    writer_ = std::make_unique<store::writer>(*store_);
    common_.reset(new common{*store_, *writer_, *buckets_, *failures_, *cursors_, *open_by_address_,
                             *log_, *signer_});
    if (auto const started = start_workers(workers); !started) return started.error();
    if (settings().confined && !sanitized) confine();
    for (auto const& socket : sockets_) base::say("listening on " + socket.where().url());
    return {};
}

// The default address may be some other program's; one that was chosen must be had.
base::result<void> service::open_management() {
    auto const where = management_address(settings());
    if (!where) return {};
    auto opened = management::open(
        *where, [this](auto const& asked, auto& answer) { show_page(asked, answer); });
    if (!opened && !settings().management.empty()) return opened.error();
    // Without its scheme: lines with a URL are those of the listeners.
    auto const named = [](std::string const& url) { return url.substr(url.find("//") + 2); };
    if (!opened) {
        base::say(base::severity::warning, "there is no management listener, since " +
                                               named(where->url()) +
                                               " is taken (set management to HOST:PORT or off)");
        return {};
    }
    base::say("management on " + named((*opened)->where().url()) + ": /livez, /readyz, /metrics");
    control_->serve(std::move(*opened));
    return {};
}

base::result<std::shared_ptr<tls::identity const>> service::load_identity(config const& of) const {
    auto const addresses = listen_addresses(of);
    bool const tls = std::any_of(addresses.begin(), addresses.end(),
                                 [](auto const& each) { return each.tls(); });
    if (!tls) return std::shared_ptr<tls::identity const>();
    if (!of.tls_certificate.empty()) return tls::identity::load(of.tls_certificate, of.tls_key);
    auto const folder = of.data + "/tls";
    auto const certificate = folder + "/certificate.pem", key = folder + "/key.pem";
    struct stat status{};
    if (::stat(certificate.c_str(), &status) != 0) {
        ::mkdir(folder.c_str(), 0700);
        if (auto const made = tls::make_self_signed(certificate, key); !made) return made.error();
        base::say(
            "made a self-signed certificate for localhost, 127.0.0.1 and ::1: " + certificate +
            " (clients need it as their CA; configure tls.certificate and tls.key for a real "
            "one)");
    }
    return tls::identity::load(certificate, key);
}

base::result<void> service::open_sockets(unsigned workers) {
    auto const handed = handed_sockets();
    for (auto const& where : listen_addresses(settings())) {
        if (where.scheme == listen_address::kind::handed) {
            auto taken = listening::take(where, handed);
            if (!taken) return taken.error();
            for (auto& each : *taken) sockets_.push_back(std::move(each));
            continue;
        }
        auto opened = listening::open(where, workers);
        if (!opened) return opened.error();
        sockets_.push_back(std::move(*opened));
    }
    // What was handed in says only now where it is; what was configured was judged before.
    for (auto const& each : sockets_)
        if (auto const safe = validate_plain(each.where(), settings()); !safe) return safe.error();
    return {};
}

base::result<void> service::start_workers(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
        std::vector<listener> mine;
        for (auto const& socket : sockets_)
            mine.push_back({.fd = socket.descriptor_of(i),
                            .tls = socket.where().tls(),
                            .proxy = socket.where().proxy,
                            .handed = socket.handed(),
                            .shared = socket.shared()});
        auto made = std::make_unique<worker>(*common_, i, supplies_);
        auto const started = made->start(mine);
        if (!started) {
            stop();
            return started.error();
        }
        workers_.push_back(std::move(made));
    }
    for (auto const& each : workers_) {
        std::vector<worker*> others;
        for (auto const& other : workers_)
            if (other != each) others.push_back(other.get());
        each->meet(std::move(others));
    }
    return {};
}

// Some sandboxes allow no filter within; what they forbid themselves is then all there is.
void service::confine() const {
    hide_memory();
    if (auto const filtered = filter_system_calls(); !filtered)
        base::say(base::severity::warning, filtered.error().message +
                                               ": the service runs without (confined = false "
                                               "does not try)");
}

void service::obey_signals() {
    auto now = base::read_clocks().mono;
    auto next_tickets = now + ticket_key_age;
    auto next_check = now + reader_check_age;
    auto const watchdog = manager_.watchdog_every();
    auto next_watchdog = watchdog == 0 ? never : now;
    bool reload_wanted = false;
    manager_.tell("READY=1");
    for (;;) {
        int const number = control_->wait(std::min({next_tickets, next_check, next_watchdog}));
        now = base::read_clocks().mono;
        if (number == SIGTERM || number == SIGINT) return;
        if (number == SIGHUP) reload_wanted = true;
        if (reloading_ && reloading_->workers_left == 0) finish_reload();
        if (reload_wanted && !reloading_) {
            reload_wanted = false;
            manager_.tell_reloading(now);
            if (auto const done = reload(); !done) {
                base::say(base::severity::failure,
                          "nothing was reloaded and all stays as it was: " + done.error().message);
                manager_.tell("READY=1");
            }
        }
        // A worker that hangs keeps the watchdog from hearing of us, and we are started anew.
        if (now >= next_watchdog) {
            if (pulse_.felt(workers_, now)) manager_.tell("WATCHDOG=1");
            next_watchdog = now + watchdog;
        }
        if (now >= next_tickets) rotate_ticket_keys(), next_tickets = now + ticket_key_age;
        if (now >= next_check) look_after(), next_check = now + reader_check_age;
    }
}

// Everything is read and judged before anything is changed. Then each worker goes over between two
// of its turns, and says so.
base::result<void> service::reload() {
    auto const read = again_();
    if (!read) return read.error();
    auto const next = reload_of(settings(), *read);
    if (!next) return next.error();
    for (auto const& each : sockets_)
        if (auto const safe = validate_plain(each.where(), next->settings); !safe)
            return safe.error();
    auto const identity = load_identity(next->settings);
    if (!identity) return identity.error();
    if (auto const log = log_->reopen(access_log_path(next->settings)); !log) return log.error();

    supplies_.rules = std::make_shared<rulebook>(next->settings);
    supplies_.identity = *identity;
    failures_->allow(static_cast<std::uint32_t>(settings().auth_failures_per_minute));
    if (!next->need_restart.empty())
        base::say(base::severity::warning,
                  "only a restart changes " + next->need_restart + ", left as it was");
    reloading_ = std::make_shared<taking_up>();
    reloading_->workers_left = workers_.size();
    reloading_->what = next->changed.empty() ? "nothing changed" : "changed " + next->changed;
    for (auto const& each : workers_)
        each->use(supplies_, [this, mine = reloading_] {
            if (mine->workers_left.fetch_sub(1) == 1) control_->wake();
        });
    return {};
}

// Every worker has acknowledged; whatever still uses the old configuration, a request in hand, is
// the last to do so and frees it.
void service::finish_reload() {
    auto const done = std::exchange(reloading_, nullptr);
    base::say("reloaded the configuration: " + done->what);
    manager_.tell("READY=1");
    if (supplies_.identity) base::say("reloaded the certificate: " + supplies_.identity->summary());
}

// Once a minute.
void service::look_after() {
    store_->clear_stale_readers();
    auto const dropped = log_->dropped();
    if (dropped != log_lines_dropped_)
        base::say(base::severity::warning,
                  std::to_string(dropped - log_lines_dropped_) +
                      " entries of the access log could not be written within the last minute");
    log_lines_dropped_ = dropped;
}

// True when SIGTERM or SIGINT came within `patience`; other signals do not end the wait.
bool service::wait_for_stop(base::mono_ns patience) {
    auto const until = base::read_clocks().mono + patience;
    while (base::read_clocks().mono < until) {
        int const number = control_->wait(until);
        if (number == SIGTERM || number == SIGINT) return true;
    }
    return false;
}

void service::rotate_ticket_keys() {
    supplies_.tickets = supplies_.tickets->rotated();
    for (auto const& each : workers_) each->use(supplies_, [] {});
}

std::size_t service::connections() const {
    std::size_t sum = 0;
    for (auto const& each : workers_) sum += each->connections();
    return sum;
}

// ---- the management listener's pages

void service::show_page(http::request const& asked, http::response& answer) {
    if (asked.path == "/livez") return answer_liveness(answer);
    if (asked.path == "/readyz") return show_readiness(answer);
    if (asked.path == "/metrics") return show_metrics(answer);
    answer.status = 404;
    answer.content_type = http::content::text;
    answer.body.append("there are /livez, /readyz and /metrics\n");
}

// It is only asked once everything has started.
void service::show_readiness(http::response& answer) {
    bool const live = pulse_.felt(workers_, base::read_clocks().mono);
    readiness_check const checks[] = {
        {"workers", live ? "" : "a worker does not answer"},
        {"store", store_ ? "" : "not open"},
        {"accepting", common_->draining ? "draining" : ""},
    };
    answer_readiness(checks, answer);
}

void service::show_metrics(http::response& answer) {
    measured now{.connections = connections(),
                 .commits = writer_->count(),
                 .store = *store_,
                 .log_lines_dropped = log_->dropped(),
                 .started = started_,
                 .now = base::read_clocks()};
    for (auto const& each : workers_) now.workers.push_back(&each->metrics());
    answer.add("Content-Type", exposition_type);
    append_exposition(now, answer.body);
}

// No acknowledged write is lost and no answer is cut.
void service::stop() {
    // Load balancers see `Connection: close` while connections are still taken.
    manager_.tell("STOPPING=1\nSTATUS=ends what is in flight");
    common_->draining.store(true);
    bool hurry = false;
    if (settings().stop_drain_delay_seconds != 0)
        hurry =
            wait_for_stop(static_cast<base::mono_ns>(settings().stop_drain_delay_seconds) * second);
    for (auto const& each : workers_) each->stop_accepting();
    // Idle connections end; those with a request in hand end with its answer.
    for (auto const& each : workers_) each->drain();
    auto const until = base::read_clocks().mono +
                       static_cast<base::mono_ns>(settings().stop_grace_seconds) * second;
    while (!hurry && connections() != 0 && base::read_clocks().mono < until) {
        int const number = control_->wait(base::read_clocks().mono + second / 50);
        hurry = number == SIGTERM || number == SIGINT;
    }
    if (auto const left = connections(); left != 0) {
        base::say(base::severity::warning,
                  "ending " + std::to_string(left) + " connections before they were done");
        for (auto const& each : workers_) each->abort_all();
    }
    // A worker's thread ends when the kernel holds nothing of it; a commit in flight is waited for.
    for (auto const& each : workers_) each->finish();
    writer_->stop();
    workers_.clear();  // with their mailboxes, which the writer has let go of by now
    save_buckets(*buckets_, settings().data);
}

}  // namespace

base::result<void> check_files(config const& configuration) {
    if (configuration.tls_certificate.empty()) return {};
    auto const loaded = tls::identity::load(configuration.tls_certificate, configuration.tls_key);
    if (!loaded) return loaded.error();
    return {};
}

base::result<void> serve_until_stopped(config const& configuration, read_again again) {
    sigset_t set;
    sigemptyset(&set);
    for (int const number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    service running(configuration, std::move(again));
    if (auto const started = running.start(); !started) return started.error();
    running.obey_signals();
    base::say("stopping");
    running.stop();
    base::say("stopped");
    return {};
}

}  // namespace latchkey::server
