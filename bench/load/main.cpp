// Load generator for HTTP/1.1 and HTTP/2 on io_uring. Costs less per request than the server it measures, and
// checks the status and length of every answer. See `load --help`.
#include <arpa/inet.h>
#include <netdb.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <thread>

#include "driver.hpp"

namespace {

struct arguments {
    std::string url = "https://127.0.0.1:8443", keys_file, length, reconnection = "never", source;
    std::vector<std::string> requests, headers;
    std::vector<unsigned> statuses;
    std::vector<int> cores;
    unsigned connections = 64, threads = 1, pipeline = 1, streams = 1;
    double rate = 0, tick = 0, seconds = 10, warmup = 1;
    bool cycle = false, json = false, tls12 = false, http2 = false;
    std::vector<std::string> companion;  // NAME=VALUE
};

constexpr char const* footer = R"(
  A REQUEST is [WEIGHT*]METHOD /PATH [BODY]. {1..1000000} in it is a random number, {unique} a
  number that no other request has. Keys are read from a file, one per line, so that ps does not
  show them; one that begins as a JWT does is sent in Authorization.

  One user, as fast as possible, 64 connections:
    load --url http://127.0.0.1:8080 --keys keys.txt --request 'GET /api/v1/users/1'
  Reads and writes, 20,000 per second whatever the server does (a latency counts from the due time):
    load --keys keys.txt --rate 20000 --request '9*GET /api/v1/users/{1..1000000}' \
         --request 'POST /api/v1/users {"name":"Ada","email":"u{unique}@example.com"}'
  HTTP/2, 32 requests in flight on each of 16 connections:
    load --http2 --connections 16 --streams 32 --keys keys.txt --request 'GET /api/v1/users/1'
  Also 50,000 wrong keys per second from another address, on the same thread, counted separately:
    load --keys keys.txt --rate 20000 --request 'GET /api/v1/users/1' \
         --beside keys=wrong.txt rate=50000 connections=16 from=127.0.0.3 expect-status=401,429
  TLS handshakes, resumed:
    load --reconnect resumed --keys keys.txt --request 'GET /api/v1/users/1'
)";

void describe(CLI::App& app, arguments& options) {
    app.footer(footer);
    app.add_option("--url", options.url, "http:// or https://ADDRESS:PORT of the server")
        ->capture_default_str();
    app.add_option("--request", options.requests, "REQUEST; repeat for a mix")->required();
    app.add_option("--keys", options.keys_file,
                   "File of API keys; each request takes a random one");
    app.add_flag("--cycle-keys", options.cycle, "Take the keys in turn instead of at random");
    app.add_option("--header", options.headers, "Further header field 'Name: value'; repeat");
    app.add_option("--connections", options.connections, "Connections over all threads")
        ->capture_default_str()
        ->check(CLI::Range(1, 60000));
    app.add_option("--threads", options.threads)->capture_default_str()->check(CLI::Range(1, 64));
    app.add_option("--cores", options.cores, "Core for each thread, e.g. 1 or 1,2")->delimiter(',');
    app.add_option("--from", options.source, "Address to connect from, e.g. 127.0.0.2");
    auto* const pipeline =
        app.add_option("--pipeline", options.pipeline, "Requests in flight on each connection")
            ->capture_default_str()
            ->check(CLI::Range(1, 64));
    auto* const http2 =
        app.add_flag("--http2", options.http2,
                     "Speak HTTP/2: over https:// by ALPN, over http:// by prior knowledge")
            ->excludes(pipeline);
    app.add_option("--streams", options.streams,
                   "Requests in flight on each connection with --http2, as far as the server "
                   "allows")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000))
        ->needs(http2);
    app.add_option("--rate", options.rate,
                   "Requests per second in total (open loop); 0: as many as possible")
        ->capture_default_str();
    app.add_option("--tick", options.tick,
                   "With --rate: send requests and read answers once in so many microseconds; "
                   "cheaper, but a latency is up to two ticks longer")
        ->capture_default_str()
        ->check(CLI::Range(0, 100000));
    app.add_option("--reconnect", options.reconnection, "Open a connection for each request")
        ->check(CLI::IsMember({"never", "full", "resumed"}))
        ->capture_default_str();
    app.add_flag("--tls12", options.tls12, "Offer no version above TLS 1.2");
    app.add_option("--seconds", options.seconds, "How long to measure")
        ->capture_default_str()
        ->check(CLI::Range(0.1, 3600.0));
    app.add_option("--warmup", options.warmup, "Seconds before the measurement")
        ->capture_default_str();
    app.add_option("--expect-status", options.statuses,
                   "Expected statuses, e.g. 200,429; default 2xx")
        ->delimiter(',');
    app.add_option("--expect-length", options.length,
                   "Expected content lengths, e.g. 85 or 80-120");
    app.add_option("--beside", options.companion,
                   "Further clients with the same requests, on the first thread: NAME=VALUE of "
                   "keys, rate, connections, pipeline or streams, from, expect-status");
    app.add_flag("--json", options.json, "Print one JSON document");
}

sockaddr_in resolve(std::string_view authority) {
    auto const colon = authority.rfind(':');
    if (colon == authority.npos) throw std::invalid_argument("--url needs a port");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    auto host = std::string(authority.substr(0, colon));
    if (host == "localhost") host = "127.0.0.1";
    if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
        throw std::invalid_argument("--url needs an IPv4 address");
    address.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(std::string(authority.substr(colon + 1)))));
    return address;
}

load::options make_settings(arguments const& options) {
    load::options settings;
    std::string_view url = options.url;
    settings.tls = url.starts_with("https://");
    if (!settings.tls && !url.starts_with("http://"))
        throw std::invalid_argument("--url begins with http:// or https://");
    url.remove_prefix(settings.tls ? 8 : 7);
    settings.server = resolve(url.substr(0, url.find('/')));
    settings.tls_version_max = options.tls12 ? 0x0303 : 0x0304;
    if (!options.source.empty() &&
        ::inet_pton(AF_INET, options.source.c_str(), &settings.source) != 1)
        throw std::invalid_argument("--from needs an IPv4 address");
    settings.http2 = options.http2;
    settings.pipeline = options.http2 ? options.streams : options.pipeline;
    settings.rate = options.rate / options.threads;
    settings.tick_seconds = options.tick / 1e6;
    settings.warmup_seconds = options.warmup;
    settings.seconds = options.seconds;
    settings.statuses = options.statuses;
    settings.reconnection = options.reconnection == "full"      ? load::reconnect::full
                            : options.reconnection == "resumed" ? load::reconnect::resumed
                                                                : load::reconnect::never;
    if (settings.reconnection != load::reconnect::never && options.rate > 0)
        throw std::invalid_argument("--reconnect and --rate exclude each other");
    if (!options.length.empty()) {
        auto const dash = options.length.find('-');
        settings.bytes_min = std::stoul(options.length.substr(0, dash));
        settings.bytes_max = dash == std::string::npos
                                 ? settings.bytes_min
                                 : std::stoul(options.length.substr(dash + 1));
    }
    return settings;
}

std::vector<std::string> read_keys(std::string const& file) {
    std::vector<std::string> keys;
    if (file.empty()) return keys;
    std::ifstream input(file);
    if (!input) throw std::invalid_argument("cannot read " + file);
    for (std::string line; std::getline(input, line);)
        if (!line.empty()) keys.push_back(line);
    if (keys.empty()) throw std::invalid_argument(file + " has no keys");
    return keys;
}

// The further clients of --beside: their values override those of the main clients.
std::unique_ptr<load::companion const> make_companion(arguments options) {
    if (options.companion.empty()) return nullptr;
    options.threads = 1;
    for (auto const& each : options.companion) {
        auto const equals = std::min(each.find('='), each.size());
        auto const name = each.substr(0, equals);
        auto const value = equals < each.size() ? each.substr(equals + 1) : std::string();
        auto const number = [&] { return static_cast<unsigned>(std::stoul(value)); };
        if (name == "keys") {
            options.keys_file = value;
        } else if (name == "rate") {
            options.rate = std::stod(value);
        } else if (name == "connections") {
            options.connections = number();
        } else if (name == (options.http2 ? "streams" : "pipeline")) {
            (options.http2 ? options.streams : options.pipeline) = number();
        } else if (name == "from") {
            options.source = value;
        } else if (name == "expect-status") {
            options.statuses.clear();
            for (std::stringstream list(value); list.good();) {
                std::string status;
                std::getline(list, status, ',');
                options.statuses.push_back(static_cast<unsigned>(std::stoul(status)));
            }
        } else {
            throw std::invalid_argument("--beside knows no '" + name + "'");
        }
    }
    return std::make_unique<load::companion const>(load::companion{
        make_settings(options), load::plan(options.requests, read_keys(options.keys_file),
                                           options.headers, options.cycle)});
}

std::vector<load::results> run(arguments const& options, load::plan const& plan) {
    auto const settings = make_settings(options);
    auto const companion = make_companion(options);
    std::atomic<unsigned> ready = 0;
    std::vector<load::results> all(options.threads);
    std::vector<std::exception_ptr> failures(options.threads);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < options.threads; ++i) {
        auto thread_settings = settings;
        thread_settings.connections = options.connections / options.threads +
                                      (i < options.connections % options.threads ? 1 : 0);
        thread_settings.core = options.cores.empty() ? -1 : options.cores[i % options.cores.size()];
        thread_settings.seed = i + 1;
        if (i == 0) thread_settings.companion_clients = companion.get();
        threads.emplace_back([&, i, thread_settings] {
            try {
                all[i] = load::drive(thread_settings, plan, ready, options.threads);
            } catch (...) {
                failures[i] = std::current_exception();
                ready.fetch_add(1);
            }
        });
    }
    for (auto& each : threads) each.join();
    for (auto const& each : failures)
        if (each) std::rethrow_exception(each);
    return all;
}

load::results total_of(std::vector<load::results> const& all) {
    auto sum = all.front();
    for (std::size_t i = 1; i < all.size(); ++i) {
        auto const& other = all[i];
        for (std::size_t k = 0; k < sum.latencies.size(); ++k)
            sum.latencies[k].add(other.latencies[k]);
        for (std::size_t k = 0; k < sum.statuses.size(); ++k) sum.statuses[k] += other.statuses[k];
        sum.answers += other.answers;
        sum.wrong += other.wrong;
        sum.broken += other.broken;
        sum.goaways += other.goaways;
        sum.resumed += other.resumed;
        sum.handshakes += other.handshakes;
        sum.unanswered += other.unanswered;
        sum.cpu_seconds += other.cpu_seconds;
        if (sum.first_wrong.empty()) sum.first_wrong = other.first_wrong;
    }
    return sum;
}

boost::json::object to_json(load::histogram const& source_histogram) {
    auto const us = [](double nanoseconds) { return nanoseconds / 1000; };
    return {{"answers", source_histogram.total()},
            {"mean", us(source_histogram.mean())},
            {"p50", us(double(source_histogram.quantile(0.5)))},
            {"p90", us(double(source_histogram.quantile(0.9)))},
            {"p99", us(double(source_histogram.quantile(0.99)))},
            {"p999", us(double(source_histogram.quantile(0.999)))},
            {"max", us(double(source_histogram.max()))}};
}

boost::json::object to_json(arguments const& options, load::plan const& plan,
                            load::results const& outcome) {
    load::histogram all;
    boost::json::array kinds;
    for (std::size_t i = 0; i < outcome.latencies.size(); ++i) {
        all.add(outcome.latencies[i]);
        auto each = to_json(outcome.latencies[i]);
        each["request"] = plan.kinds()[i].name;
        kinds.push_back(std::move(each));
    }
    boost::json::object statuses;
    for (std::size_t i = 0; i < outcome.statuses.size(); ++i)
        if (outcome.statuses[i] != 0) statuses[std::to_string(i)] = outcome.statuses[i];
    boost::json::array companions;
    for (auto const& each : outcome.companion_results)
        companions.push_back(to_json(options, plan, each));
    return {{"seconds", outcome.seconds},
            {"beside", std::move(companions)},
            {"answers", outcome.answers},
            {"per_second", double(outcome.answers) / outcome.seconds},
            {"statuses", std::move(statuses)},
            {"wrong", outcome.wrong},
            {"broken", outcome.broken},
            {"goaways", outcome.goaways},
            {"unanswered", outcome.unanswered},
            {"handshakes", outcome.handshakes},
            {"resumed", outcome.resumed},
            {"latency_us", to_json(all)},
            {"requests", std::move(kinds)},
            {"generator_cpu_us",
             outcome.cpu_seconds * 1e6 / double(std::max<std::uint64_t>(outcome.answers, 1))},
            {"generator_busy", outcome.cpu_seconds / outcome.seconds / options.threads},
            {"first_wrong", outcome.first_wrong}};
}

void print(boost::json::object const& all) {
    auto const line = [](boost::json::object const& source_histogram) {
        for (auto const* const name : {"p50", "p90", "p99", "p999", "max"})
            std::printf("  %s %.0f µs", name, source_histogram.at(name).as_double());
        std::printf("\n");
    };
    std::printf("%.0f answers/s in %.1f s\n", all.at("per_second").as_double(),
                all.at("seconds").as_double());
    line(all.at("latency_us").as_object());
    auto const& kinds = all.at("requests").as_array();
    for (auto const& each : kinds)
        if (kinds.size() > 1) {
            std::printf("  %s\n  ", each.at("request").as_string().c_str());
            line(each.as_object());
        }
    for (auto const& [status, count] : all.at("statuses").as_object())
        std::printf("  %.*s: %llu\n", static_cast<int>(status.size()), status.data(),
                    static_cast<unsigned long long>(count.to_number<std::uint64_t>()));
    for (auto const* const name :
         {"wrong", "broken", "goaways", "unanswered", "handshakes", "resumed"})
        if (auto const count = all.at(name).to_number<std::uint64_t>(); count != 0)
            std::printf("  %s: %llu\n", name, static_cast<unsigned long long>(count));
    for (auto const& each : all.at("beside").as_array()) {
        std::printf("companions:\n");
        print(each.as_object());
    }
    auto const busy = all.at("generator_busy").as_double();
    std::printf("  the generator took %.2f µs of CPU for each, busy %.0f %%%s\n",
                all.at("generator_cpu_us").as_double(), busy * 100,
                busy > 0.97 ? ": it may be the bottleneck" : "");
    if (auto const& wrong = all.at("first_wrong").as_string(); !wrong.empty())
        std::printf("the first wrong answer:\n%s\n", wrong.c_str());
}

}  // namespace

int main(int count, char** values) {
    arguments options;
    CLI::App app("Loads a server of HTTP/1.1 or HTTP/2 and measures what comes back.");
    describe(app, options);
    CLI11_PARSE(app, count, values);
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    try {
        load::plan const plan(options.requests, read_keys(options.keys_file), options.headers,
                              options.cycle);
        auto const outcome = total_of(run(options, plan));
        auto const all = to_json(options, plan, outcome);
        if (options.json)
            std::cout << all << '\n';
        else
            print(all);
        bool fine = outcome.answers != 0;
        for (auto const* each = &outcome; each != nullptr;
             each = each->companion_results.empty() ? nullptr : each->companion_results.data())
            fine = fine && each->wrong == 0 && each->broken == 0 && each->goaways == 0;
        return fine ? 0 : 1;
    } catch (std::invalid_argument const& error) {
        std::cerr << "load: " << error.what() << '\n';
        return 2;
    } catch (std::exception const& error) {
        std::cerr << "load: " << error.what() << '\n';
        return 1;
    }
}
