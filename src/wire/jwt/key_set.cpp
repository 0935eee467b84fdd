// The document is validated as a whole, then its text is cut at the commas of the outermost level
// and each key is read from its piece, so that a fault within one key costs that key alone. A name
// that is repeated is the document's fault only if it is still there without the keys.
#include "wire/jwt/key_set.hpp"

#include <algorithm>
#include <utility>

#include "base/visible.hpp"
#include "wire/jwt/json_object.hpp"
#include "wire/jwt/jwk.hpp"
#include "wire/jwt/jwt_limits.hpp"
#include "wire/jwt/public_key.hpp"

namespace latchkey::jwt {
namespace {

constexpr std::string_view blanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
    auto const begin = std::min(text.find_first_not_of(blanks), text.size());
    return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

// The texts of the members or elements of a container, which is valid JSON between its brackets.
std::vector<std::string_view> pieces_of(std::string_view container) {
    std::vector<std::string_view> pieces;
    auto const content = container.substr(1, container.size() - 2);
    std::size_t depth = 0, begin = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < content.size(); ++i) {
        char const byte = content[i];
        if (in_string && byte == '\\')
            ++i;
        else if (byte == '"')
            in_string = !in_string;
        else if (in_string)
            continue;
        else if (byte == '{' || byte == '[')
            ++depth;
        else if (byte == '}' || byte == ']')
            --depth;
        else if (byte == ',' && depth == 0) {
            pieces.push_back(trimmed(content.substr(begin, i - begin)));
            begin = i + 1;
        }
    }
    if (auto const last = trimmed(content.substr(begin)); !last.empty()) pieces.push_back(last);
    return pieces;
}

// The text of the array `keys` of a JWK Set, which is an object; empty if it has none.
std::string_view keys_text(std::string_view object) {
    constexpr std::string_view name = "\"keys\"";
    for (auto member : pieces_of(object)) {
        if (!member.starts_with(name)) continue;
        member = trimmed(trimmed(member.substr(name.size())).substr(1));  // behind the colon
        return member.starts_with('[') ? member : std::string_view();
    }
    return {};
}

bool repeats_a_name_around(std::string_view list, std::string_view json) {
    std::string rest(json);
    rest.replace(static_cast<std::size_t>(list.data() - json.data()), list.size(), "[]");
    json_object document(key_set_members_max);
    return document.read(rest) == json_fault::repetition;
}

class key_set_reader {
  public:
    explicit key_set_reader(algorithm_set allowed) : allowed_(allowed) {}

    key_set_reading read(std::string_view json) {
        read_document(trimmed(json));
        if (reading_.errors.empty() && keys_.empty())
            reading_.errors.push_back("no key of the set can verify tokens");
        if (reading_.errors.empty())
            reading_.keys = std::make_shared<key_set const>(std::move(keys_));
        return std::move(reading_);
    }

  private:
    void read_document(std::string_view json) {
        if (json.size() > key_set_bytes_max)
            return fail("the document has more than " + std::to_string(key_set_bytes_max) +
                        " bytes");
        json_object document(key_set_members_max);
        auto const fault = document.read(json);
        if (fault == json_fault::excess)
            return fail("the document has more than " + std::to_string(key_set_members_max) +
                        " members");
        if (fault == json_fault::depth)
            return fail("the document is nested deeper than " + std::to_string(json_depth_max) +
                        " levels");
        if (fault == json_fault::syntax) return fail("the document is not a JSON object");
        auto const list = keys_text(json);
        if (list.empty()) return fail("the document has no array keys: it is not a JWK Set");
        auto const texts = pieces_of(list);
        if (texts.size() > key_set_keys_max)
            return fail("the set has more than " + std::to_string(key_set_keys_max) + " keys");
        // One within a key is that key's fault alone.
        if (fault == json_fault::repetition && repeats_a_name_around(list, json))
            return fail("the document has two members of the same name");
        for (std::size_t i = 0; i < texts.size(); ++i) read_key(i, texts[i]);
    }

    void read_key(std::size_t index, std::string_view json) {
        auto jwk = read_jwk(json, allowed_);
        auto name = "keys[" + std::to_string(index) + "]";
        if (jwk.id) name += " (kid \"" + base::visible(*jwk.id) + "\")";
        auto const is_equal = [&](public_key const& each) {
            return each.id() && each.id() == jwk.id &&
                   each.own_algorithm() == jwk.key->own_algorithm();
        };
        if (jwk.key && std::ranges::any_of(keys_, is_equal))
            jwk.reason = "has the kid and the algorithm of an earlier key";
        if (!jwk.reason.empty()) return reading_.skipped.push_back(name + ' ' + jwk.reason);
        keys_.push_back(std::move(*jwk.key));
    }

    void fail(std::string message) { reading_.errors.push_back(std::move(message)); }

    algorithm_set allowed_;
    std::vector<public_key> keys_;
    key_set_reading reading_;
};

}  // namespace

key_set::key_set(std::vector<public_key> keys) : keys_(std::move(keys)) {}
key_set::~key_set() = default;

std::size_t key_set::size() const {
    return keys_.size();
}

public_key const* key_set::find(std::string_view key_id, algorithm value) const {
    public_key const* other = nullptr;
    for (auto const& each : keys_) {
        if (each.id() != key_id) continue;
        if (each.own_algorithm() == value) return &each;
        if (other == nullptr) other = &each;
    }
    return other;
}

public_key const* key_set::find_only(algorithm value) const {
    auto const fits = [&](public_key const& each) { return each.own_algorithm() == value; };
    auto const first = std::ranges::find_if(keys_, fits);
    if (first == keys_.end() || std::any_of(first + 1, keys_.end(), fits)) return nullptr;
    return &*first;
}

key_set_reading read_key_set(std::string_view json, algorithm_set allowed) {
    return key_set_reader(allowed).read(json);
}

}  // namespace latchkey::jwt
