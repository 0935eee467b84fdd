// What a node knows of the other members: which may be spending their share because they have lost
// the engine, and what is to be kept for them.
//
// A member numbers its asks: one more than the last one that was answered. So it sent the one with
// number m after number m - 1 had reached the engine. A node that saw a number below m - 1 in an
// answer therefore knows, when it sees m, that the other sent it later than the node had sent the
// question of that answer. Only the node's own clock is read, and asks that arrive late prove
// nothing. A member is silent once that time is `quota_silence` past; one that is new to the node
// is silent until it was seen to ask twice.
//
// Values; one thread; no errors.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "cluster/lease.hpp"
#include "helpers/replicate/protocol/replicate_messages.hpp"

namespace latchkey::cluster {

class quota_members {
  public:
    // The members of an answer to what was sent at `start`.
    void update(std::span<replicate::protocol::quota_member const> list, std::string_view self,
                boot_ns start);
    // The shares of those that may be silent at `now`, in millionths.
    std::uint32_t reserve(boot_ns now) const;
    std::size_t count() const { return others_.size() + 1; }

  private:
    struct member {
        std::uint64_t process = 0;
        std::uint64_t presence = 0;
        std::uint32_t share = 0;
        boot_ns reached = 0;    // number `presence` reached the engine later than this; 0: unknown
        boot_ns departure = 0;  // and was sent later than this
    };

    std::map<std::string, member, std::less<>> others_;
    boot_ns last_start_ = 0;
};

}  // namespace latchkey::cluster
