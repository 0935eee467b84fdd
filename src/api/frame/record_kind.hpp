// The changes of a kind of record (api.md §16): how they are described, and how their record is
// shown. The capability that has such records has the row. Constants; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "domain/changes/change_record.hpp"

namespace latchkey::api {

// One type. `differs`: the members in which its example differs from that of the record.
struct sent_change {
    model::change_type type;
    std::string_view summary;
    bool by_key = true;  // false: by the service itself
    std::string_view differs = "{}";
};

struct record_kind {
    std::string_view schema;  // of the changes
    std::string_view record;  // the schema of their `data`
    // Appends the record of a change; false: it cannot be decoded, and nothing was appended.
    bool (*append)(std::string& output, domain::change_view const& change);
    std::span<sent_change const> changes;
    bool has_deletions = false;
};

// All kinds, and the one of a type (capabilities.cpp).
std::span<record_kind const> record_kinds();
record_kind const& kind_of(model::change_type type);

}  // namespace latchkey::api
