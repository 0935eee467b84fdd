// A load generator for HTTP/1.1 on io_uring that costs less per request than the server it measures
// and checks the status and the length of every answer. `load --help` teaches.
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
    std::string url = "https://127.0.0.1:8443", keys_file, length, again = "never", from;
    std::vector<std::string> requests, headers;
    std::vector<unsigned> statuses;
    std::vector<int> cores;
    unsigned connections = 64, threads = 1, pipeline = 1;
    double rate = 0, tick = 0, seconds = 10, warmup = 1;
    bool cycle = false, json = false, tls12 = false;
    std::vector<std::string> beside;  // NAME=VALUE
};

constexpr char const* footer = R"(
  A REQUEST is [WEIGHT*]METHOD /PATH [BODY]. {1..1000000} in it is a random number, {unique} one that
  no other request has. Keys stand in a file, one to a line, so that ps shows none.

  One user, as fast as it goes, 64 connections:
    load --url http://127.0.0.1:8080 --keys keys.txt --request 'GET /api/v1/users/1'
  Reads and writes, 20,000 a second whatever the server does (latency counts from when a request was due):
    load --keys keys.txt --rate 20000 --request '9*GET /api/v1/users/{1..1000000}' \
         --request 'POST /api/v1/users {"name":"Ada","email":"u{unique}@example.com"}'
  The same beside 50,000 wrong keys a second from another address, on the same thread and counted apart:
    load --keys keys.txt --rate 20000 --request 'GET /api/v1/users/1' \
         --beside keys=wrong.txt rate=50000 connections=16 from=127.0.0.3 expect-status=401,429
  TLS handshakes, resumed:
    load --reconnect resumed --keys keys.txt --request 'GET /api/v1/users/1'
)";

void describe(CLI::App& app, arguments& given) {
    app.footer(footer);
    app.add_option("--url", given.url, "http:// or https://ADDRESS:PORT of the server")
        ->capture_default_str();
    app.add_option("--request", given.requests, "REQUEST; repeat for a mix")->required();
    app.add_option("--keys", given.keys_file, "File of API keys, one is drawn for each request");
    app.add_flag("--cycle-keys", given.cycle, "Take the keys in turn instead of at random");
    app.add_option("--header", given.headers, "Further header field 'Name: value'; repeat");
    app.add_option("--connections", given.connections, "Connections over all threads")
        ->capture_default_str()
        ->check(CLI::Range(1, 60000));
    app.add_option("--threads", given.threads)->capture_default_str()->check(CLI::Range(1, 64));
    app.add_option("--cores", given.cores, "Core for each thread, e.g. 1 or 1,2")->delimiter(',');
    app.add_option("--from", given.from, "Address to connect from, e.g. 127.0.0.2");
    app.add_option("--pipeline", given.pipeline, "Requests in flight on each connection")
        ->capture_default_str()
        ->check(CLI::Range(1, 64));
    app.add_option("--rate", given.rate, "Requests per second in all (open loop); 0: as many as go")
        ->capture_default_str();
    app.add_option("--tick", given.tick,
                   "With --rate: send what falls due, and look at what came, every so many "
                   "microseconds; cheaper, and a latency is up to two ticks longer")
        ->capture_default_str()
        ->check(CLI::Range(0, 100000));
    app.add_option("--reconnect", given.again, "A connection for each request")
        ->check(CLI::IsMember({"never", "full", "resumed"}))
        ->capture_default_str();
    app.add_flag("--tls12", given.tls12, "Offer nothing above TLS 1.2");
    app.add_option("--seconds", given.seconds, "How long to measure")
        ->capture_default_str()
        ->check(CLI::Range(0.1, 3600.0));
    app.add_option("--warmup", given.warmup, "Seconds before that")->capture_default_str();
    app.add_option("--expect-status", given.statuses, "Right statuses, e.g. 200,429; default 2xx")
        ->delimiter(',');
    app.add_option("--expect-length", given.length, "Right content lengths, e.g. 85 or 80-120");
    app.add_option("--beside", given.beside,
                   "Further clients with the same requests, on the first thread: NAME=VALUE of "
                   "keys, rate, connections, pipeline, from, expect-status");
    app.add_flag("--json", given.json, "Print one JSON document");
}

sockaddr_in resolve(std::string_view authority) {
    auto const colon = authority.rfind(':');
    if (colon == authority.npos) throw std::invalid_argument("--url needs a port");
    sockaddr_in at{};
    at.sin_family = AF_INET;
    auto host = std::string(authority.substr(0, colon));
    if (host == "localhost") host = "127.0.0.1";
    if (::inet_pton(AF_INET, host.c_str(), &at.sin_addr) != 1)
        throw std::invalid_argument("--url needs an IPv4 address");
    at.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(std::string(authority.substr(colon + 1)))));
    return at;
}

load::options options_of(arguments const& given) {
    load::options how;
    std::string_view url = given.url;
    how.tls = url.starts_with("https://");
    if (!how.tls && !url.starts_with("http://"))
        throw std::invalid_argument("--url begins with http:// or https://");
    url.remove_prefix(how.tls ? 8 : 7);
    how.server = resolve(url.substr(0, url.find('/')));
    how.tls_version_max = given.tls12 ? 0x0303 : 0x0304;
    if (!given.from.empty() && ::inet_pton(AF_INET, given.from.c_str(), &how.from) != 1)
        throw std::invalid_argument("--from needs an IPv4 address");
    how.pipeline = given.pipeline;
    how.rate = given.rate / given.threads;
    how.tick_seconds = given.tick / 1e6;
    how.warmup_seconds = given.warmup, how.seconds = given.seconds;
    how.statuses = given.statuses;
    how.again = given.again == "full"      ? load::reconnect::full
                : given.again == "resumed" ? load::reconnect::resumed
                                           : load::reconnect::never;
    if (how.again != load::reconnect::never && given.rate > 0)
        throw std::invalid_argument("--reconnect and --rate exclude each other");
    if (!given.length.empty()) {
        auto const dash = given.length.find('-');
        how.bytes_min = std::stoul(given.length.substr(0, dash));
        how.bytes_max =
            dash == std::string::npos ? how.bytes_min : std::stoul(given.length.substr(dash + 1));
    }
    return how;
}

std::vector<std::string> read_keys(std::string const& file) {
    std::vector<std::string> keys;
    if (file.empty()) return keys;
    std::ifstream in(file);
    if (!in) throw std::invalid_argument("cannot read " + file);
    for (std::string line; std::getline(in, line);)
        if (!line.empty()) keys.push_back(line);
    if (keys.empty()) throw std::invalid_argument(file + " has no keys");
    return keys;
}

// What --beside says, over what is said of the others.
std::unique_ptr<load::companion const> companion_of(arguments given) {
    if (given.beside.empty()) return nullptr;
    given.threads = 1;
    for (auto const& each : given.beside) {
        auto const equals = std::min(each.find('='), each.size());
        auto const name = each.substr(0, equals);
        auto const value = equals < each.size() ? each.substr(equals + 1) : std::string();
        auto const number = [&] { return static_cast<unsigned>(std::stoul(value)); };
        if (name == "keys") {
            given.keys_file = value;
        } else if (name == "rate") {
            given.rate = std::stod(value);
        } else if (name == "connections") {
            given.connections = number();
        } else if (name == "pipeline") {
            given.pipeline = number();
        } else if (name == "from") {
            given.from = value;
        } else if (name == "expect-status") {
            given.statuses.clear();
            for (std::stringstream list(value); list.good();) {
                std::string status;
                std::getline(list, status, ',');
                given.statuses.push_back(static_cast<unsigned>(std::stoul(status)));
            }
        } else {
            throw std::invalid_argument("--beside knows no '" + name + "'");
        }
    }
    return std::make_unique<load::companion const>(load::companion{
        options_of(given),
        load::plan(given.requests, read_keys(given.keys_file), given.headers, given.cycle)});
}

std::vector<load::results> run(arguments const& given, load::plan const& what) {
    auto const how = options_of(given);
    auto const beside = companion_of(given);
    std::atomic<unsigned> ready = 0;
    std::vector<load::results> all(given.threads);
    std::vector<std::exception_ptr> failures(given.threads);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < given.threads; ++i) {
        auto mine = how;
        mine.connections =
            given.connections / given.threads + (i < given.connections % given.threads ? 1 : 0);
        mine.core = given.cores.empty() ? -1 : given.cores[i % given.cores.size()];
        mine.seed = i + 1;
        if (i == 0) mine.beside = beside.get();
        threads.emplace_back([&, i, mine] {
            try {
                all[i] = load::drive(mine, what, ready, given.threads);
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

load::results sum_of(std::vector<load::results> const& all) {
    auto sum = all.front();
    for (std::size_t i = 1; i < all.size(); ++i) {
        auto const& other = all[i];
        for (std::size_t k = 0; k < sum.latencies.size(); ++k)
            sum.latencies[k].add(other.latencies[k]);
        for (std::size_t k = 0; k < sum.statuses.size(); ++k) sum.statuses[k] += other.statuses[k];
        sum.answers += other.answers, sum.wrong += other.wrong, sum.broken += other.broken;
        sum.resumed += other.resumed, sum.handshakes += other.handshakes;
        sum.unanswered += other.unanswered, sum.cpu_seconds += other.cpu_seconds;
        if (sum.first_wrong.empty()) sum.first_wrong = other.first_wrong;
    }
    return sum;
}

boost::json::object to_json(load::histogram const& of) {
    auto const us = [](double nanoseconds) { return nanoseconds / 1000; };
    return {{"answers", of.total()},
            {"mean", us(of.mean())},
            {"p50", us(double(of.quantile(0.5)))},
            {"p90", us(double(of.quantile(0.9)))},
            {"p99", us(double(of.quantile(0.99)))},
            {"p999", us(double(of.quantile(0.999)))},
            {"max", us(double(of.max()))}};
}

boost::json::object to_json(arguments const& given, load::plan const& what,
                            load::results const& seen) {
    load::histogram all;
    boost::json::array kinds;
    for (std::size_t i = 0; i < seen.latencies.size(); ++i) {
        all.add(seen.latencies[i]);
        auto each = to_json(seen.latencies[i]);
        each["request"] = what.kinds()[i].name;
        kinds.push_back(std::move(each));
    }
    boost::json::object statuses;
    for (std::size_t i = 0; i < seen.statuses.size(); ++i)
        if (seen.statuses[i] != 0) statuses[std::to_string(i)] = seen.statuses[i];
    boost::json::array beside;
    for (auto const& each : seen.beside) beside.push_back(to_json(given, what, each));
    return {{"seconds", seen.seconds},
            {"beside", std::move(beside)},
            {"answers", seen.answers},
            {"per_second", double(seen.answers) / seen.seconds},
            {"statuses", std::move(statuses)},
            {"wrong", seen.wrong},
            {"broken", seen.broken},
            {"unanswered", seen.unanswered},
            {"handshakes", seen.handshakes},
            {"resumed", seen.resumed},
            {"latency_us", to_json(all)},
            {"requests", std::move(kinds)},
            {"generator_cpu_us",
             seen.cpu_seconds * 1e6 / double(std::max<std::uint64_t>(seen.answers, 1))},
            {"generator_busy", seen.cpu_seconds / seen.seconds / given.threads},
            {"first_wrong", seen.first_wrong}};
}

void print(boost::json::object const& all) {
    auto const line = [](boost::json::object const& of) {
        for (auto const* const name : {"p50", "p90", "p99", "p999", "max"})
            std::printf("  %s %.0f µs", name, of.at(name).as_double());
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
    for (auto const* const name : {"wrong", "broken", "unanswered", "handshakes", "resumed"})
        if (auto const count = all.at(name).to_number<std::uint64_t>(); count != 0)
            std::printf("  %s: %llu\n", name, static_cast<unsigned long long>(count));
    for (auto const& each : all.at("beside").as_array()) {
        std::printf("beside them:\n");
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
    arguments given;
    CLI::App app("Loads an HTTP/1.1 server and measures what comes back.");
    describe(app, given);
    CLI11_PARSE(app, count, values);
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    try {
        load::plan const what(given.requests, read_keys(given.keys_file), given.headers,
                              given.cycle);
        auto const seen = sum_of(run(given, what));
        auto const all = to_json(given, what, seen);
        if (given.json)
            std::cout << all << '\n';
        else
            print(all);
        bool fine = seen.answers != 0;
        for (auto const* each = &seen; each != nullptr;
             each = each->beside.empty() ? nullptr : each->beside.data())
            fine = fine && each->wrong == 0 && each->broken == 0;
        return fine ? 0 : 1;
    } catch (std::invalid_argument const& wrong) {
        std::cerr << "load: " << wrong.what() << '\n';
        return 2;
    } catch (std::exception const& wrong) {
        std::cerr << "load: " << wrong.what() << '\n';
        return 1;
    }
}
