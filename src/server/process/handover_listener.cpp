// A state machine: listening, greeted, offered, ready. Its epoll set watches either the listening
// socket or the one peer, so that further processes wait in the queue. A peer that falls silent or
// closes before it is ready costs nothing; the conversation ends and listening goes on.
#include "server/process/handover_listener.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <span>

#include "base/system/log.hpp"
#include "base/time_units.hpp"

namespace latchkey::server {
namespace {

constexpr base::mono_ns hello_patience = 5 * base::second;
// Opening a large store takes seconds.
constexpr base::mono_ns ready_patience = 60 * base::second;

}  // namespace

handover_listener::handover_listener(base::descriptor socket)
    : socket_(std::move(socket)), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    watch(EPOLL_CTL_ADD, socket_.get());
}

void handover_listener::watch(int operation, int descriptor) const {
    epoll_event event{};
    event.events = EPOLLIN;
    ::epoll_ctl(epoll_.get(), operation, descriptor, &event);
}

void handover_listener::offer(std::vector<offered> sockets, int claim) {
    sockets_ = std::move(sockets);
    claim_ = claim;
}

bool handover_listener::turn(base::mono_ns now) {
    if (state_ == state::listening) accept(now);
    if (state_ == state::greeted || state_ == state::offered) hear(now);
    if (state_ == state::ready && !has_peer()) {
        base::log(base::severity::warning,
                  successor_ + " ended when it was ready: this process goes on serving");
        end_conversation();
    }
    return state_ == state::ready;
}

bool handover_listener::has_peer() const {
    char byte;
    auto const size = ::recv(peer_.get(), &byte, sizeof byte, MSG_DONTWAIT | MSG_PEEK);
    return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

void handover_listener::turn_away(std::string const& sentence) {
    if (state_ == state::greeted || state_ == state::offered) refuse(sentence);
}

void handover_listener::accept(base::mono_ns now) {
    epoll_event event{};
    if (::epoll_wait(epoll_.get(), &event, 1, 0) != 1) return;
    peer_ = base::descriptor(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!peer_.is_open()) return;
    watch(EPOLL_CTL_DEL, socket_.get());
    watch(EPOLL_CTL_ADD, peer_.get());
    state_ = state::greeted;
    deadline_ = now + hello_patience;
    if (!handover::has_own_user(peer_.get()))
        refuse("only a process of the same user may take over");
}

void handover_listener::hear(base::mono_ns now) {
    char bytes[handover::packet_bytes_max];
    auto const size = ::recv(peer_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
        if (now < deadline_) return;
        return refuse("it was not ready in time");
    }
    std::string_view const text(bytes, size > 0 ? static_cast<std::size_t>(size) : 0);
    if (text.empty()) {
        if (state_ == state::offered)
            base::log(base::severity::warning,
                      successor_ +
                          " ended before it was ready to take over: this process goes on "
                          "serving");
        return end_conversation();
    }
    auto const greeting = "hello " + std::to_string(handover::version) + " ";
    if (state_ == state::greeted) {
        if (!text.starts_with(greeting))
            return refuse("it speaks another version of the handover than this service, which is " +
                          std::to_string(handover::version) + ": stop it and start the new one");
        successor_ = text.substr(greeting.size());
        if (!objection_.empty()) return refuse(objection_);
        if (!send_offer()) return refuse("its sockets cannot be sent");
        base::log(successor_ + " is about to take over");
        state_ = state::offered;
        deadline_ = now + ready_patience;
        return;
    }
    constexpr std::string_view ready = "ready ";
    if (!text.starts_with(ready) || !read_kept(text.substr(ready.size())))
        return refuse("what it said is none of the words of a handover");
    state_ = state::ready;
    deadline_ = 0;
}

bool handover_listener::send_offer() {
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
        auto const& each = sockets_[i];
        std::span<int const> rest(each.descriptors);
        auto const text =
            "socket " + handover::text_of(each.kind) + " " + std::to_string(i) + " " + each.address;
        while (!rest.empty()) {
            auto const part =
                rest.first(std::min(rest.size(), handover::descriptors_per_packet_max));
            if (!handover::send(peer_.get(), text, {part.begin(), part.end()})) return false;
            rest = rest.subspan(part.size());
        }
    }
    return handover::send(peer_.get(), "claim", {claim_}) &&
           handover::send(peer_.get(), "all " + std::to_string(::getpid()));
}

// "0,2,3", or "-" for none.
bool handover_listener::read_kept(std::string_view list) {
    kept_indices_.clear();
    if (list == "-") return true;
    while (!list.empty()) {
        std::size_t index = 0;
        auto const [end, failure] = std::from_chars(list.data(), list.data() + list.size(), index);
        if (failure != std::errc{} || index >= sockets_.size()) return false;
        kept_indices_.push_back(index);
        list.remove_prefix(static_cast<std::size_t>(end - list.data()));
        if (list.starts_with(',')) list.remove_prefix(1);
    }
    return true;
}

void handover_listener::refuse(std::string const& sentence) {
    base::log(base::severity::warning,
              "a process that wanted to take over was refused: " + sentence);
    handover::send(peer_.get(), "refusal " + sentence);
    end_conversation();
}

void handover_listener::end_conversation() {
    peer_.close();  // which takes it out of the epoll set
    watch(EPOLL_CTL_ADD, socket_.get());
    state_ = state::listening;
    deadline_ = 0;
}

void handover_listener::let_accept() {
    handover::send(peer_.get(), "accept");
}

}  // namespace latchkey::server
