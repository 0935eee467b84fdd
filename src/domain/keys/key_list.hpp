// Lists of keys, as their entries and their lengths are named in the index. Private to the domain.
#pragma once

#include <optional>
#include <string_view>

#include "domain/store_terms.hpp"
#include "model/key.hpp"
#include "store/layout.hpp"

namespace latchkey::domain {

// Those of one project or (empty) of all, of one environment or of all.
struct key_list {
    std::string_view project;
    std::optional<model::environment> environment;
};

// With tag::key_list the prefix of its entries, with tag::key_list_count the key of their number.
inline key_bytes key_list_key(tag tag, key_list const& list) {
    auto const environment =
        list.environment ? static_cast<std::uint8_t>(*list.environment) : std::uint8_t{0xff};
    return key_bytes{tag}.add(list.project).add(std::uint8_t{0}).add(environment);
}

}  // namespace latchkey::domain
