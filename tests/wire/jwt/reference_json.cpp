#include "reference_json.hpp"

#include <algorithm>
#include <cstdint>
#include <set>

namespace latchkey::jwt {
namespace {

using value_type = reference_value::type;
constexpr std::size_t reference_depth_max = 2000;

class reference_reader {
  public:
    explicit reference_reader(std::string_view text) : rest_(text) {}

    std::optional<reference_value> document() {
        blanks();
        auto root = value(0);
        blanks();
        if (!valid_ || !rest_.empty()) return std::nullopt;
        return root;
    }

  private:
    bool take(std::string_view token) {
        if (!rest_.starts_with(token)) return false;
        rest_.remove_prefix(token.size());
        return true;
    }
    char next() const { return rest_.empty() ? '\0' : rest_.front(); }
    void blanks() {
        while (!rest_.empty() && std::string_view(" \t\r\n").find(next()) != std::string_view::npos)
            rest_.remove_prefix(1);
    }
    void expect(bool holds) { valid_ &= holds; }

    reference_value value(std::size_t depth) {
        reference_value result;
        if (!valid_ || depth > reference_depth_max) {
            valid_ = false;
        } else if (next() == '{') {
            object(result, depth);
        } else if (next() == '[') {
            array(result, depth);
        } else if (next() == '"') {
            result.kind = value_type::string;
            result.text = string();
        } else if (take("null")) {
            result.kind = value_type::null;
        } else if (take("true") || take("false")) {
            result.kind = value_type::boolean;
        } else {
            result.kind = value_type::number;
            result.text = number();
        }
        return result;
    }

    void object(reference_value& result, std::size_t depth) {
        result.kind = value_type::object;
        take("{");
        blanks();
        if (take("}")) return;
        do {
            blanks();
            expect(next() == '"');
            if (!valid_) return;
            auto name = string();
            blanks();
            expect(take(":"));
            blanks();
            result.members.push_back({std::move(name), value(depth + 1)});
            blanks();
        } while (valid_ && take(","));
        expect(take("}"));
    }

    void array(reference_value& result, std::size_t depth) {
        result.kind = value_type::array;
        take("[");
        blanks();
        if (take("]")) return;
        do {
            blanks();
            result.elements.push_back(value(depth + 1));
            blanks();
        } while (valid_ && take(","));
        expect(take("]"));
    }

    std::size_t digits() {
        std::size_t count = 0;
        for (; next() >= '0' && next() <= '9'; ++count) rest_.remove_prefix(1);
        return count;
    }

    std::string number() {
        auto const start = rest_;
        take("-");
        if (!take("0")) expect(digits() > 0);
        if (take(".")) expect(digits() > 0);
        if (take("e") || take("E")) {
            if (!take("+")) take("-");
            expect(digits() > 0);
        }
        return std::string(start.substr(0, start.size() - rest_.size()));
    }

    unsigned hexadecimal() {
        unsigned code = 0;
        for (int i = 0; i < 4; ++i) {
            auto const digit =
                std::string_view("0123456789abcdef")
                    .find(static_cast<char>(next() >= 'A' && next() <= 'F' ? next() + 32 : next()));
            expect(digit < 16 && !rest_.empty());
            if (!valid_) return 0;
            code = code << 4 | static_cast<unsigned>(digit);
            rest_.remove_prefix(1);
        }
        return code;
    }

    void append_point(std::string& text, unsigned point) {
        auto const tail = [&](int shift) {
            text += static_cast<char>(0x80 | (point >> shift & 63));
        };
        if (point < 0x80) {
            text += static_cast<char>(point);
        } else if (point < 0x800) {
            text += static_cast<char>(0xc0 | point >> 6);
            tail(0);
        } else if (point < 0x10000) {
            text += static_cast<char>(0xe0 | point >> 12);
            tail(6);
            tail(0);
        } else {
            text += static_cast<char>(0xf0 | point >> 18);
            tail(12);
            tail(6);
            tail(0);
        }
    }

    void escape(std::string& text) {
        constexpr std::string_view letters = "\"\\/bfnrt", values = "\"\\/\b\f\n\r\t";
        auto const letter = next();
        if (rest_.empty()) return expect(false);
        rest_.remove_prefix(1);
        if (auto const place = letters.find(letter); place != letters.npos) {
            text += values[place];
            return;
        }
        expect(letter == 'u');
        auto point = valid_ ? hexadecimal() : 0;
        if (point >= 0xd800 && point < 0xdc00) {
            expect(take("\\u"));
            auto const low = valid_ ? hexadecimal() : 0;
            expect(low >= 0xdc00 && low < 0xe000);
            point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
        } else {
            expect(point < 0xdc00 || point > 0xdfff);
        }
        if (valid_) append_point(text, point);
    }

    // A code point of two to four bytes, in its shortest form and no surrogate.
    void sequence(std::string& text) {
        auto const lead = static_cast<unsigned char>(next());
        std::size_t const size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
        expect(lead >= 0xc2 && lead < 0xf5 && rest_.size() >= size);
        if (!valid_) return;
        unsigned point = lead & (0xffu >> (size + 1));
        for (std::size_t i = 1; i < size; ++i) {
            auto const byte = static_cast<unsigned char>(rest_[i]);
            expect((byte & 0xc0) == 0x80);
            point = point << 6 | (byte & 63u);
        }
        constexpr unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
        expect(point >= least[size] && point < 0x110000 && (point < 0xd800 || point > 0xdfff));
        text += rest_.substr(0, size);
        rest_.remove_prefix(size);
    }

    std::string string() {
        std::string text;
        take("\"");
        while (valid_ && !take("\"")) {
            auto const byte = static_cast<unsigned char>(next());
            expect(!rest_.empty() && byte >= 0x20);
            if (!valid_) break;
            if (byte >= 0x80) {
                sequence(text);
            } else if (take("\\")) {
                escape(text);
            } else {
                text += next();
                rest_.remove_prefix(1);
            }
        }
        return text;
    }

    std::string_view rest_;
    bool valid_ = true;
};

template <class Visit>
void visit_below(reference_value const& value, Visit visit) {
    for (auto const& each : value.elements) visit(each);
    for (auto const& each : value.members) visit(each.value);
}

}  // namespace

reference_value const* reference_value::find(std::string_view name) const {
    for (auto const& [own_name, value] : members)
        if (own_name == name) return &value;
    return nullptr;
}

bool reference_value::repeats_a_name() const {
    std::set<std::string_view> names;
    bool result = false;
    for (auto const& each : members) result |= !names.insert(each.name).second;
    visit_below(*this, [&](auto const& each) { result |= each.repeats_a_name(); });
    return result;
}

std::size_t reference_value::member_count() const {
    auto count = members.size();
    visit_below(*this, [&](auto const& each) { count += each.member_count(); });
    return count;
}

std::size_t reference_value::depth() const {
    std::size_t deepest = 0;
    visit_below(*this, [&](auto const& each) { deepest = std::max(deepest, each.depth()); });
    return deepest + (kind == type::array || kind == type::object ? 1 : 0);
}

bool reference_value::has_large_exponent() const {
    auto const exponent = kind == type::number ? text.find_first_of("eE") : text.npos;
    bool result = exponent != text.npos && text.size() - exponent > 5;
    visit_below(*this, [&](auto const& each) { result |= each.has_large_exponent(); });
    return result;
}

std::optional<reference_value> read_reference_json(std::string_view text) {
    return reference_reader(text).document();
}

}  // namespace latchkey::jwt
