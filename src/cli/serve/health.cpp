// latchkey health: asks the management listener whether the service is ready, for container images
// and probes without an HTTP client.
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "base/system/descriptor.hpp"
#include "base/system/log.hpp"
#include "base/visible.hpp"
#include "cli/frame/serve_settings.hpp"
#include "cli/frame/store_command.hpp"
#include "cli/frame/whole_number.hpp"
#include "cli/serve/serve.hpp"

namespace latchkey::cli {
namespace {

constexpr std::size_t answer_bytes_max = 64 * 1024;

struct health_options {
    setting_flags settings;
    bool live = false, quiet = false;
    unsigned timeout_seconds = 3;
};

// A listener on all addresses is asked on loopback.
server::listen_address reachable(server::listen_address address) {
    auto const any = model::address::parse(address.host.is_v4() ? "0.0.0.0" : "::").value();
    auto const loopback = address.host.is_v4() ? "127.0.0.1" : "::1";
    if (address.host == any) address.host = model::address::parse(loopback).value();
    return address;
}

// Appends the whole answer to one request, after which the server closes.
base::result<void> ask(server::listen_address const& address, std::string_view path,
                       unsigned timeout_seconds, std::string& answer) {
    auto const place = address.url().substr(address.url().find("//") + 2);
    auto const failure = [&](std::string const& beginning) {
        return base::errno_error(beginning + " the management listener " + place, errno);
    };
    sockaddr_storage target;
    auto const size = server::to_sockaddr(address, target);
    base::descriptor const socket(::socket(target.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    timeval const limit{.tv_sec = static_cast<time_t>(timeout_seconds), .tv_usec = 0};
    for (int const option : {SO_RCVTIMEO, SO_SNDTIMEO})  // also of connect()
        ::setsockopt(socket.get(), SOL_SOCKET, option, &limit, sizeof limit);
    if (::connect(socket.get(), reinterpret_cast<sockaddr const*>(&target), size) != 0)
        return failure("cannot connect to");
    auto const request = "GET " + std::string(path) + " HTTP/1.1\r\nHost: " + place +
                         "\r\nConnection: close\r\n\r\n";
    if (::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(request.size()))
        return failure("cannot ask");
    char bytes[4096];
    for (ssize_t count; (count = ::recv(socket.get(), bytes, sizeof bytes, 0)) != 0;) {
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return failure("there is no answer from");
        answer.append(bytes, static_cast<std::size_t>(count));
        if (answer.size() > answer_bytes_max) break;
    }
    return {};
}

// The status of "HTTP/1.1 200 OK"; 0: it is no answer of HTTP.
unsigned status_of(std::string_view answer) {
    constexpr std::string_view version = "HTTP/1.1 ";
    unsigned status = 0;
    if (answer.starts_with(version) && answer.size() > version.size() + 3)
        std::from_chars(answer.data() + version.size(), answer.data() + version.size() + 3, status);
    return status;
}

std::string_view body_of(std::string_view answer) {
    constexpr std::string_view end = "\r\n\r\n";
    auto const place = answer.find(end);
    auto body = place == answer.npos ? std::string_view() : answer.substr(place + end.size());
    return body.substr(0, body.find_last_not_of("\r\n") + 1);
}

int check_health(health_options const& options) {
    int code = done;
    auto const settings = options.settings.resolve(code);
    if (!settings) return code;
    auto const address = server::management_address(*settings);
    if (!address)
        return report_failure(
            "management is off, and only the management listener tells: set management to "
            "HOST:PORT");
    std::string answer;
    if (auto const outcome = ask(reachable(*address), options.live ? "/livez" : "/readyz",
                                 options.timeout_seconds, answer);
        !outcome)
        return report_failure(outcome.error().message);
    auto const status = status_of(answer);
    if (status == 0) return report_failure("what answers there is no management listener");
    if (!options.quiet) std::printf("%s\n", base::visible(body_of(answer)).c_str());
    return status == 200 ? done : failed;
}

}  // namespace

void add_health(CLI::App& program, int& code) {
    auto* const command =
        program.add_subcommand("health", "Ask the service on this machine whether it is ready");
    auto const options = std::make_shared<health_options>();
    options->settings.add_to(*command, {"management"});
    command->add_flag("--live", options->live,
                      "Ask only whether the process answers (/livez), not whether it is ready");
    command->add_flag("--quiet", options->quiet, "Print nothing but errors");
    take_number(command->add_option("--timeout", options->timeout_seconds,
                                    "Seconds to wait for the answer"),
                1, 3600)
        ->capture_default_str();
    command->footer(
        "Prints the answer of the management listener; the exit code is 0 if it is 200, else 1.\n"
        "For HEALTHCHECK of an image, and for probes that run a command.\n"
        "Example: latchkey health --config /etc/latchkey/latchkey.toml");
    command->callback([options, &code] { code = check_health(*options); });
}

}  // namespace latchkey::cli
