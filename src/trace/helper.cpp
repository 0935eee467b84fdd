#include "trace/helper.hpp"

#include <utility>

namespace latchkey::trace {

helper::helper(base::descriptor socket, deliver::watched_files files, std::string authorities_file,
               std::uint64_t session)
    : channel_(std::move(socket)),
      files_(std::move(files)),
      exporter_(std::move(authorities_file)),
      session_(session) {}

base::result<void> helper::run() {
    channel_.queue(
        tracing::encode(tracing::hello{.version = tracing::protocol_version, .session = session_}));
    while (channel_.flush() && receive_all()) {
        if (exporter_.turn()) channel_.queue(tracing::encode(exporter_.report()));
        if (!channel_.flush()) break;
        if (files_.have_changed())
            return base::error{"names or authorities are configured otherwise now"};
        exporter_.wait(channel_.descriptor());
    }
    if (!error_.empty()) return base::error{error_};
    return {};
}

bool helper::receive_all() {
    for (;;) {
        auto const bytes = channel_.receive();
        if (!bytes) return false;
        if (!*bytes) return true;
        auto const content = tracing::decode(**bytes);
        if (!content) error_ = content.error().message;
        if (!content || !take(*content)) return false;
    }
}

// What was sent to an earlier helper, and what the service counts as lost with it, is dropped: it
// ends with the `begin` of this session.
bool helper::take(tracing::message const& content) {
    if (auto const* const begin = std::get_if<tracing::begin>(&content)) {
        if (begin->session == session_) has_begun_ = true;
        return true;
    }
    if (!has_begun_) return true;
    if (auto const* const settings = std::get_if<tracing::settings>(&content)) {
        exporter_.use(*settings);
    } else if (auto const* const batch = std::get_if<tracing::batch>(&content)) {
        exporter_.add(batch->spans);
    } else if (std::holds_alternative<tracing::flush>(content)) {
        exporter_.flush();
    } else {
        error_ = "a message that the service does not send";
        return false;
    }
    return true;
}

}  // namespace latchkey::trace
