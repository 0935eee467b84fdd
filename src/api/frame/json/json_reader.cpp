// Both readers are handlers of Boost.JSON's streaming parser and share a stack of open containers,
// each with a number; repeated names are found by number and name in a hash set of its own. The
// builder keeps values on one stack and takes those of a container off when it closes. Memory that
// may have held a key is wiped, the stack below the parser too.
#include "api/frame/json/json_reader.hpp"

#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "api/frame/json/member_names.hpp"
#include "base/bytes.hpp"
#include "base/limits.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;
namespace limits = base::limits;

enum class violation { repeated_member = 1, too_many_members, too_many_values };

class violation_category final : public json::error_category {
  public:
    char const* name() const noexcept override { return "latchkey"; }
    std::string message(int code) const override {
        return code == static_cast<int>(violation::repeated_member) ? "a member is repeated"
                                                                    : "there is too much of it";
    }
};

json::error_code make_error_code(violation violation) {
    static violation_category const category;
    return {static_cast<int>(violation), category};
}

// The open objects and arrays, and the name of a member while it arrives in parts.
class container_stack {
  public:
    void enter() {
        member_counts_[depth_] = 0;
        numbers_[depth_++] = ++count_;
    }
    void leave() { --depth_; }
    std::size_t depth() const { return depth_; }
    std::uint64_t innermost() const { return numbers_[depth_ - 1]; }
    // The number of members of the innermost object, with this one.
    std::size_t count_member() { return ++member_counts_[depth_ - 1]; }

    void add_to_name(json::string_view part) { parts_.append(part.data(), part.size()); }
    // The whole name with its last part; a view until the next call.
    std::string_view end_name(json::string_view part) {
        name_.clear();
        if (parts_.empty()) return {part.data(), part.size()};
        add_to_name(part);
        name_.swap(parts_);
        return name_;
    }

  private:
    std::array<std::uint64_t, limits::json_depth_max> numbers_;
    std::array<std::size_t, limits::json_depth_max> member_counts_;
    std::size_t depth_ = 0;
    std::uint64_t count_ = 0;
    std::string parts_, name_;
};

// The callbacks that both readers share. Their names are Boost.JSON's; false stops the parser.
struct handler_base {
    static constexpr std::size_t max_object_size = SIZE_MAX;
    static constexpr std::size_t max_array_size = SIZE_MAX;
    static constexpr std::size_t max_key_size = SIZE_MAX;
    static constexpr std::size_t max_string_size = SIZE_MAX;

    bool on_document_end(json::error_code&) { return true; }
    bool on_number_part(json::string_view, json::error_code&) { return true; }
    bool on_comment_part(json::string_view, json::error_code&) { return true; }
    bool on_comment(json::string_view, json::error_code&) { return true; }
    bool on_key_part(json::string_view part, std::size_t, json::error_code&) {
        containers.add_to_name(part);
        return true;
    }

    container_stack containers;
    member_names names;
};

struct builder : handler_base {
    std::vector<json_value> values;        // complete ones; those of open containers on top
    std::vector<std::string> value_names;  // of the members among them
    std::string parts;                     // of a string that arrives in parts
    std::string root_member;               // the member of the root that is being read
    std::size_t count = 0;
    bool is_credential = false;  // the next value is the caller's key, which does not count
    bool duplicate_credential = false;

    bool on_document_begin(json::error_code&) {
        values.reserve(32);
        return true;
    }
    bool on_object_begin(json::error_code& error) {
        containers.enter();
        return count_value(error);
    }
    bool on_object_end(std::size_t n, json::error_code&) {
        if (!is_kept()) n = 0;
        containers.leave();
        std::vector<json_member> members;
        members.reserve(n);
        for (std::size_t i = 0; i < n; ++i)
            members.push_back({std::move(value_names[value_names.size() - n + i]),
                               std::move(values[values.size() - n + i])});
        value_names.resize(value_names.size() - n);
        values.resize(values.size() - n);
        keep(json_object(std::move(members)));
        return true;
    }
    bool on_array_begin(json::error_code& error) {
        containers.enter();
        return count_value(error);
    }
    bool on_array_end(std::size_t n, json::error_code&) {
        if (!is_kept()) n = 0;
        containers.leave();
        auto const first = values.end() - static_cast<std::ptrdiff_t>(n);
        json_array list(std::make_move_iterator(first), std::make_move_iterator(values.end()));
        values.resize(values.size() - n);
        keep(std::move(list));
        return true;
    }
    bool on_key(json::string_view part, std::size_t, json::error_code& error) {
        auto const name = containers.end_name(part);
        bool const is_of_root = containers.depth() == 1;
        is_credential = is_of_root && name == credential_member;
        if (!is_credential && containers.count_member() > limits::json_members_max) {
            error = make_error_code(violation::too_many_members);
            return false;
        }
        if (!names.insert(containers.innermost(), name)) {
            duplicate_credential |= is_credential;
            error = make_error_code(violation::repeated_member);
            return false;
        }
        if (is_of_root) root_member.assign(name);
        if (is_kept()) value_names.emplace_back(name);
        return true;
    }
    bool on_string_part(json::string_view part, std::size_t, json::error_code&) {
        parts.append(part.data(), part.size());
        return true;
    }
    bool on_string(json::string_view part, std::size_t, json::error_code& error) {
        parts.append(part.data(), part.size());
        return add(std::exchange(parts, {}), error);
    }
    bool on_int64(std::int64_t value, json::string_view, json::error_code& error) {
        return add(value, error);
    }
    bool on_uint64(std::uint64_t value, json::string_view, json::error_code& error) {
        return add(value, error);
    }
    // A number without a fraction is an integer however it is written (JSON Schema, Core §4.2.2).
    // Beyond the bound Boost.JSON may read its neighbour; 0e999 it computes as zero times infinity.
    bool on_double(double value, json::string_view, json::error_code& error) {
        constexpr double exact_max = 1e15;
        if (std::isnan(value)) value = 0;
        if (std::trunc(value) == value && std::abs(value) <= exact_max)
            return add(static_cast<std::int64_t>(value), error);
        return add(value, error);
    }
    bool on_bool(bool value, json::error_code& error) { return add(value, error); }
    bool on_null(json::error_code& error) { return add(json_value(), error); }

    bool is_kept() const { return containers.depth() <= limits::json_kept_depth_max; }
    template <class Value>
    void keep(Value&& value) {
        if (is_kept()) values.emplace_back(std::forward<Value>(value));
    }
    template <class Value>
    bool add(Value&& value, json::error_code& error) {
        keep(std::forward<Value>(value));
        return count_value(error);
    }
    bool count_value(json::error_code& error) {
        if (std::exchange(is_credential, false) || ++count <= limits::json_values_max) return true;
        error = make_error_code(violation::too_many_values);
        return false;
    }
};

struct scanner : handler_base {
    scanner(std::string_view name, repeats others) : member_name(name), allowed(others) {}
    scanner(scanner const&) = delete;
    ~scanner() { base::wipe(bytes, sizeof bytes); }

    std::string_view member_name;
    repeats allowed;
    bool object = false, has_member = false, repeated = false;
    bool is_member_value = false;  // the next value is the member's
    std::size_t size = 0;          // of the string, also where it is longer than `bytes`
    char bytes[base::secret::bytes_max];

    bool on_document_begin(json::error_code&) { return true; }
    bool on_object_begin(json::error_code&) {
        object |= containers.depth() == 0;
        containers.enter();
        return skip();
    }
    bool on_object_end(std::size_t, json::error_code&) {
        containers.leave();
        return true;
    }
    bool on_array_begin(json::error_code&) {
        containers.enter();
        return skip();
    }
    bool on_array_end(std::size_t, json::error_code&) {
        containers.leave();
        return true;
    }
    bool on_key(json::string_view part, std::size_t, json::error_code& error) {
        auto const name = containers.end_name(part);
        is_member_value = containers.depth() == 1 && name == member_name;
        repeated |= is_member_value && has_member;
        has_member |= is_member_value;
        bool const may_repeat = allowed == repeats::allowed;
        if (!repeated && (may_repeat || names.insert(containers.innermost(), name))) return true;
        error = make_error_code(violation::repeated_member);
        return false;
    }
    bool on_string_part(json::string_view part, std::size_t, json::error_code&) {
        append(part);
        return true;
    }
    bool on_string(json::string_view part, std::size_t, json::error_code&) {
        append(part);
        return skip();
    }
    bool on_int64(std::int64_t, json::string_view, json::error_code&) { return skip(); }
    bool on_uint64(std::uint64_t, json::string_view, json::error_code&) { return skip(); }
    bool on_double(double, json::string_view, json::error_code&) { return skip(); }
    bool on_bool(bool, json::error_code&) { return skip(); }
    bool on_null(json::error_code&) { return skip(); }

    bool skip() {
        is_member_value = false;
        return true;
    }
    void append(json::string_view part) {
        if (!is_member_value) return;
        if (size + part.size() <= sizeof bytes) part.copy(bytes + size, part.size());
        size += part.size();
    }
    std::string_view text() const { return {bytes, size <= sizeof bytes ? size : 0}; }
};

// Boost.JSON assembles strings with escapes in a buffer on the stack, and a key may be one of them:
// wipes as far down as its deepest frames and that buffer reach.
[[gnu::noinline]] void wipe_stack() {
    char bytes[32 * 1024];
    base::wipe(bytes, sizeof bytes);
}

json::parse_options strict_options() {
    json::parse_options options;
    options.max_depth = limits::json_depth_max;
    return options;
}

struct parse_result {
    std::size_t bytes = 0;
    json::error_code code;
    std::string error;  // empty: one document, and nothing follows it
};

template <class Handler>
parse_result parse(json::basic_parser<Handler>& parser, std::string_view text) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    parse_result result;
    if (text.starts_with(byte_order_mark)) {
        result.code = json::error::syntax;
        result.error = "at byte 0: a byte order mark (U+FEFF), with which no JSON begins";
        return result;
    }
    result.bytes = parser.write_some(false, text.data(), text.size(), result.code);
    if (text.find('\\') != text.npos) wipe_stack();
    auto const position = [&] { return "at byte " + std::to_string(result.bytes) + ": "; };
    if (result.code)
        result.error = position() + result.code.message();
    else if (text.find_first_not_of(" \t\r\n", result.bytes) != text.npos)
        result.error = position() + "something follows the document";
    return result;
}

}  // namespace

json_document read_json(std::string_view text) {
    json_document document;
    json::basic_parser<builder> parser(strict_options());
    auto result = parse(parser, text);
    auto& handler = parser.handler();
    document.duplicate_credential = handler.duplicate_credential;
    if (result.error.empty()) {
        document.root = std::move(handler.values.front());
        return document;
    }
    document.error = std::move(result.error);
    if (result.code == make_error_code(violation::too_many_members))
        document.excess = {
            handler.containers.depth() > 1 ? handler.root_member : std::string(),
            "must have at most " + std::to_string(limits::json_members_max) + " members"};
    else if (result.code == make_error_code(violation::too_many_values))
        document.excess = {{},
                           "must have at most " + std::to_string(limits::json_values_max) +
                               " members and elements in all"};
    return document;
}

json_scan scan_json(std::string_view text, std::string_view name, repeats others) {
    json_scan scan;
    json::basic_parser<scanner> parser(strict_options(), name, others);
    scan.error = parse(parser, text).error;
    auto const& handler = parser.handler();
    scan.object = handler.object;
    scan.has_member = handler.has_member;
    scan.repeated = handler.repeated;
    scan.text = base::secret(handler.text());
    return scan;
}

}  // namespace latchkey::api
