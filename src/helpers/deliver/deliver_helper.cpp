#include "helpers/deliver/deliver_helper.hpp"

#include <utility>

#include "base/clock.hpp"
#include "model/webhook_status.hpp"

namespace latchkey::deliver {

helper::helper(base::descriptor socket, kit::watched_files files, std::string authorities_file,
               std::uint64_t session)
    : service_(std::move(socket), session),
      files_(std::move(files)),
      sender_(std::move(authorities_file)) {}

base::result<void> helper::run() {
    auto& channel = service_.channel();
    channel.queue(
        deliver::protocol::encode(service_.greeting(deliver::protocol::protocol_version)));
    while (exchange()) {
        auto const results = sender_.turn();
        for (auto const& each : results) finish(each);
        if (is_last_ && sender_.active() == 0 && channel.unsent_bytes() == 0)
            return base::error{"names or authorities are configured otherwise now"};
        if (!results.empty()) continue;
        // The events of poll and epoll are the same bits.
        sender_.wait(channel.descriptor(), static_cast<std::uint32_t>(channel.events()));
    }
    return service_.outcome();
}

bool helper::exchange() {
    if (!service_.channel().flush()) return false;
    if (files_.have_changed()) is_last_ = true;
    return service_.receive(deliver::protocol::decode,
                            [this](deliver::protocol::message&& content) {
                                return !service_.admits(content) || take(std::move(content));
                            });
}

// What a last helper gets is dropped: the service takes it as lost when the next one says hello.
bool helper::take(deliver::protocol::message&& content) {
    auto* const attempt = std::get_if<deliver::protocol::attempt>(&content);
    if (attempt == nullptr ||
        sender_.active() + lines_.waiting() >= deliver::protocol::attempts_max)
        return false;
    if (is_last_) return true;
    if (attempt->line != 0)
        follow(lines_.arrive(std::move(*attempt), base::read_mono()));
    else
        sender_.begin(std::move(*attempt));
    return true;
}

void helper::finish(deliver::protocol::result const& result) {
    service_.channel().queue(deliver::protocol::encode(result));
    if (!is_last_)
        follow(lines_.finish(result.number, model::is_delivered(result.status), base::read_mono()));
}

void helper::follow(deliver::protocol::ordered_lines::step&& step) {
    for (auto const number : step.unsent)
        service_.channel().queue(deliver::protocol::encode(deliver::protocol::unsent{number}));
    if (step.next) sender_.begin(std::move(*step.next));
}

}  // namespace latchkey::deliver
