// The persistent state of a bulk load, under tag::load: how far it has come and which ids are
// reserved for it. Values, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/problem.hpp"
#include "model/id.hpp"

namespace latchkey::domain {

// The progress of one kind of record.
struct load_progress {
    std::uint64_t offset = 0;  // of the source, where the load continues
    std::uint64_t line = 0;    // number of lines before it
    std::uint64_t created = 0;
    std::uint64_t new_ids = 0;    // the part of the created ones whose id differs from the source's
    std::uint64_t unchanged = 0;  // existed already
    std::uint64_t refusals = 0;
    bool complete = false;
};

struct load_state {
    base::wall_ms begun_at = 0, finished_at = 0;  // 0: not yet
    // Ids assigned when the load began and reserved for it: above `floor` up to `kept`.
    model::id user_floor = 0, user_kept = 0, post_floor = 0, post_kept = 0;
    load_progress users, posts;

    bool keeps_user(model::id id) const { return id > user_floor && id <= user_kept; }
    bool keeps_post(model::id id) const { return id > post_floor && id <= post_kept; }
};

// A record that was not loaded.
struct load_refusal {
    std::size_t index = 0;  // in the batch
    base::problem problem = base::problem::none;
    base::fault fault;
};

void encode(load_state const& state, std::string& output);  // replaces `output`
// nullopt: damaged.
std::optional<load_state> decode_load_state(std::string_view bytes);

}  // namespace latchkey::domain
