// The header fields of a plan's requests in HPACK (RFC 7541). A plan has few fields whose name and
// value repeat, and all are known at the start: each has a number, and a connection remembers for
// each number when it was added to the server's table, so a repeated field costs one look into an
// array and is one or two bytes. Nothing is ever evicted: what does not fit stays a literal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan.hpp"

namespace load {

// What all connections of a group share. Immutable.
class field_plan {
  public:
    // Throws std::invalid_argument with a message.
    field_plan(plan const& requests, bool tls);

    struct field {
        std::string name, value;
        std::size_t static_field = 0, static_name = 0;  // in the static table; 0: none
        std::size_t name_source = 0;                    // the first field of the same name
    };
    struct kind_fields {
        std::vector<std::size_t> front, back;  // those before the key, and those behind it
        bool constant_path = false;            // it is one of `front`
    };

    std::vector<field> const& fields() const { return fields_; }
    kind_fields const& of_kind(std::size_t kind) const { return kinds_[kind]; }
    bool has_keys() const { return !keys_.empty(); }
    std::string const& key(std::size_t index) const { return keys_[index]; }
    // Each key is a field if they fit into a table. Else only the first is, for its name, and all
    // of them are literals, as no table would keep them.
    bool few_keys() const { return keys_.size() <= indexed_keys_max; }
    std::size_t key_field(std::size_t index) const { return key_fields_[index]; }

  private:
    static constexpr std::size_t indexed_keys_max = 16;
    std::size_t add(std::string_view name, std::string_view value);

    std::vector<field> fields_;
    std::vector<kind_fields> kinds_;
    std::vector<std::string> const& keys_;
    std::vector<std::size_t> key_fields_;
};

// One per connection.
class field_encoder {
  public:
    explicit field_encoder(field_plan const& fields)
        : fields_(fields), numbers_(fields.fields().size()) {}

    // The server's SETTINGS_HEADER_TABLE_SIZE. A change empties the table.
    void set_table_limit(std::size_t bytes);
    // Appends the field block of a request. `path` counts where that of the kind is not constant,
    // `content_length` where it is not empty.
    void encode(plan::selection const& choice, std::string_view path,
                std::string_view content_length, std::string& output);

  private:
    void put(std::size_t index, std::string& output);
    void put_key(std::size_t index, std::string& output);
    // A literal with the name of a field; it becomes the field's entry if `is_entry` and if it fits.
    void put_literal(std::size_t index, std::string_view value, bool is_entry, std::string& output);

    field_plan const& fields_;
    std::vector<std::uint32_t> numbers_;  // of entries in the table by field, from 1; 0: none
    std::uint32_t newest_ = 0;
    std::size_t table_bytes_ = 0, table_limit_ = 4096;
    bool limit_changed_ = false;
};

}  // namespace load
