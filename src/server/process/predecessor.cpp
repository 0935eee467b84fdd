// The offer is read packet by packet into a list of sockets; `take` matches one with an address by
// its configured text or by what the kernel has bound, and marks it. A refusal "for now" is tried
// again for a minute. A predecessor that dies after it has heard "ready" counts as one that
// accepted, since nobody else serves then.
#include "server/process/predecessor.hpp"

#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/system/log.hpp"
#include "base/system/poll_until.hpp"
#include "base/time_units.hpp"
#include "base/version.hpp"

namespace latchkey::server {
namespace {

constexpr base::mono_ns offer_patience = 60 * base::second;
// The predecessor stops accepting between two turns of its main loop, however long one takes: once
// it has heard that this process is ready it goes on to its end, so giving up would leave nobody.
constexpr base::mono_ns accept_patience = 600 * base::second;
constexpr base::mono_ns takeover_retry_interval = 50 * base::millisecond;
constexpr base::mono_ns retry_patience = 60 * base::second;

bool take_prefix(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

base::error cannot_meet(std::string const& directory, int number) {
    auto const place = "the service of " + directory;
    if (number == ENOENT || number == ECONNREFUSED)
        return {
            "there is nothing to take over: no service that can hand over runs with the data "
            "directory " +
            directory + "; start this one without --take-over"};
    if (number == EACCES || number == EPERM)
        return {place + " belongs to another user: only its own user may take over"};
    return base::errno_error("cannot reach " + place, number);
}

// The address to which the kernel has bound the socket.
std::optional<listen_address> bound_address(int socket) {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) return std::nullopt;
    auto const host = from_sockaddr(name);
    if (!host) return std::nullopt;
    listen_address bound;
    bound.host = *host;
    bound.port = port_of(name);
    return bound;
}

// Whether a socket that was configured as `former` is what `request` asks for. TLS and the PROXY
// header are no property of the socket.
bool is_same_place(listen_address const& request, listen_address const& former, int socket) {
    using kind = listen_address::kind;
    bool const by_path = request.scheme == kind::unix_socket || request.scheme == kind::passed_in;
    if (by_path) return request.scheme == former.scheme && request.path == former.path;
    if (former.scheme == kind::unix_socket || former.scheme == kind::passed_in) return false;
    if (request.host == former.host && request.port == former.port && request.tls() == former.tls())
        return true;
    auto const bound = bound_address(socket);
    return bound && request.port != 0 && request.host == bound->host && request.port == bound->port;
}

}  // namespace

base::result<std::unique_ptr<predecessor>> predecessor::meet(std::string const& directory) {
    auto const deadline = base::read_mono() + retry_patience;
    for (bool reported = false;;) {
        auto socket = handover::connect_in(directory);
        if (!socket.is_open()) return cannot_meet(directory, errno);
        if (!handover::has_own_user(socket.get())) return cannot_meet(directory, EPERM);
        std::unique_ptr<predecessor> result(new predecessor(std::move(socket)));
        auto const offer = result->receive_offer();
        if (offer) return result;
        if (!result->is_refused_for_now_ || base::read_mono() >= deadline) return offer.error();
        if (!std::exchange(reported, true)) base::log("waiting: " + offer.error().message);
        timespec const pause{.tv_sec = 0, .tv_nsec = takeover_retry_interval};
        ::nanosleep(&pause, nullptr);
    }
}

base::result<void> predecessor::receive_offer() {
    handover::send(socket_.get(), "hello " + std::to_string(handover::version) + " process " +
                                      std::to_string(::getpid()) + ", latchkey " LATCHKEY_VERSION);
    auto const deadline = base::read_mono() + offer_patience;
    while (!is_complete_) {
        auto packet = handover::receive(socket_.get(), deadline);
        if (!packet) return packet.error();
        if (auto const entered = enter(std::move(*packet)); !entered) return entered.error();
    }
    return {};
}

base::result<void> predecessor::enter(handover::packet packet) {
    std::string_view text = packet.text;
    if (text.empty()) {
        is_refused_for_now_ = true;  // it ends, or another successor was faster
        return base::error{"the running service ended the handover"};
    }
    if (take_prefix(text, "refusal ")) {
        is_refused_for_now_ = take_prefix(text, "for now ");
        return base::error{"the running service does not hand over: " + std::string(text)};
    }
    if (text == "claim" && packet.descriptors.size() == 1) {
        claim_ = std::move(packet.descriptors[0]);
        return {};
    }
    if (take_prefix(text, "all ")) {
        pid_ = text;
        is_complete_ = claim_.is_open();
        if (is_complete_) return {};
    }
    if (take_prefix(text, "socket ") && enter_socket(text, packet.descriptors)) return {};
    return base::error{
        "the running service speaks another version of the handover than this one, "
        "which is " +
        std::to_string(handover::version) + ": stop it and start this one"};
}

// "KIND INDEX ADDRESS"; packets with one index are one listener's.
bool predecessor::enter_socket(std::string_view text, std::vector<base::descriptor>& descriptors) {
    auto const next_word = [&text] {
        auto const word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        return word;
    };
    auto const kind = handover::socket_kind_of(next_word());
    auto const index = next_word();
    auto const count = std::to_string(entries_.size());
    if (!kind || descriptors.empty()) return false;
    if (index == count)
        entries_.push_back({{*kind, std::string(text), {}}});
    else if (entries_.empty() || index != std::to_string(entries_.size() - 1))
        return false;
    for (auto& each : descriptors) entries_.back().listener.descriptors.push_back(std::move(each));
    return true;
}

std::optional<handover::passed_listener> predecessor::take(handover::socket_kind kind,
                                                           listen_address const& address) {
    for (auto& [listener, is_taken] : entries_) {
        if (listener.kind != kind || is_taken) continue;
        auto const former = parse_listen_address(listener.address);
        if (!former || !is_same_place(address, *former, listener.descriptors[0].get())) continue;
        is_taken = true;
        return std::move(listener);
    }
    return std::nullopt;
}

std::optional<handover::passed_listener> predecessor::take_listener(listen_address const& address) {
    return take(handover::socket_kind::listener, address);
}

std::optional<handover::passed_listener> predecessor::take_management(
    listen_address const& address) {
    return take(handover::socket_kind::management, address);
}

base::descriptor predecessor::take_handover_socket() {
    for (auto& [listener, is_taken] : entries_) {
        if (listener.kind != handover::socket_kind::handover || is_taken) continue;
        is_taken = true;
        return std::move(listener.descriptors[0]);
    }
    return {};
}

std::vector<std::string> predecessor::left_addresses() const {
    std::vector<std::string> all;
    for (auto const& [listener, is_taken] : entries_)
        if (!is_taken && listener.kind == handover::socket_kind::listener)
            all.push_back(listener.address);
    return all;
}

base::result<void> predecessor::announce_ready() {
    std::string list;
    for (std::size_t i = 0; i < entries_.size(); ++i)
        if (entries_[i].is_taken) list += (list.empty() ? "" : ",") + std::to_string(i);
    handover::send(socket_.get(), "ready " + (list.empty() ? "-" : list));
    auto const answer = handover::receive_text(socket_.get(), base::read_mono() + accept_patience);
    if (!answer) return answer.error();
    std::string_view text = answer->text;
    if (text == "accept") return {};
    if (take_prefix(text, "refusal "))
        return base::error{"the running service does not hand over: " + std::string(text)};
    // Without a word: it was killed. Nothing else serves now.
    base::log(base::severity::warning, "process " + pid_ + " died while it was handing over");
    return {};
}

bool predecessor::has_ended() {
    char byte;
    auto const size = ::recv(socket_.get(), &byte, 1, MSG_DONTWAIT);
    return size == 0 || (size < 0 && errno == ECONNRESET);
}

bool predecessor::await_end(base::mono_ns deadline) {
    while (!has_ended()) {
        pollfd event{.fd = socket_.get(), .events = POLLIN, .revents = 0};
        if (base::poll_until({&event, 1}, deadline) <= 0) return false;
    }
    return true;
}

}  // namespace latchkey::server
