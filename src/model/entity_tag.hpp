// Entity tags (RFC 9110 §8.8.3, api.md §8): equal tags stand for equal representations. The tag of
// a user or post is the time of its last change and the XXH3 of its content, since a client can
// make two changes within a millisecond; there is no secret in it, for only a client that writes
// both versions could make them collide, and would gain nothing. The tag of a key is two hashes of
// its representation without the last use. A change of state by the clock alone (an expiry) changes
// the tag as well: a 304 must not hide it. The tag of a webhook is the time and the number of its
// last change, and so that of its settings; how far it has come does not move it. Any thread.
#pragma once

#include <array>
#include <string_view>

#include "model/key.hpp"
#include "model/post.hpp"
#include "model/user.hpp"
#include "model/webhook.hpp"

namespace latchkey::model {

using entity_tag = std::array<char, 19>;  // base62, without the quotes
inline std::string_view text_of(entity_tag const& tag) {
    return {tag.data(), tag.size()};
}

entity_tag tag_of(user_view const& user);
entity_tag tag_of(post_view const& post);
entity_tag tag_of(key const& record, base::wall_ms now);
entity_tag tag_of(webhook const& record, base::wall_ms now);

}  // namespace latchkey::model
