#include "session/log_entry.hpp"

namespace latchkey::session {

std::string_view name_of(protocol version) {
    constexpr std::string_view names[] = {"HTTP/1.0", "HTTP/1.1", "HTTP/2"};
    return names[static_cast<std::size_t>(version)];
}

void log_entry::begin(std::string_view verb, std::string_view raw_path, std::string_view agent,
                      base::instant now) {
    method = verb.substr(0, method_bytes_max);
    path = raw_path.substr(0, path_bytes_max);
    user_agent = agent.substr(0, agent_bytes_max);
    copies_.clear();
    request_id.clear();
    refused_unparsed = false;
    began = now;
    bytes_in = bytes_out = 0;
    status = 0;
    code = base::problem::none;
}

void log_entry::keep() {
    if (!copies_.empty())
        return;  // the views point into `copies_`: it cannot be assigned from itself
    copies_.assign(method).append(path).append(user_agent);
    std::string_view rest = copies_;
    for (auto* const each : {&method, &path, &user_agent}) {
        auto const size = each->size();
        *each = rest.substr(0, size);
        rest.remove_prefix(size);
    }
}

}  // namespace latchkey::session
