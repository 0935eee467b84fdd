// The requests whose answers are awaited, by their numbers. Guarded by its client's mutex.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "helpers/replicate/protocol/replicate_messages.hpp"

namespace latchkey::cluster {

// Somebody waits for the answer to a request.
struct pending_call {
    std::optional<replicate::protocol::message> answer;
    bool is_lost = false;  // the helper that had it has ended
    bool is_over() const { return answer.has_value() || is_lost; }
};

class call_table {
  public:
    // A number that was not used of late; never 0, which is that of no request.
    std::uint32_t next() {
        if (++last_ == 0) ++last_;
        return last_;
    }
    // `call` is kept until it is removed.
    std::uint32_t add(pending_call& call) {
        waiting_[next()] = &call;
        return last_;
    }
    void remove(std::uint32_t request) { waiting_.erase(request); }
    // Null: nobody waits for that answer.
    pending_call* find(std::uint32_t request) const {
        auto const place = waiting_.find(request);
        return place == waiting_.end() ? nullptr : place->second;
    }

    // One answer at a time comes in parts, which are queued.
    std::uint32_t begin_parts() {
        parts_.clear();
        return parts_request_ = next();
    }
    void end_parts() {
        parts_request_ = 0;
        parts_.clear();
    }
    bool is_in_parts(std::uint32_t request) const {
        return request != 0 && request == parts_request_;
    }
    std::deque<replicate::protocol::message>& parts() { return parts_; }
    std::deque<replicate::protocol::message> const& parts() const { return parts_; }

    // The helper that had the requests has ended.
    void lose_all() {
        for (auto const& [request, call] : waiting_) call->is_lost = true;
        if (parts_request_ != 0)
            parts_.push_back(replicate::protocol::failed{.text = "the helper has ended"});
    }

  private:
    std::uint32_t last_ = 0;
    std::map<std::uint32_t, pending_call*> waiting_;
    std::uint32_t parts_request_ = 0;
    std::deque<replicate::protocol::message> parts_;
};

}  // namespace latchkey::cluster
