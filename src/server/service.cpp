#include "server/service.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include <memory>
#include <thread>

#include "auth/key_form.hpp"
#include "base/log.hpp"
#include "server/bucket_file.hpp"
#include "server/worker.hpp"
#include "uring/probe.hpp"

namespace latchkey::server {
namespace {

constexpr base::mono_ns second = 1'000'000'000;
constexpr base::mono_ns ticket_key_age = 12 * 3600 * second;
constexpr base::mono_ns reader_check_age = 60 * second;
constexpr std::int64_t day_ms = 24 * 3600 * 1000;

sigset_t obeyed_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (int const number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
    return set;
}

// The next signal within `patience`, or 0.
int wait_for_signal(base::mono_ns patience) {
    auto const set = obeyed_signals();
    timespec const timeout{patience / second, patience % second};
    int const number = sigtimedwait(&set, nullptr, &timeout);
    return number > 0 ? number : 0;
}

// True when SIGTERM or SIGINT came within `patience`; other signals do not end the wait.
bool wait_for_stop(base::mono_ns patience) {
    auto const until = base::read_clocks().mono + patience;
    for (auto now = until - patience; now < until; now = base::read_clocks().mono) {
        int const number = wait_for_signal(until - now);
        if (number == SIGTERM || number == SIGINT) return true;
    }
    return false;
}

class service {
  public:
    explicit service(config const& configuration)
        : config_(configuration),
          rules_(interface_settings(configuration)),
          http_limits_(parser_settings(configuration)) {}

    base::result<void> start();
    void obey_signals();
    void stop();

  private:
    base::result<void> load_identity();
    base::result<void> open_sockets(unsigned workers);
    base::result<void> start_workers(unsigned count);
    void reload();
    void rotate_ticket_keys();
    std::size_t connections() const;

    config const& config_;
    api::settings rules_;
    http::settings http_limits_;
    std::unique_ptr<store::environment> store_;
    std::unique_ptr<limit::buckets> buckets_;
    std::unique_ptr<limit::failures> failures_;
    std::unique_ptr<address_counts> open_by_address_;
    std::unique_ptr<log_thread> log_;
    tls::signing_thread signer_;
    std::shared_ptr<tls::identity const> identity_;
    std::shared_ptr<tls::ticket_keys const> tickets_;
    std::vector<listening> sockets_;
    std::unique_ptr<store::writer> writer_;
    std::unique_ptr<common> common_;
    std::vector<std::unique_ptr<worker>> workers_;
};

base::result<void> service::start() {
    unsigned const workers = worker_count(config_);
    if (auto const able = uring::probe(); !able) return able.error();
    auto const warning = uring::raise_limits(workers, config_.connections * workers);
    if (!warning.empty()) base::say(base::severity::warning, warning);

    auto store = store::environment::open(
        {.directory = config_.data,
         .map_bytes = config_.store_map_mib << 20,
         .event_retention_ms = static_cast<std::int64_t>(config_.events_retention_days) * day_ms});
    if (!store) return store.error();
    store_ = std::move(*store);
    if (auto const mine = store_->claim_for_server(); !mine) return mine.error();
    store_->clear_stale_readers();
    auto buckets = limit::buckets::make();
    if (!buckets) return buckets.error();
    buckets_ = std::move(*buckets);
    restore_buckets(*buckets_, config_.data);
    std::uint64_t seed = 0;
    auth::random_bytes(&seed, sizeof seed);
    failures_ = std::make_unique<limit::failures>(rules_.failures_per_minute, seed);
    open_by_address_ = std::make_unique<address_counts>(config_.http_connections_per_address,
                                                        config_.connections * workers, seed);
    auto log = log_thread::open(access_log_path(config_));
    if (!log) return log.error();
    log_ = std::move(*log);

    if (auto const loaded = load_identity(); !loaded) return loaded.error();
    tickets_ = tls::ticket_keys::make();
    if (auto const opened = open_sockets(workers); !opened) return opened.error();
    writer_ = std::make_unique<store::writer>(*store_);
    common_.reset(new common{config_, rules_, http_limits_, *store_, *writer_, *buckets_,
                             *failures_, *open_by_address_, *log_, signer_});
    return start_workers(workers);
}

base::result<void> service::load_identity() {
    auto const addresses = listen_addresses(config_);
    bool const tls = std::any_of(addresses.begin(), addresses.end(),
                                 [](auto const& each) { return each.tls(); });
    if (!tls) return {};
    auto certificate = config_.tls_certificate, key = config_.tls_key;
    if (certificate.empty()) {
        auto const folder = config_.data + "/tls";
        certificate = folder + "/certificate.pem", key = folder + "/key.pem";
        struct stat status{};
        if (::stat(certificate.c_str(), &status) != 0) {
            ::mkdir(folder.c_str(), 0700);
            if (auto const made = tls::make_self_signed(certificate, key); !made)
                return made.error();
            base::say(
                "made a self-signed certificate for localhost, 127.0.0.1 and ::1: " + certificate +
                " (clients need it as their CA; configure tls.certificate and tls.key for a real "
                "one)");
        }
    }
    auto loaded = tls::identity::load(certificate, key);
    if (!loaded) return loaded.error();
    identity_ = std::move(*loaded);
    return {};
}

base::result<void> service::open_sockets(unsigned workers) {
    for (auto const& where : listen_addresses(config_)) {
        auto opened = listening::open(where, workers);
        if (!opened) return opened.error();
        sockets_.push_back(std::move(*opened));
    }
    return {};
}

base::result<void> service::start_workers(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
        std::vector<listener> mine;
        for (auto const& socket : sockets_)
            mine.push_back({socket.descriptor_of(i), socket.where().tls(), socket.where().proxy});
        auto made = std::make_unique<worker>(*common_, i);
        auto const started = made->start(mine, identity_, tickets_);
        if (!started) {
            stop();
            return started.error();
        }
        workers_.push_back(std::move(made));
    }
    for (auto const& socket : sockets_) base::say("listening on " + socket.where().url());
    return {};
}

void service::obey_signals() {
    auto now = base::read_clocks().mono;
    auto next_tickets = now + ticket_key_age;
    auto next_check = now + reader_check_age;
    for (;;) {
        int const number =
            wait_for_signal(std::max<base::mono_ns>(std::min(next_tickets, next_check) - now, 0));
        now = base::read_clocks().mono;
        if (number == SIGTERM || number == SIGINT) return;
        if (number == SIGHUP) reload();
        if (now >= next_tickets) rotate_ticket_keys(), next_tickets = now + ticket_key_age;
        if (now >= next_check) store_->clear_stale_readers(), next_check = now + reader_check_age;
    }
}

// What is wrong with the new files is said, and the old ones stay in use.
void service::reload() {
    log_->reopen();
    auto const before = identity_;
    if (auto const loaded = load_identity(); !loaded) {
        base::say(base::severity::failure,
                  "the certificate was not reloaded: " + loaded.error().message);
        return;
    }
    for (auto const& each : workers_) each->use(identity_, tickets_);
    if (identity_) base::say("reloaded the certificate: " + identity_->summary());
}

void service::rotate_ticket_keys() {
    tickets_ = tickets_->rotated();
    for (auto const& each : workers_) each->use(identity_, tickets_);
}

std::size_t service::connections() const {
    std::size_t sum = 0;
    for (auto const& each : workers_) sum += each->connections();
    return sum;
}

// No acknowledged write is lost and no answer is cut.
void service::stop() {
    // Load balancers see `Connection: close` while connections are still taken.
    common_->draining.store(true);
    bool hurry = false;
    if (config_.stop_drain_delay_seconds != 0)
        hurry =
            wait_for_stop(static_cast<base::mono_ns>(config_.stop_drain_delay_seconds) * second);
    for (auto const& each : workers_) each->stop_accepting();
    // Idle connections end; those with a request in hand end with its answer.
    for (auto const& each : workers_) each->drain();
    auto const until =
        base::read_clocks().mono + static_cast<base::mono_ns>(config_.stop_grace_seconds) * second;
    while (!hurry && connections() != 0 && base::read_clocks().mono < until) {
        int const number = wait_for_signal(second / 50);
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
    save_buckets(*buckets_, config_.data);
}

}  // namespace

base::result<void> check_files(config const& configuration) {
    if (configuration.tls_certificate.empty()) return {};
    auto const loaded = tls::identity::load(configuration.tls_certificate, configuration.tls_key);
    if (!loaded) return loaded.error();
    return {};
}

base::result<void> serve_until_stopped(config const& configuration) {
    auto const set = obeyed_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    service running(configuration);
    if (auto const started = running.start(); !started) return started.error();
    running.obey_signals();
    base::say("stopping");
    running.stop();
    base::say("stopped");
    return {};
}

}  // namespace latchkey::server
