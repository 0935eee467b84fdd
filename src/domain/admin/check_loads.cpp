// The state of bulk loads.
#include "domain/frame/bulk_load_state.hpp"
#include "domain/frame/consistency_check.hpp"

namespace latchkey::domain {

void check_loads(consistency_check& check) {
    check.walk(table::index, key_bytes{tag::load},
               [&](std::string_view key, std::string_view content) {
                   if (key.size() != sizeof(std::uint64_t) || !decode_load_state(content))
                       check.report("the state of a bulk load cannot be read");
               });
    check.walk(table::index, key_bytes{tag::load_moved},
               [&](std::string_view key, std::string_view content) {
                   base::reader input(key);
                   auto const load = input.integer<std::uint64_t>();
                   auto const source_id = input.integer<model::id>();
                   auto const id = read_id(content);
                   if (!input.done() || source_id < 1 || !id || *id > check.counters.last_user)
                       return check.report("an id that a bulk load assigned is of another form");
                   if (!check.has(table::index, load_key(load)))
                       check.report("an id that a bulk load assigned is of no load");
               });
}

}  // namespace latchkey::domain
