#include "helpers/trace/helper.hpp"

#include <utility>

namespace latchkey::trace {

helper::helper(base::descriptor socket, kit::watched_files files, std::string authorities_file,
               std::uint64_t session)
    : service_(std::move(socket), session),
      files_(std::move(files)),
      exporter_(std::move(authorities_file)) {}

base::result<void> helper::run() {
    auto& channel = service_.channel();
    channel.queue(tracing::encode(service_.greeting(tracing::protocol_version)));
    while (channel.flush() && receive_all()) {
        if (exporter_.turn()) channel.queue(tracing::encode(exporter_.report()));
        if (!channel.flush()) break;
        if (files_.have_changed())
            return base::error{"names or authorities are configured otherwise now"};
        exporter_.wait(channel.descriptor());
    }
    return service_.outcome();
}

bool helper::receive_all() {
    return service_.receive(tracing::decode, [this](tracing::message const& content) {
        return !service_.admits(content) || take(content);
    });
}

bool helper::take(tracing::message const& content) {
    if (auto const* const settings = std::get_if<tracing::settings>(&content))
        exporter_.use(*settings);
    else if (auto const* const batch = std::get_if<tracing::batch>(&content))
        exporter_.add(batch->spans);
    else if (std::holds_alternative<tracing::flush>(content))
        exporter_.flush();
    else
        return false;
    return true;
}

}  // namespace latchkey::trace
