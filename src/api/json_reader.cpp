#include "api/json_reader.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>
#include <cmath>
#include <set>
#include <vector>

#include "base/bytes.hpp"
#include "base/limits.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;

enum class refusal { repeated_member = 1 };

class refusal_category final : public json::error_category {
  public:
    char const* name() const noexcept override { return "latchkey"; }
    std::string message(int) const override { return "a member is repeated"; }
};

json::error_code repeated_member() {
    static refusal_category const category;
    return {static_cast<int>(refusal::repeated_member), category};
}

// Builds the document and remembers the names of every object that is open. The names of the
// callbacks are Boost.JSON's.
struct builder {
    static constexpr std::size_t max_object_size = SIZE_MAX;
    static constexpr std::size_t max_array_size = SIZE_MAX;
    static constexpr std::size_t max_key_size = SIZE_MAX;
    static constexpr std::size_t max_string_size = SIZE_MAX;

    json::value_stack stack;
    std::string key;
    std::vector<std::set<std::string>> open;  // an empty set for an array
    bool credential_twice = false;

    bool on_document_begin(json::error_code&) { return stack.reset(), true; }
    bool on_document_end(json::error_code&) { return true; }
    bool on_object_begin(json::error_code&) { return open.emplace_back(), true; }
    bool on_object_end(std::size_t n, json::error_code&) {
        open.pop_back();
        stack.push_object(n);
        return true;
    }
    bool on_array_begin(json::error_code&) { return open.emplace_back(), true; }
    bool on_array_end(std::size_t n, json::error_code&) {
        open.pop_back();
        stack.push_array(n);
        return true;
    }
    bool on_key_part(json::string_view part, std::size_t, json::error_code&) {
        key.append(part.data(), part.size());
        stack.push_chars(part);
        return true;
    }
    bool on_key(json::string_view part, std::size_t, json::error_code& wrong) {
        key.append(part.data(), part.size());
        stack.push_key(part);
        bool const fresh = open.back().insert(key).second;
        if (!fresh) {
            credential_twice |= open.size() == 1 && key == credential_member;
            wrong = repeated_member();
        }
        key.clear();
        return fresh;
    }
    bool on_string_part(json::string_view part, std::size_t, json::error_code&) {
        return stack.push_chars(part), true;
    }
    bool on_string(json::string_view part, std::size_t, json::error_code&) {
        return stack.push_string(part), true;
    }
    bool on_number_part(json::string_view, json::error_code&) { return true; }
    bool on_int64(std::int64_t value, json::string_view, json::error_code&) {
        return stack.push_int64(value), true;
    }
    bool on_uint64(std::uint64_t value, json::string_view, json::error_code&) {
        return stack.push_uint64(value), true;
    }
    // Boost.JSON computes 0e999 as zero times infinity.
    bool on_double(double value, json::string_view, json::error_code&) {
        return stack.push_double(std::isnan(value) ? 0.0 : value), true;
    }
    bool on_bool(bool value, json::error_code&) { return stack.push_bool(value), true; }
    bool on_null(json::error_code&) { return stack.push_null(), true; }
    bool on_comment_part(json::string_view, json::error_code&) { return true; }
    bool on_comment(json::string_view, json::error_code&) { return true; }
};

// Boost.JSON takes strings with escapes apart in a buffer on the stack, and a key may be written
// so. As far down as its deepest frames and that buffer reach.
[[gnu::noinline]] void wipe_stack_below() {
    char below[32 * 1024];
    base::wipe(below, sizeof below);
}

}  // namespace

json_document read_json(std::string_view text) {
    json_document made;
    json::parse_options options;
    options.max_depth = base::limits::json_depth_max;
    json::basic_parser<builder> parser(options);
    json::error_code wrong;
    auto const used = parser.write_some(false, text.data(), text.size(), wrong);
    if (text.find('\\') != text.npos) wipe_stack_below();
    made.credential_twice = parser.handler().credential_twice;
    if (wrong) {
        made.wrong = "at byte " + std::to_string(used) + ": " + wrong.message();
    } else if (text.find_first_not_of(" \t\r\n", used) != text.npos) {
        made.wrong = "at byte " + std::to_string(used) + ": something follows the document";
    } else {
        made.root = parser.handler().stack.release();
    }
    return made;
}

}  // namespace latchkey::api
