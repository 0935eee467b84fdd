// What the store as a whole does with bulk loads.
#include <algorithm>

#include "domain/admin/load_kind.hpp"
#include "domain/frame/bulk_load_state.hpp"
#include "domain/frame/consistency_check.hpp"
#include "domain/frame/time_sweep.hpp"

namespace latchkey::domain {
namespace {

using base::wall_ms;

bool is_late_load(std::string_view, std::string_view value, wall_ms now) {
    auto const load = decode_load_state(value);
    return load && std::max(load->begun_at, load->finished_at) > now;
}

bool redate_load(transaction& txn, std::string_view key, wall_ms now) {
    auto const load_name = load_key(base::reader(key).integer<std::uint64_t>());
    auto const bytes = txn.get(table::index, load_name);
    auto load = bytes ? decode_load_state(*bytes) : std::nullopt;
    if (!load) return false;
    clamp(load->begun_at, now);
    clamp(load->finished_at, now);
    encode(*load, txn.scratch);
    txn.put(table::index, load_name, txn.scratch);
    return true;
}

constexpr tag load_tags[] = {tag::load, tag::load_moved};
constexpr time_sweep load_sweeps[] = {
    {table::index, tag::load, is_late_load, redate_load, {"imports", "import", "imports"}}};

}  // namespace

constinit kind const load_kind{.tags = load_tags, .check = check_loads, .sweeps = load_sweeps};

}  // namespace latchkey::domain
