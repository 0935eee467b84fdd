// The helper: the channel to the service, and the sender. Everything but the look-up of names runs
// on the thread of `run`, which returns when the service has closed the channel.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "base/system/descriptor.hpp"
#include "helpers/deliver/protocol/ordered_lines.hpp"
#include "helpers/deliver/sender.hpp"
#include "helpers/kit/hello.hpp"
#include "helpers/kit/watched_files.hpp"

namespace latchkey::deliver {

class helper {
  public:
    // `session`: random. The process has confined itself.
    helper(base::descriptor socket, kit::watched_files files, std::string authorities_file,
           std::uint64_t session);

    // The error says why it ended and is to be started again; a service that closes the channel is
    // none.
    base::result<void> run();

  private:
    bool exchange();  // false: the conversation has ended
    bool take(deliver::protocol::message&& content);
    void finish(deliver::protocol::result const& result);
    void follow(deliver::protocol::ordered_lines::step&& step);

    kit::helper_channel service_;
    kit::watched_files files_;
    sender sender_;
    deliver::protocol::ordered_lines lines_;
    bool is_last_ = false;  // what has begun is finished, nothing else begun
};

}  // namespace latchkey::deliver
