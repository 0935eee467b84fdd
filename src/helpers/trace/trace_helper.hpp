// The helper's side of the conversation with the service (protocol/messages.hpp): takes spans,
// gives them to the exporter, and reports. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "base/system/descriptor.hpp"
#include "helpers/kit/hello.hpp"
#include "helpers/kit/watched_files.hpp"
#include "helpers/trace/exporter.hpp"

namespace latchkey::trace {

class helper {
  public:
    // `session`: a random number that no helper before has had.
    helper(base::descriptor socket, kit::watched_files files, std::string authorities_file,
           std::uint64_t session);

    // Until the service has ended; the error says why this process cannot go on.
    base::result<void> run();

  private:
    bool receive_all();
    bool take(trace::protocol::message const& content);

    kit::helper_channel service_;
    kit::watched_files files_;
    exporter exporter_;
};

}  // namespace latchkey::trace
