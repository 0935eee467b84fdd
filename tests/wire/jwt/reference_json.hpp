// A second reader of JSON (RFC 8259) for the fuzzers, which shares no code with the layer: recursive
// descent over the grammar, everything kept.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace latchkey::jwt {

struct reference_member;

struct reference_value {
    enum class type { null, boolean, number, string, array, object };
    type kind = type::null;
    std::string text;  // of a string, unescaped; of a number, as it was written
    std::vector<reference_value> elements;
    std::vector<reference_member> members;

    bool is(type other) const { return kind == other; }
    // Null: there is none of that name, or this is no object.
    reference_value const* find(std::string_view name) const;
    bool repeats_a_name() const;  // in it or below
    std::size_t member_count() const;
    std::size_t depth() const;        // of containers
    bool has_large_exponent() const;  // of more than four digits, in it or below
};

struct reference_member {
    std::string name;
    reference_value value;
};

// Empty: it is not one text of JSON in valid UTF-8.
std::optional<reference_value> read_reference_json(std::string_view text);

}  // namespace latchkey::jwt
