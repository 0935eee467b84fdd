// An outcome as it is stored under an Idempotency-Key, until a client that missed the answer
// repeats the request. It holds what the answer is rendered from, so a repeat is rendered like the
// first time; never the text of a new key, which no outcome contains. Values, any thread; private
// to the store.
//
// Encoding: version 1, expires_at (8), the request (32), the outcome's time and its key's last use
// (8 each), problem and detail, number of faults (1), of each its place (1), location, code and
// detail; then the record: its kind (1; 0: none, 1: user, 2: post, 3: key, 4: event, 5: webhook, 6:
// revocation), its id (8) and its encoding. Texts follow their length (4); problems and codes are
// their names, so that a later program may renumber them. A program that changes this form must
// read the old one for a day.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "domain/command.hpp"

namespace latchkey::domain {

struct kept_outcome {
    base::wall_ms expires_at = 0;  // from then on it counts as absent
    model::digest request{};       // idempotency::request
    outcome result;
};

void encode(kept_outcome const& entry, std::string& output);  // replaces the content of `output`
// nullopt: of an unknown version, or truncated.
std::optional<kept_outcome> decode_kept_outcome(std::string_view bytes);

// The outcome for a repeated request: the kept one, marked as replayed, or the rejection of a
// different request; nullopt: the entry has expired.
std::optional<outcome> replay(kept_outcome entry, idempotency const& idempotency,
                              base::wall_ms now);

}  // namespace latchkey::domain
