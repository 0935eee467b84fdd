#include "helpers/trace/trace_helper.hpp"

#include <utility>

namespace latchkey::trace {

helper::helper(base::descriptor socket, kit::watched_files files, std::string authorities_file,
               std::uint64_t session)
    : service_(std::move(socket), session),
      files_(std::move(files)),
      exporter_(std::move(authorities_file)) {}

base::result<void> helper::run() {
    auto& channel = service_.channel();
    channel.queue(trace::protocol::encode(service_.greeting(trace::protocol::protocol_version)));
    while (channel.flush() && receive_all()) {
        if (exporter_.turn()) channel.queue(trace::protocol::encode(exporter_.report()));
        if (!channel.flush()) break;
        if (files_.have_changed())
            return base::error{"names or authorities are configured otherwise now"};
        exporter_.wait(channel.descriptor());
    }
    return service_.outcome();
}

bool helper::receive_all() {
    return service_.receive(trace::protocol::decode,
                            [this](trace::protocol::message const& content) {
                                return !service_.admits(content) || take(content);
                            });
}

bool helper::take(trace::protocol::message const& content) {
    if (auto const* const settings = std::get_if<trace::protocol::settings>(&content))
        exporter_.use(*settings);
    else if (auto const* const batch = std::get_if<trace::protocol::batch>(&content))
        exporter_.add(batch->spans);
    else if (std::holds_alternative<trace::protocol::flush>(content))
        exporter_.flush();
    else
        return false;
    return true;
}

}  // namespace latchkey::trace
