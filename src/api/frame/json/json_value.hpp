// A JSON document in memory, for bodies of few members: an object is a list of members in the order
// of the text, searched linearly. No hash table: Boost.JSON's is salted with its address, so a
// client can choose names that all collide. The builder bounds the members
// (limits::json_members_max) and refuses repeated names. A value owns its contents; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace latchkey::api {

class json_value;
struct json_member;
using json_array = std::vector<json_value>;

class json_object {
  public:
    json_object();
    explicit json_object(std::vector<json_member> members);
    json_object(json_object const&);
    json_object(json_object&&) noexcept;
    json_object& operator=(json_object const&);
    json_object& operator=(json_object&&) noexcept;
    ~json_object();

    // Null: there is no member of that name.
    json_value const* if_contains(std::string_view name) const;
    json_value* if_contains(std::string_view name);
    void erase(std::string_view name);
    std::size_t size() const;
    json_member const* begin() const;
    json_member const* end() const;

  private:
    std::vector<json_member> members_;
};

class json_value {
  public:
    json_value() = default;  // null
    json_value(bool truth) : value_(truth) {}
    json_value(std::int64_t number) : value_(number) {}
    json_value(std::uint64_t number) : value_(number) {}  // beyond those of std::int64_t
    json_value(double number) : value_(number) {}         // with a fraction or an exponent
    json_value(std::string text) : value_(std::move(text)) {}
    json_value(json_array list) : value_(std::move(list)) {}
    json_value(json_object object) : value_(std::move(object)) {}

    bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
    bool is_uint64() const { return std::holds_alternative<std::uint64_t>(value_); }
    bool is_int64() const { return if_int64() != nullptr; }
    // Null: it is of another type.
    bool const* if_bool() const { return std::get_if<bool>(&value_); }
    std::int64_t const* if_int64() const { return std::get_if<std::int64_t>(&value_); }
    std::uint64_t const* if_uint64() const { return std::get_if<std::uint64_t>(&value_); }
    double const* if_double() const { return std::get_if<double>(&value_); }
    std::string const* if_string() const { return std::get_if<std::string>(&value_); }
    json_array const* if_array() const { return std::get_if<json_array>(&value_); }
    json_object const* if_object() const { return std::get_if<json_object>(&value_); }
    json_object* if_object() { return std::get_if<json_object>(&value_); }

  private:
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, json_array,
                 json_object>
        value_;
};

struct json_member {
    std::string name;
    json_value value;
};

}  // namespace latchkey::api
