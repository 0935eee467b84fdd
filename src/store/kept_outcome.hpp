// An outcome as it is kept under an Idempotency-Key, until a client that did not get the answer
// asks again. It holds what the answer is made of, so a repeat is rendered like the first time;
// never a key that was made, which is in no outcome. Values, any thread; private to the store.
//
// Encoded: version 1, until (8), the request (32), the outcome's time and its key's last use (8
// each), problem and detail, number of faults (1), of each its place (1), where it is, code and
// detail; then the record: its kind (1; 0: none, 1: user, 2: post, 3: key), its id (8) and its
// encoding. Texts stand behind their length (4); problems and codes are their names, so that a
// later program may number them otherwise. Whoever changes this form must read the old one for a
// day.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/command.hpp"

namespace latchkey::store {

struct kept_outcome {
    base::wall_ms until = 0;  // from then on it counts as not there
    model::digest request{};  // idempotency::request
    outcome answer;
};

void encode(kept_outcome const& whole, std::string& to);  // replaces `to`
// nullopt: not one of a version we know, or cut short.
std::optional<kept_outcome> decode_kept_outcome(std::string_view bytes);

}  // namespace latchkey::store
