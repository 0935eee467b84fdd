// What a store must hold, told from the answers to the commands that it was given, and the same
// read from a store: a line of bytes for each thing, by its name ("user/7/", "user/7/post/9",
// "key/3", "event/2", "secret/shop", "once/12", "use/3").
#pragma once

#include <array>
#include <map>
#include <string>

#include "support.hpp"

namespace latchkey::store {

class known_content {
  public:
    std::map<std::string, std::string> things;
    // The last id that was given out: of users, posts, keys, events.
    std::array<model::id, 4> last{};

    void note(command const& asked, outcome const& answer);

  private:
    void note(command::kind const& asked, outcome const& answer);
    void note_rotation(rotate_key const& asked, model::key const& made, base::wall_ms at);
};

// An Idempotency-Key of that number, of which `read` looks for the first `once_max`.
inline constexpr unsigned once_max = 64;
idempotency once_number(unsigned number);

// Everything that the store has.
std::map<std::string, std::string> content_of(environment& store);

// The first thing that differs, in a sentence; empty: none does.
std::string difference(std::map<std::string, std::string> const& found,
                       std::map<std::string, std::string> const& expected);

}  // namespace latchkey::store
