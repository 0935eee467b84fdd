// Entity tags (RFC 9110 §8.8.3, API §8): the same for two states of a record only if both are shown
// alike, so equal tags stand for equal bytes. Of users and posts a tag is the time of the last
// change and XXH3 of the content, since a client can bring about two changes within a millisecond;
// of a key two hashes of everything that is shown of it but its last use. What the clock alone
// changes (an expiry) moves the tag, too. Any thread.
#pragma once

#include <array>
#include <string_view>

#include "model/key.hpp"
#include "model/post.hpp"
#include "model/user.hpp"

namespace latchkey::model {

using entity_tag = std::array<char, 19>;  // base62, without the quotes
inline std::string_view text_of(entity_tag const& tag) {
    return {tag.data(), tag.size()};
}

entity_tag tag_of(user_view const& user);
entity_tag tag_of(post_view const& post);
entity_tag tag_of(key const& whole, base::wall_ms now);

}  // namespace latchkey::model
