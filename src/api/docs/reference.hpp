// The OpenAPI document (openapi.hpp) as the pages need it: operations in order, references
// resolved, examples. It outlives what is returned, which is views into it. Any thread.
#pragma once

#include <boost/json/fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace latchkey::api {

// The member if it is a string; else empty.
std::string_view text_of(boost::json::object const& object, std::string_view member);
// "User" of {"$ref": "#/components/schemas/User"}; else empty.
std::string_view name_in(boost::json::object const& reference);

struct reference_operation {
    std::string method;  // "GET"
    std::string path;    // with the prefix
    std::string page;    // "/docs/users"
    boost::json::object const* operation;
    std::vector<boost::json::object const*> parameters;  // of the path too
    std::set<std::string_view> problems;                 // codes with which it may be refused

    std::string_view id() const { return text_of(*operation, "operationId"); }
    std::string_view summary() const { return text_of(*operation, "summary"); }
    bool has_key() const;
    // "/docs/users#listUsers"
    std::string link() const { return page + "#" + std::string(id()); }
};

class reference {
  public:
    explicit reference(boost::json::object const& document);

    boost::json::object const& document() const { return document_; }
    boost::json::array const& groups() const;
    std::vector<reference_operation> const& operations() const { return operations_; }
    // Problems with which every operation that needs a key may be refused.
    std::set<std::string_view> const& shared_problems() const { return shared_problems_; }

    boost::json::object const& component(std::string_view kind, std::string_view name) const;
    boost::json::object const& schemas() const;
    // The schema, or what it refers to.
    boost::json::object const& resolve(boost::json::object const& schema) const;
    // The schema of the JSON that a body or a response has; null: it has none.
    static boost::json::object const* json_schema(boost::json::object const& owner);
    // An instance of the schema: its example, or one that is made of those of its parts.
    boost::json::value example_of(boost::json::object const& schema) const;

  private:
    void add_operations(std::string_view group);
    void add_parameters(boost::json::object const& owner, reference_operation& operation) const;
    void add_problems(reference_operation& operation) const;
    boost::json::value made_example(boost::json::object const& schema) const;

    boost::json::object const& document_;
    boost::json::object const& components_;
    std::vector<reference_operation> operations_;
    std::set<std::string_view> shared_problems_;
};

}  // namespace latchkey::api
