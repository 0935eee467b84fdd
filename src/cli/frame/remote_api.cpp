// The helper is forked and executed for each command; netstrings go both ways over a socket pair,
// one answer to each request. Lists are read by cursor, and a cursor that repeats ends them.
// Refusals by 429, and 503 to a reading, are repeated after the pause they name, up to a minute in
// all.
#include "cli/frame/remote_api.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/object.hpp>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/ascii.hpp"
#include "base/bytes.hpp"
#include "base/visible.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/secret_file.hpp"
#include "helpers/kit/start.hpp"
#include "model/cidr.hpp"

namespace latchkey::cli {
namespace {

constexpr std::string_view api_prefix = "/api/v1";
constexpr std::size_t remote_answer_bytes_max = 128u << 20;
constexpr unsigned patience_seconds = 60;

std::string from_environment(std::string const& option, char const* name) {
    if (!option.empty()) return option;
    auto const* const value = std::getenv(name);
    return value == nullptr ? std::string() : value;
}

// The host of a URL of http is this machine: a key is sent to no other in clear.
bool is_loopback(std::string_view authority) {
    bool const has_brackets = authority.starts_with('[');
    auto const host = has_brackets ? authority.substr(1, authority.find(']') - 1)
                                   : authority.substr(0, authority.find(':'));
    static auto const loopback_v4 = *model::cidr::parse("127.0.0.0/8");
    static auto const loopback_v6 = *model::cidr::parse("::1");
    auto const address = model::address::parse(host);
    return host == "localhost" ||
           (address && (loopback_v4.contains(*address) || loopback_v6.contains(*address)));
}

// "https://api.example.com", without a slash or the prefix of the API at its end.
answer_of<std::string> origin_of(std::string url) {
    while (url.ends_with('/')) url.pop_back();
    if (url.ends_with(api_prefix)) url.resize(url.size() - api_prefix.size());
    static constexpr std::string_view encrypted = "https://", clear = "http://";
    bool const is_encrypted = base::begins_ignoring_case(url, encrypted);
    auto const scheme = is_encrypted ? encrypted : clear;
    auto const rest = std::string_view(url).substr(std::min(scheme.size(), url.size()));
    auto const authority = rest.substr(0, rest.find('/'));
    if (!base::begins_ignoring_case(url, scheme) || authority.empty() ||
        authority.find('@') != authority.npos || url.find_first_of("?# ") != url.npos)
        return refusal{"--url must be the address of a service, such as https://api.example.com",
                       usage_error};
    if (!is_encrypted && !is_loopback(authority))
        return refusal{
            "--url must begin with https://: over http the key could be read on its "
            "way (http is for this machine alone)",
            usage_error};
    return url;
}

// A file may also have the header field, "X-API-Key: …" or "Authorization: Bearer …".
std::string_view key_in(std::string_view text) {
    auto const space = text.rfind(' ');
    return space == text.npos ? text : text.substr(space + 1);
}

// A request may take long; of a command that was killed nobody waits for its answer.
[[noreturn]] void become_helper(std::string const& path, int socket, pid_t command) {
    kit::end_with(command);
    ::dup2(socket, STDIN_FILENO);
    ::close_range(STDERR_FILENO + 1, ~0U, 0);
    ::execl(path.c_str(), "latchkey-remote", nullptr);
    ::_exit(127);
}

}  // namespace

void service_options::add_to(CLI::App& command) {
    command
        .add_option("--url", url,
                    "Ask the service at this https URL instead of the store of this machine "
                    "(or LATCHKEY_URL)")
        ->type_name("URL");
    command
        .add_option("--key-file", key_file,
                    "With --url: file with the API key to ask with; - is standard input (or "
                    "LATCHKEY_KEY_FILE)")
        ->type_name("FILE");
    command
        .add_option("--ca-file", ca_file,
                    "With --url: certificates to trust, in PEM; default: those of the system (or "
                    "LATCHKEY_CA_FILE)")
        ->type_name("FILE");
}

std::string service_options::chosen_url() const {
    return from_environment(url, "LATCHKEY_URL");
}

bool service_options::has_key_file() const {
    return !from_environment(key_file, "LATCHKEY_KEY_FILE").empty();
}

query_text& query_text::add(std::string_view name, std::string_view value) {
    static constexpr char digits[] = "0123456789ABCDEF";
    if (value.empty()) return *this;
    text_.append(text_.empty() ? "?" : "&").append(name).push_back('=');
    for (char const byte : value) {
        bool const is_plain = base::is_digit(byte) || base::is_letter(byte) || byte == '-' ||
                              byte == '_' || byte == '.' || byte == '~';
        auto const code = static_cast<unsigned char>(byte);
        if (is_plain)
            text_.push_back(byte);
        else
            text_.append({'%', digits[code >> 4], digits[code & 15]});
    }
    return *this;
}

remote_api::remote_api(base::descriptor socket, pid_t helper)
    : socket_(std::move(socket)), input_(socket_.get(), remote_answer_bytes_max), helper_(helper) {}

remote_api::~remote_api() {
    socket_.close();  // at which the helper ends
    while (::waitpid(helper_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

answer_of<std::unique_ptr<remote_api>> remote_api::connect(service_options const& options) {
    auto const url = origin_of(options.chosen_url());
    if (!url) return url.error();
    auto const key_file = from_environment(options.key_file, "LATCHKEY_KEY_FILE");
    if (key_file.empty())
        return refusal{
            options.url.empty()
                ? "LATCHKEY_URL is set, so the service there is asked: give --key-file "
                  "(or LATCHKEY_KEY_FILE), a file with the API key to ask with, or unset "
                  "LATCHKEY_URL for the store of this machine"
                : "--url needs --key-file (or LATCHKEY_KEY_FILE): a file with the API "
                  "key to ask with",
            usage_error};
    auto const key = read_secret(key_file, "the key of --key-file");
    if (!key) return refusal{key.error().message, usage_error};
    if (key_in(key->text()).empty()) return refusal{"there is no key in " + key_file, usage_error};
    // It becomes a header field.
    if (!std::ranges::all_of(key_in(key->text()),
                             [](char byte) { return byte > ' ' && byte < '\x7f'; }))
        return refusal{"there is a character in " + key_file + " that no key has", usage_error};
    auto const path = kit::find_helper("latchkey-remote");
    if (path.empty())
        return refusal{
            "there is no program latchkey-remote, through which --url asks: install "
            "the package latchkey",
            failed};
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return refusal{base::errno_error("cannot make a socket", errno).message, failed};
    base::descriptor own(sockets[0]), other(sockets[1]);
    auto const command = ::getpid();
    auto const helper = ::fork();
    if (helper < 0)
        return refusal{base::errno_error("cannot start latchkey-remote", errno).message, failed};
    if (helper == 0) become_helper(path, other.get(), command);
    std::unique_ptr<remote_api> result(new remote_api(std::move(own), helper));
    std::string address;
    address.reserve(4096);
    remote::append_netstring(address, *url);
    remote::append_netstring(address, key_in(key->text()));
    remote::append_netstring(address, from_environment(options.ca_file, "LATCHKEY_CA_FILE"));
    std::ignore = remote::write_stream(result->socket_.get(), address);
    base::wipe(address.data(), address.size());
    return result;
}

remote_api::answer remote_api::exchange(std::string_view method, std::string_view target,
                                        std::string_view body) {
    std::string text;
    text.reserve(method.size() + target.size() + body.size() + 64);
    for (auto const part : {method, target, body}) remote::append_netstring(text, part);
    bool const is_sent = remote::write_stream(socket_.get(), text);
    base::wipe(text.data(), text.size());
    auto const status = is_sent ? input_.next() : std::nullopt;
    auto request_id = status ? input_.next() : std::nullopt;
    auto const seconds = request_id ? input_.next() : std::nullopt;
    auto content = seconds ? input_.next() : std::nullopt;
    if (!content) return {.body = "latchkey-remote has ended before it answered"};
    answer result{.request_id = std::move(*request_id), .body = std::move(*content)};
    std::from_chars(status->data(), status->data() + status->size(), result.status);
    std::from_chars(seconds->data(), seconds->data() + seconds->size(), result.retry_after_seconds);
    return result;
}

// Each answer of 2xx is an object, but that to a deletion, which has no body.
answer_of<std::string> remote_api::content_of(std::string_view method, answer answer) {
    if (method == "DELETE" && answer.status == 204) return std::string();
    if (auto const document = parse_object(answer.body); !document)
        return refusal{document.error().message, failed};
    return std::move(answer.body);
}

answer_of<std::string> remote_api::call(std::string_view method, std::string_view target,
                                        std::string_view body) {
    auto const path = std::string(api_prefix).append(target);
    for (unsigned waited = 0;;) {
        auto answer = exchange(method, path, body);
        if (answer.status / 100 == 2) return content_of(method, std::move(answer));
        if (answer.status == 0) return refusal{base::visible(answer.body), failed};
        // A limit refuses before anything is done; of 503 that is certain for reads alone.
        bool const is_repeatable =
            answer.status == 429 || (answer.status == 503 && method == "GET");
        auto const pause = std::max(answer.retry_after_seconds, 1u);
        if (!is_repeatable || pause > patience_seconds - waited) {
            return refusal{problem_text(answer.body, answer.status, answer.request_id),
                           exit_code_of(answer.status)};
        }
        ::sleep(pause);
        waited += pause;
    }
}

std::optional<refusal> remote_api::each(std::string_view path, query_text const& filters,
                                        element_sink sink) {
    for (std::string cursor;;) {
        auto query = filters;
        query.add("limit", "100").add("cursor", cursor);
        auto const page = call("GET", std::string(path) + query.text());
        if (!page) return page.error();
        auto const elements = page_elements(*page);
        if (!elements) return elements.error();
        for (auto const element : *elements) sink(element);
        auto const document = parse_object(*page).value();
        auto const next = text_of(object_of(document, "pagination"), "next_cursor");
        if (next.empty()) return std::nullopt;
        if (next == std::exchange(cursor, next)) return refusal{"a page leads to itself", failed};
    }
}

answer_of<std::vector<std::string_view>> page_elements(std::string_view page) {
    auto const document = parse_object(page);
    if (!document || !is_list_of_objects(*document, "data"))
        return refusal{
            "the answer has no list: is this the address of a latchkey service, of this version "
            "or a later one?",
            failed};
    return elements_of(page, "data");
}

std::string problem_text(std::string_view document, unsigned status, std::string_view request_id) {
    auto const problem = parse_object(document);
    auto const id = problem ? text_of(*problem, "request_id", std::string(request_id))
                            : std::string(request_id);
    std::string text = problem ? text_of(*problem, "title") : std::string();
    if (text.empty()) text = "the service answered " + std::to_string(status);
    if (problem) {
        if (auto const detail = text_of(*problem, "detail"); !detail.empty()) text += ": " + detail;
        for (auto const& each : list_of(*problem, "errors")) {
            if (!each.is_object()) continue;
            auto const& fault = each.get_object();
            auto const place = text_of(fault, "pointer", text_of(fault, "parameter"));
            text += "; " + place + " " + text_of(fault, "detail");
        }
        if (auto const code = text_of(*problem, "code"); !code.empty()) text += " [" + code + "]";
    }
    if (!id.empty()) text += " (request " + id + ")";
    return base::visible(text);
}

}  // namespace latchkey::cli
