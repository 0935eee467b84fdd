// The object of a header or of claims, read strictly (RFC 8259, RFC 7515 §4, RFC 7519 §4): a
// repeated name anywhere, invalid UTF-8, a lone surrogate, bytes after the object and deep nesting
// are errors. Boost.JSON parses; its document is not used, since of members of the same name it
// would keep one. Values of top-level members are kept, those below are only checked, but for the
// strings of an array. A reader belongs to one thread. Private to the layer.
//
//     json_object claims(members_max);
//     if (claims.read(text) != json_fault::none) … not such an object …
//     if (auto const* const audience = claims.find("aud")) …
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace latchkey::jwt {

inline constexpr std::size_t json_depth_max = 8;

enum class json_kind : std::uint8_t { string, number, boolean, null, object, strings, array };

enum class json_fault : std::uint8_t {
    none,
    syntax,      // no object of JSON
    depth,       // nested too deeply
    excess,      // too many members
    repetition,  // two members of one object have the same name; the rest is right
};

struct json_member {
    std::string_view name;
    json_kind kind = json_kind::null;
    std::string_view text;  // of a string, unescaped; of a number, as it was written
    std::size_t first_string = 0, string_count = 0;  // of an array that has only strings
};

class json_object {
  public:
    // More members than that, nested ones too, are an error: it bounds the search for repetitions.
    explicit json_object(std::size_t members_max) : members_max_(members_max) {}
    json_object(json_object const&) = delete;
    json_object& operator=(json_object const&) = delete;

    // Called once. The members' views point into the text, which stays, or into this object. After
    // a repetition `find` returns the first member of a name.
    json_fault read(std::string_view text);

    // Null: there is no member of that name.
    json_member const* find(std::string_view name) const;
    std::span<std::string_view const> strings(json_member const& member) const {
        return std::span(strings_).subspan(member.first_string, member.string_count);
    }

  private:
    struct handler;
    // A name and the object that it belongs to, by number.
    struct scoped_name {
        std::size_t object;
        std::string_view name;
    };

    bool repeats_a_name();

    std::size_t members_max_;
    // Enough for usual tokens; larger ones allocate.
    char memory_[std::size_t{4} * 1024];
    std::pmr::monotonic_buffer_resource resource_{memory_, sizeof memory_};
    std::pmr::vector<json_member> members_{&resource_};
    std::pmr::vector<std::string_view> strings_{&resource_};
    std::pmr::vector<scoped_name> names_{&resource_};
};

}  // namespace latchkey::jwt
