// The list of all schemas, and a page for each: members, bounds, an example, and where it is used.
// Any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/docs/reference.hpp"

namespace latchkey::api {

// Which pages refer to a schema. The reference outlives it.
class schema_uses {
  public:
    struct place {
        std::string path;
        std::string_view title;
    };
    explicit schema_uses(reference const& reference);

    // Operations first, then schemas.
    std::vector<place> const& of(std::string_view schema) const;

  private:
    void add(boost::json::object const& owner, place const& place);

    std::map<std::string_view, std::vector<place>> places_;
};

std::string schema_list_content(reference const& reference);
std::string schema_content(reference const& reference, schema_uses const& uses,
                           std::string_view name, boost::json::object const& schema);

}  // namespace latchkey::api
