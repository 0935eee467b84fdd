#include "deliver/helper.hpp"

#include <utility>

#include "base/clock.hpp"
#include "model/webhook_status.hpp"

namespace latchkey::deliver {

helper::helper(base::descriptor socket, watched_files files, std::string authorities_file,
               std::uint64_t session)
    : channel_(std::move(socket)),
      files_(std::move(files)),
      session_(session),
      sender_(std::move(authorities_file)) {}

base::result<void> helper::run() {
    channel_.queue(delivery::encode(
        delivery::hello{.version = delivery::protocol_version, .session = session_}));
    while (exchange()) {
        auto const results = sender_.turn();
        for (auto const& each : results) finish(each);
        if (is_last_ && sender_.active() == 0 && channel_.unsent_bytes() == 0)
            return base::error{"names or authorities are configured otherwise now"};
        if (!results.empty()) continue;
        sender_.wait(channel_.descriptor(),
                     channel_.unsent_bytes() != 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
    }
    if (!error_.empty()) return base::error{error_};
    return {};
}

bool helper::exchange() {
    if (!channel_.flush()) return false;
    if (files_.have_changed()) is_last_ = true;
    return receive_all();
}

bool helper::receive_all() {
    for (;;) {
        auto const bytes = channel_.receive();
        if (!bytes) return false;
        if (!*bytes) return true;
        auto content = delivery::decode(**bytes);
        if (!content) error_ = content.error().message;
        if (!content || !take(std::move(*content))) return false;
    }
}

// What was sent to an earlier helper is dropped: it ends with the `begin` of this session. So is
// what a last one gets: the service takes it as lost when the next one says hello.
bool helper::take(delivery::message&& content) {
    if (auto const* const begin = std::get_if<delivery::begin>(&content)) {
        if (begin->session == session_) has_begun_ = true;
        return true;
    }
    auto* const attempt = std::get_if<delivery::attempt>(&content);
    if (attempt == nullptr || sender_.active() + lines_.waiting() >= delivery::attempts_max) {
        error_ = "a message that the service does not send";
        return false;
    }
    if (!has_begun_ || is_last_) return true;
    if (attempt->line != 0)
        follow(lines_.arrive(std::move(*attempt), base::read_mono()));
    else
        sender_.begin(std::move(*attempt));
    return true;
}

void helper::finish(delivery::result const& result) {
    channel_.queue(delivery::encode(result));
    if (!is_last_)
        follow(lines_.finish(result.number, model::is_delivered(result.status), base::read_mono()));
}

void helper::follow(delivery::ordered_lines::step&& step) {
    for (auto const number : step.unsent)
        channel_.queue(delivery::encode(delivery::unsent{number}));
    if (step.next) sender_.begin(std::move(*step.next));
}

}  // namespace latchkey::deliver
