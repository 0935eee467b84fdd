// The expected content of a store, derived from the answers to its commands, and the same read from
// a store: a string of bytes for each thing, by its name ("user/7/", "user/7/post/9", "key/3",
// "event/2", "secret/shop", "once/12", "use/3").
#pragma once

#include <array>
#include <map>
#include <string>

#include "../support.hpp"

namespace latchkey::domain {

class known_content {
  public:
    std::map<std::string, std::string> things;
    // The last assigned id of users, posts, keys and events.
    std::array<model::id, 4> last{};

    void note(command const& command, outcome const& answer);

  private:
    void note(command::any_action const& kind, outcome const& answer);
    void note_rotation(rotate_key const& command, model::key const& key, base::wall_ms time);
};

// An Idempotency-Key by number; `content_of` looks for the first `once_max`.
inline constexpr unsigned once_max = 64;
idempotency once_number(unsigned number);

// The whole content of the store.
std::map<std::string, std::string> content_of(environment& store);

// The first difference as a sentence; empty: none.
std::string difference(std::map<std::string, std::string> const& content,
                       std::map<std::string, std::string> const& expected);

}  // namespace latchkey::domain
