// The details of refusals that name what was seen and what is accepted (api.md §11). Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/frame/settings.hpp"
#include "base/problem.hpp"
#include "model/key.hpp"

namespace latchkey::api {

// A name of a client as it is sent back: its first 200 bytes, to the end of a code point.
std::string_view shown_name(std::string_view name);

// "`name` is required.": a fault in a sentence.
std::string sentence_of(base::fault const& fault);
// The sentences of the first faults, and how many more there are. Empty without faults.
std::string summary_of(std::vector<base::fault> const& faults);

// ": did you mean `expires_in`?", with the name that an unknown one is near to; empty: there is
// none. Nothing of the unknown name is repeated. To be asked about the first suggestions_max faults
// of a request, since a client chooses how many names are unknown.
inline constexpr std::size_t suggestions_max = 1;
std::string suggestion(std::string_view unknown, std::span<std::string_view const> names);

// When a key expired, or when it begins (api.md §11); empty for other problems.
std::string state_detail(base::problem problem, model::key const& key);

// The limit that a request exceeded, of `body_too_large` (whose limit is the argument),
// `uri_too_long` and `headers_too_large`; empty for other problems.
std::string limit_detail(base::problem problem, settings const& settings,
                         std::size_t body_bytes_max);

}  // namespace latchkey::api
