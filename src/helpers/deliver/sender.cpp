#include "helpers/deliver/sender.hpp"

#include <errno.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/time_units.hpp"

namespace latchkey::deliver {
namespace {

constexpr long kept_connections_max = 256;
constexpr base::mono_ns wait_max = base::second;
constexpr std::size_t ready_max = 256;  // of one turn

std::uint32_t events_of(int state) {
    std::uint32_t events = 0;
    if (state == CURL_POLL_IN || state == CURL_POLL_INOUT) events |= EPOLLIN;
    if (state == CURL_POLL_OUT || state == CURL_POLL_INOUT) events |= EPOLLOUT;
    return events;
}

}  // namespace

sender::sender(std::string authorities_file)
    : authorities_file_(std::move(authorities_file)),
      poller_(::epoll_create1(EPOLL_CLOEXEC)),
      multi_(::curl_multi_init()) {
    // Before any attempt is taken: the service starts a helper that has ended again.
    base::check(poller_.is_open() && multi_ != nullptr, "out of memory");
    ::curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kept_connections_max);
    ::curl_multi_setopt(multi_, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
    ::curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    ::curl_multi_setopt(
        multi_, CURLMOPT_SOCKETFUNCTION,
        +[](CURL*, curl_socket_t socket, int state, void* self, void*) {
            static_cast<sender*>(self)->watch(socket, events_of(state));
            return 0;
        });
    ::curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    ::curl_multi_setopt(
        multi_, CURLMOPT_TIMERFUNCTION, +[](CURLM*, long milliseconds, void* self) {
            static_cast<sender*>(self)->deadline_ =
                milliseconds < 0 ? INT64_MAX : base::read_mono() + milliseconds * base::millisecond;
            return 0;
        });
}

sender::~sender() {
    for (auto const& [handle, post] : transfers_) ::curl_multi_remove_handle(multi_, handle);
    transfers_.clear();
    ::curl_multi_cleanup(multi_);
}

void sender::begin(deliver::protocol::attempt&& attempt) {
    auto post = std::make_unique<transfer>(std::move(attempt), authorities_file_);
    auto* const handle = post->handle();
    base::check(::curl_multi_add_handle(multi_, handle) == CURLM_OK, "out of memory");
    transfers_.emplace(handle, std::move(post));
}

// 0: no more. A descriptor that was closed has left the poller by itself. False: the kernel has no
// room for another one (fs.epoll.max_user_watches); an attempt over it ends with its time-out.
bool sender::watch(int socket, std::uint32_t events) {
    epoll_event event{.events = events, .data = {.fd = socket}};
    if (events == 0) {
        ::epoll_ctl(poller_.get(), EPOLL_CTL_DEL, socket, nullptr);
        return true;
    }
    return ::epoll_ctl(poller_.get(), EPOLL_CTL_MOD, socket, &event) == 0 ||
           ::epoll_ctl(poller_.get(), EPOLL_CTL_ADD, socket, &event) == 0;
}

void sender::act(curl_socket_t socket, int events) {
    int running = 0;
    ::curl_multi_socket_action(multi_, socket, events, &running);
}

std::vector<deliver::protocol::result> sender::turn() {
    for (auto const& each : std::exchange(ready_, {})) {
        int events = 0;
        if ((each.events & EPOLLIN) != 0) events |= CURL_CSELECT_IN;
        if ((each.events & EPOLLOUT) != 0) events |= CURL_CSELECT_OUT;
        if ((each.events & (EPOLLERR | EPOLLHUP)) != 0) events |= CURL_CSELECT_ERR;
        if (each.data.fd != descriptor_) act(each.data.fd, events);
    }
    if (deadline_ <= base::read_mono()) {
        deadline_ = INT64_MAX;
        act(CURL_SOCKET_TIMEOUT, 0);
    }
    std::vector<deliver::protocol::result> results;
    end_all(results);
    return results;
}

void sender::end_all(std::vector<deliver::protocol::result>& results) {
    int left = 0;
    while (auto const* const message = ::curl_multi_info_read(multi_, &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        auto const code = message->data.result;
        auto const entry = transfers_.find(message->easy_handle);
        ::curl_multi_remove_handle(multi_, message->easy_handle);
        results.push_back(entry->second->finish(code));
        transfers_.erase(entry);
    }
}

void sender::wait(int descriptor, std::uint32_t events) {
    bool const is_new = descriptor_ != descriptor || descriptor_events_ != events;
    descriptor_ = descriptor;
    if (is_new) descriptor_events_ = watch(descriptor, events) ? events : 0;  // or tried again
    auto const rest = std::clamp<base::mono_ns>(deadline_ - base::read_mono(), 0, wait_max);
    auto const timeout = static_cast<int>((rest + base::millisecond - 1) / base::millisecond);
    ready_.resize(ready_max);
    int const count = ::epoll_wait(poller_.get(), ready_.data(), ready_max, timeout);
    ready_.resize(static_cast<std::size_t>(std::max(count, 0)));
}

}  // namespace latchkey::deliver
