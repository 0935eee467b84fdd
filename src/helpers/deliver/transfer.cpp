// The address is checked twice: when libcurl opens a socket, and before a request goes out on a
// kept connection, which another attempt may have opened for other networks. Callbacks are plain
// functions that get the transfer as their argument. The head is read line by line until it is
// whole; what comes after it is counted and cut.
#include "helpers/deliver/transfer.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/ascii.hpp"
#include "base/check.hpp"
#include "base/time_units.hpp"
#include "helpers/deliver/error_text.hpp"
#include "model/public_address.hpp"

namespace latchkey::deliver {
namespace {

using kit::set;

// Bounds of one answer. Content beyond them ends the connection.
constexpr std::size_t head_bytes_max = 64 * base::limits::kib;
constexpr std::size_t content_bytes_max = 64 * base::limits::kib;

// nullopt: of another family, or an IPv6 address that has an IPv4 address inside, which a socket of
// IPv4 is the way to.
std::optional<model::address> address_of(curl_sockaddr const& place) {
    model::address address;
    if (place.family == AF_INET) {
        sockaddr_in v4;
        std::memcpy(&v4, &place.addr, sizeof v4);
        address.bytes[10] = address.bytes[11] = 0xff;
        std::memcpy(address.bytes.data() + 12, &v4.sin_addr, 4);
        return address;
    }
    if (place.family != AF_INET6) return std::nullopt;
    // Larger than sockaddr, and there nevertheless (CURLOPT_OPENSOCKETFUNCTION(3)).
    auto const* const bytes = reinterpret_cast<char const*>(&place.addr);
    std::memcpy(address.bytes.data(), bytes + offsetof(sockaddr_in6, sin6_addr), 16);
    return address.is_v4() ? std::nullopt : std::optional(address);
}

// "HTTP/1.1 204 No Content"
std::uint16_t status_of(std::string_view line) {
    unsigned status = 0;
    auto const space = std::min(line.find(' '), line.size());
    for (char const byte : line.substr(space).substr(line.size() > space ? 1 : 0, 3)) {
        if (byte < '0' || byte > '9') return 0;
        status = status * 10 + static_cast<unsigned>(byte - '0');
    }
    return static_cast<std::uint16_t>(status);
}

// libcurl reads dates and numbers; a number beyond its range, which it leaves at 0, is a long time.
std::uint32_t read_retry_after(CURL* easy) {
    curl_header* field = nullptr;
    if (::curl_easy_header(easy, "Retry-After", 0, CURLH_HEADER, -1, &field) == CURLHE_OK)
        if (std::string_view const text = field->value;
            text.size() > std::numeric_limits<std::uint32_t>::digits10 &&
            std::ranges::all_of(text, base::is_digit))
            return UINT32_MAX;
    return kit::retry_after_seconds(easy);
}

}  // namespace

transfer::transfer(deliver::protocol::attempt&& attempt, std::string const& authorities_file)
    : attempt_(std::move(attempt)),
      encrypted_(base::begins_ignoring_case(attempt_.url, "https://")),
      start_(base::read_mono()),
      easy_(::curl_easy_init()) {
    base::check(easy_ != nullptr, "out of memory");
    kit::set_post(easy_.get(), authorities_file);
    set_request();
    set_callbacks();
}

void transfer::set_request() {
    auto* const easy = easy_.get();
    set(easy, CURLOPT_URL, attempt_.url.c_str());
    set(easy, CURLOPT_PATH_AS_IS, 1L);
    set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(attempt_.timeout_ms));
    kit::set_content(easy, attempt_.body);
    // A semicolon stands for an empty value, since a colon alone removes a field.
    for (auto const& [name, value] : attempt_.fields)
        kit::append(fields_,
                    value.find_first_not_of(' ') == value.npos ? name + ";" : name + ": " + value);
    for (auto const* own : {"Expect:", "Accept:"})
        kit::append(fields_, own);  // that libcurl would add
    set(easy, CURLOPT_HTTPHEADER, fields_.get());
}

void transfer::set_callbacks() {
    auto* const easy = easy_.get();
    set(easy, CURLOPT_ERRORBUFFER, error_);
    set(easy, CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
    set(
        easy, CURLOPT_OPENSOCKETFUNCTION, +[](void* self, curlsocktype, curl_sockaddr* place) {
            return static_cast<transfer*>(self)->open_socket(*place);
        });
    // A kept connection was checked by another attempt, which may have had other networks.
    set(easy, CURLOPT_PREREQDATA, static_cast<void*>(this));
    set(
        easy, CURLOPT_PREREQFUNCTION, +[](void* self, char* peer, char*, int, int) {
            auto* const post = static_cast<transfer*>(self);
            auto const address = model::address::parse(peer);
            post->has_begun_ = address && post->may_connect(*address);
            return post->has_begun_ ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
        });
    set(easy, CURLOPT_HEADERDATA, static_cast<void*>(this));
    set(easy, CURLOPT_HEADERFUNCTION, &on_bytes<&transfer::take_head>);
    set(easy, CURLOPT_WRITEDATA, static_cast<void*>(this));
    set(easy, CURLOPT_WRITEFUNCTION, &on_bytes<&transfer::take_content>);
}

template <auto member>
std::size_t transfer::on_bytes(char* bytes, std::size_t size, std::size_t count, void* self) {
    bool const going = (static_cast<transfer*>(self)->*member)({bytes, size * count});
    return going ? size * count : CURL_WRITEFUNC_ERROR;
}

bool transfer::may_connect(model::address const& peer) {
    if (model::may_connect(peer, encrypted_, attempt_.allow)) return true;
    refusal_ = peer;
    return false;
}

curl_socket_t transfer::open_socket(curl_sockaddr const& place) {
    has_opened_ = true;
    auto const peer = address_of(place);
    if (!peer || !may_connect(*peer)) return CURL_SOCKET_BAD;
    return ::socket(place.family, place.socktype | SOCK_CLOEXEC, place.protocol);
}

// Line by line, those of interim answers (1xx) and trailers too.
bool transfer::take_head(std::string_view line) {
    head_bytes_ += line.size();
    if (is_complete_) return head_bytes_ <= head_bytes_max;
    if (line.starts_with("HTTP/")) status_ = status_of(line);
    is_complete_ = status_ >= 200 && (line == "\r\n" || line == "\n");
    return head_bytes_ <= head_bytes_max;
}

bool transfer::take_content(std::string_view bytes) {
    content_bytes_ += bytes.size();
    response_ += bytes.substr(0, deliver::protocol::response_bytes_max - response_.size());
    return content_bytes_ <= content_bytes_max;
}

deliver::protocol::result transfer::finish(CURLcode code) {
    deliver::protocol::result result{.number = attempt_.number};
    auto const time = (base::read_mono() - start_) / base::millisecond;
    result.duration_ms = static_cast<std::uint32_t>(std::min<base::mono_ns>(time, UINT32_MAX));
    if (!is_complete_) {
        result.error = code == CURLE_OK ? "the answer is not HTTP" : explain(code);
        return result;
    }
    result.status = status_;
    result.response = std::move(response_);
    result.retry_after_seconds = read_retry_after(easy_.get());
    return result;
}

std::string transfer::explain(CURLcode code) const {
    if (code == CURLE_OPERATION_TIMEDOUT) return explain_timeout();
    bool const not_connected = code == CURLE_COULDNT_CONNECT || code == CURLE_ABORTED_BY_CALLBACK;
    if (refusal_ && not_connected)
        return "the address " + refusal_->text() +
               (encrypted_ ? " is not public" : " is in no network that http may reach");
    long number = 0;
    ::curl_easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &number);
    return error_text({.code = code, .system_error = static_cast<int>(number), .detail = error_});
}

std::string transfer::explain_timeout() const {
    auto const time = attempt_.timeout_ms % 1000 == 0
                          ? std::to_string(attempt_.timeout_ms / 1000) + " s"
                          : std::to_string(attempt_.timeout_ms) + " ms";
    if (has_begun_) return "no answer within " + time;
    return (has_opened_ ? "no connection within " : "the name did not resolve within ") + time;
}

}  // namespace latchkey::deliver
