// The latest changes (docs/api.md §16) as events, each rendered once for all streams of a worker
// that send it. A ring by sequence; what is older is rendered for the one stream that reads it.
// Belongs to the worker's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.hpp"
#include "domain/snapshot.hpp"
#include "model/change.hpp"

namespace latchkey::api {

class rendered_changes {
  public:
    rendered_changes() = default;
    rendered_changes(rendered_changes const&) = delete;
    rendered_changes& operator=(rendered_changes const&) = delete;

    // The bounds of the changes that the snapshot shows.
    domain::change_bounds const& bounds(domain::snapshot const& snapshot);
    // Whether a stream shows a change of that type; `project` is that of a key, else empty.
    using filter = base::function_ref<bool(model::change_type type, std::string_view project)>;
    // The event of a change within the bounds: "id: …", "event: …", "data: …" and an empty line;
    // empty where the filter leaves it out; nullopt: unreadable. Valid until the next call.
    std::optional<std::string_view> find(domain::snapshot const& snapshot, model::id sequence,
                                         filter shows);

  private:
    static constexpr std::size_t changes_max = 1024;
    static constexpr std::size_t bytes_max = 4 * 1024 * 1024;  // of all texts

    struct entry {
        model::id sequence = 0;
        model::change_type type{};
        std::string project;
        std::string text;
    };

    bool is_recent(model::id sequence) const {
        return sequence + static_cast<model::id>(changes_max) > bounds_.last;
    }
    std::string_view keep(domain::change_view const& change);

    domain::change_bounds bounds_;
    std::uint64_t version_ = 0;  // of the snapshot that has these bounds; 0: none
    std::vector<entry> ring_;    // by sequence; empty until there is a stream
    std::size_t bytes_ = 0;
    std::string text_;  // of the last change that was not kept
};

}  // namespace latchkey::api
