#include "reference.hpp"

#include <algorithm>
#include <set>

namespace latchkey::reference {
namespace {

// Thrown where the bytes violate the grammar, and where they end within an element.
struct syntax_error {};
struct incomplete_input {};

void require(bool holds) {
    if (!holds) throw syntax_error();
}

// ---- bytes (RFC 5234 appendix B.1, RFC 9110 §5.6.2, RFC 3986 §2)

bool is_digit(char c) {
    return '0' <= c && c <= '9';
}
bool is_letter(char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z');
}
bool is_hex(char c) {
    return is_digit(c) || ('a' <= c && c <= 'f') || ('A' <= c && c <= 'F');
}
bool is_one_of(char c, std::string_view set) {
    return set.find(c) != set.npos;
}
bool is_tchar(char c) {
    return is_digit(c) || is_letter(c) || is_one_of(c, "!#$%&'*+-.^_`|~");
}
bool is_unreserved(char c) {
    return is_digit(c) || is_letter(c) || is_one_of(c, "-._~");
}
bool is_sub_delim(char c) {
    return is_one_of(c, "!$&'()*+,;=");
}
// The service checks the set of bytes that a URI consists of, not their positions (api.md §1).
bool is_target_char(char c) {
    return is_unreserved(c) || is_sub_delim(c) || is_one_of(c, ":/?[]@%");
}
// field-content and the inside of quoted strings: HTAB, SP, VCHAR, obs-text.
bool is_value_char(char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

template <class Class>
bool all(std::string_view text, Class is) {
    return std::all_of(text.begin(), text.end(), is);
}
bool is_token(std::string_view text) {
    return !text.empty() && all(text, is_tchar);
}

std::string lower(std::string_view text) {
    std::string result;
    for (char const c : text) result += 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return result;
}

std::string_view without_ows(std::string_view text) {
    auto const first = text.find_first_not_of(" \t");
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> pieces;
    for (;;) {
        auto const end = text.find(separator);
        pieces.push_back(text.substr(0, end));
        if (end == text.npos) return pieces;
        text.remove_prefix(end + 1);
    }
}

// ---- authorities (RFC 3986 §3.2)

bool is_ipv4(std::string_view text) {
    auto const octets = split(text, '.');
    for (auto const octet : octets) {
        if (octet.empty() || octet.size() > 3 || !all(octet, is_digit)) return false;
        if (octet.size() > 1 && octet.front() == '0') return false;
        if (std::stoi(std::string(octet)) > 255) return false;
    }
    return octets.size() == 4;
}

// The number of 16-bit groups in `text`, whose last may be an IPv4 address; 0 if empty, 9 if it is
// not a list of groups.
int groups_of(std::string_view text, bool may_end_in_ipv4) {
    if (text.empty()) return 0;
    int count = 0;
    auto const parts = split(text, ':');
    for (std::size_t i = 0; i < parts.size(); ++i) {
        bool const last = i + 1 == parts.size();
        if (!parts[i].empty() && parts[i].size() <= 4 && all(parts[i], is_hex))
            count += 1;
        else if (last && may_end_in_ipv4 && is_ipv4(parts[i]))
            count += 2;
        else
            return 9;
    }
    return count;
}

bool is_ipv6(std::string_view text) {
    auto const gap = text.find("::");
    if (gap == text.npos) return groups_of(text, true) == 8;
    return groups_of(text.substr(0, gap), false) + groups_of(text.substr(gap + 2), true) <= 7;
}

bool is_reg_name(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is_unreserved(text[i]) || is_sub_delim(text[i])) continue;
        if (text[i] != '%' || i + 2 >= text.size()) return false;
        if (!is_hex(text[i + 1]) || !is_hex(text[i + 2])) return false;
        i += 2;
    }
    return !text.empty();
}

// Digits, or none; leading zeros are allowed, numbers above 65535 are not.
bool is_port(std::string_view text) {
    if (!all(text, is_digit)) return false;
    auto const begin = std::min(text.find_first_not_of('0'), text.size());
    auto const number = text.substr(begin);
    return number.size() < 5 || (number.size() == 5 && number <= "65535");
}

// ---- a request line (RFC 9112 §3)

struct field {
    std::string name, value;
    bool trailing_tab = false;  // in the white space after the value
};

struct message {
    std::string method, path, query, authority;
    char minor = '1';
    bool absolute = false, standard_method = true;
    std::vector<field> fields;
};

void read_request_line(std::string_view line, message& request) {
    auto const parts = split(line, ' ');
    require(parts.size() == 3);
    static std::set<std::string_view> const methods = {"GET",   "HEAD",   "POST",   "PUT",
                                                       "PATCH", "DELETE", "OPTIONS"};
    request.method = parts[0];
    request.standard_method = methods.count(parts[0]) > 0;
    require(!parts[0].empty() && parts[0].size() <= 32 && is_token(parts[0]));
    require(parts[2].size() == 8 && parts[2].starts_with("HTTP/1.") && is_digit(parts[2].back()));
    // RFC 9110 §2.5: a newer minor version is read as the newest that is known.
    request.minor = parts[2].back() == '0' ? '0' : '1';
    auto const target = read_target(parts[0], parts[1]);
    require(target.valid);
    request.path = target.path;
    request.query = target.query;
    request.authority = target.authority;
    request.absolute = target.absolute;
}

// ---- lines

class reader {
  public:
    explicit reader(std::string_view bytes) : bytes_(bytes) {}

    std::size_t position() const { return position_; }
    char peek() const {
        if (position_ == bytes_.size()) throw incomplete_input();
        return bytes_[position_];
    }
    char next() {
        char const c = peek();
        ++position_;
        return c;
    }
    std::string_view take(std::size_t size) {
        auto const piece = bytes_.substr(position_, size);
        position_ += piece.size();
        if (piece.size() < size) throw incomplete_input();
        return piece;
    }
    // Reads a line of at most `bytes_max` bytes and its CRLF. Refuses a bare CR or LF (RFC 9112
    // §2.2).
    std::string_view line(std::size_t bytes_max) {
        auto const begin = position_;
        while (peek() != '\r') require(next() != '\n' && position_ - begin <= bytes_max);
        auto const text = bytes_.substr(begin, position_ - begin);
        crlf();
        return text;
    }
    void crlf() {
        require(next() == '\r');
        require(next() == '\n');
    }

  private:
    std::string_view bytes_;
    std::size_t position_ = 0;
};

// Field lines up to and with the empty one (RFC 9112 §5).
std::vector<field> read_fields(reader& input, std::size_t bytes_max, std::size_t count_max) {
    std::vector<field> result;
    auto const begin = input.position();
    for (;;) {
        auto const line = input.line(bytes_max);
        require(input.position() - begin <= bytes_max);
        if (line.empty()) return result;
        auto const colon = line.find(':');
        require(colon != line.npos && is_token(line.substr(0, colon)));
        auto const value = without_ows(line.substr(colon + 1));
        require(all(value, is_value_char));
        auto const padding = line.substr(line.find_last_not_of(" \t") + 1);
        result.push_back({std::string(line.substr(0, colon)), std::string(value),
                          padding.find('\t') != padding.npos});
        require(result.size() <= count_max);
    }
}

// ---- what fields decide

std::vector<std::string> values_of(message const& request, std::string_view name) {
    std::vector<std::string> values;
    for (auto const& each : request.fields)
        if (lower(each.name) == name) values.push_back(each.value);
    return values;
}

std::set<std::string> options_of(message const& request, std::string_view name) {
    std::set<std::string> options;
    for (auto const& value : values_of(request, name))
        for (auto const piece : split(value, ','))
            if (!without_ows(piece).empty()) options.insert(lower(without_ows(piece)));
    return options;
}

struct framing {
    bool chunked = false;
    std::size_t length = 0;
};

// RFC 9112 §3.2, §6; where the RFC leaves a choice, the one of api.md §1.
framing read_framing(message& request, std::size_t body_bytes_max) {
    auto const hosts = values_of(request, "host");
    require(hosts.size() == 1 || (hosts.empty() && request.minor == '0'));
    if (!hosts.empty()) require(is_authority(hosts[0]));
    if (!request.absolute && !hosts.empty()) request.authority = hosts[0];

    framing body;
    auto const codings = values_of(request, "transfer-encoding");
    auto const lengths = values_of(request, "content-length");
    // Parsers differ about a tab there: llhttp 8.1 sees no chunks behind "chunked\t".
    for (auto const& each : request.fields)
        require(!each.trailing_tab ||
                (lower(each.name) != "transfer-encoding" && lower(each.name) != "content-length"));
    require(codings.size() <= 1 && lengths.size() <= 1 && codings.size() + lengths.size() <= 1);
    if (!codings.empty()) {
        require(request.minor == '1' && lower(codings[0]) == "chunked");
        body.chunked = true;
    }
    if (!lengths.empty()) {
        require(!lengths[0].empty() && all(lengths[0], is_digit));
        for (char const digit : lengths[0]) {
            body.length = body.length * 10 + static_cast<std::size_t>(digit - '0');
            require(body.length <= body_bytes_max);
        }
    }
    return body;
}

// ---- chunks (RFC 9112 §7.1)

// *( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] ), and white space before the end
// of the line, which the grammar lacks and every recipient removes. `text` is the line after the
// size.
void check_extensions(std::string_view text) {
    std::size_t position = 0;
    auto const spaces = [&] {
        position = std::min(text.find_first_not_of(" \t", position), text.size());
    };
    auto const next_is = [&](char c) { return position < text.size() && text[position] == c; };
    auto const token = [&] {
        require(position < text.size() && is_tchar(text[position]));
        while (position < text.size() && is_tchar(text[position])) ++position;
    };
    while (position < text.size()) {
        spaces();
        require(next_is(';'));
        ++position;
        spaces();
        token();
        spaces();
        if (next_is('=')) {
            ++position;
            spaces();
            if (!next_is('"')) {
                token();
            } else {
                ++position;
                while (!next_is('"')) {
                    if (next_is('\\')) ++position;
                    require(position < text.size() && is_value_char(text[position]));
                    ++position;
                }
                ++position;
            }
            spaces();
        }
    }
}

std::string read_chunked(reader& input, std::size_t body_bytes_max) {
    std::string content;
    std::size_t extension_bytes = 0;
    for (;;) {
        std::size_t size = 0;
        auto const line = input.line(8 + 256);
        auto const digits = std::min<std::size_t>(
            static_cast<std::size_t>(std::find_if_not(line.begin(), line.end(), is_hex) -
                                     line.begin()),
            line.size());
        require(digits >= 1 && digits <= 8);
        size = std::stoul(std::string(line.substr(0, digits)), nullptr, 16);
        check_extensions(line.substr(digits));
        extension_bytes += line.size() - digits;
        require(line.size() - digits <= 256 && extension_bytes <= 4096);
        require(size <= body_bytes_max - content.size());
        if (size == 0) break;
        content += input.take(size);
        input.crlf();
    }
    read_fields(input, 4096, 32);  // trailers are dropped
    return content;
}

// ---- a message

std::string text_of(message const& request, framing const& body, std::string const& content) {
    auto const connection = options_of(request, "connection");
    bool const keep = connection.count("close") == 0 &&
                      (request.minor == '1' || connection.count("keep-alive") > 0);
    auto expectations = options_of(request, "expect");
    bool const expects_continue = expectations.erase("100-continue") > 0 && request.minor == '1';
    std::string text = request.method + (request.standard_method ? " " : "(other) ") + request.path;
    if (!request.query.empty()) text += "?" + request.query;
    text += " @" + request.authority + " 1." + request.minor + (keep ? " keep" : " close");
    if (expects_continue) text += " continue";
    if (!expectations.empty()) text += " unknown-expectation";
    text += " {";
    for (auto const& each : request.fields)
        text += (text.back() == '{' ? "" : "\n") + each.name + "=" + each.value;
    text += "}";
    if (body.chunked) return text + " chunked '" + content + "'";
    return body.length == 0 ? text + " none" : text + " sized '" + content + "'";
}

std::string read_message(reader& input, bounds const& limits) {
    message request;
    for (int empty_lines = 0; input.peek() == '\r'; ++empty_lines) {
        input.crlf();
        require(empty_lines < 4);
    }
    read_request_line(input.line(limits.request_line_bytes_max), request);
    request.fields = read_fields(input, limits.header_bytes_max, 100);
    auto const body = read_framing(request, limits.body_bytes_max);
    auto const content = body.chunked ? read_chunked(input, limits.body_bytes_max)
                                      : std::string(input.take(body.length));
    return text_of(request, body, content);
}

}  // namespace

// Refuses user information, other schemes and an empty host (RFC 9110 §4.2).
target_parts read_target(std::string_view method, std::string_view target) {
    target_parts result;
    if (target.empty() || !all(target, is_target_char) || method == "CONNECT") return result;
    if (target == "*") {
        result.valid = method == "OPTIONS";
        result.path = "*";
        return result;
    }
    if (target.front() != '/') {
        auto const scheme_end = target.find("://");
        if (scheme_end == target.npos) return result;
        auto const scheme = lower(target.substr(0, scheme_end));
        if (scheme != "http" && scheme != "https") return result;
        target.remove_prefix(scheme_end + 3);
        auto const end = std::min(target.find_first_of("/?"), target.size());
        result.authority = target.substr(0, end);
        if (!is_authority(result.authority)) return result;
        result.absolute = true;
        target.remove_prefix(end);
        if (target.empty() && method == "OPTIONS") result.path = "*";
    }
    auto const question_mark = std::min(target.find('?'), target.size());
    if (result.path.empty())
        result.path = question_mark == 0 ? "/" : std::string(target.substr(0, question_mark));
    if (question_mark < target.size()) result.query = target.substr(question_mark + 1);
    result.valid = true;
    return result;
}

bool is_authority(std::string_view text) {
    if (text.starts_with('[')) {
        auto const end = text.find(']');
        if (end == text.npos || !is_ipv6(text.substr(1, end - 1))) return false;
        auto const rest = text.substr(end + 1);
        return rest.empty() || (rest.front() == ':' && is_port(rest.substr(1)));
    }
    auto const parts = split(text, ':');
    return parts.size() <= 2 && is_reg_name(parts[0]) && (parts.size() == 1 || is_port(parts[1]));
}

chunked_body read_chunks(std::string_view bytes, std::size_t body_bytes_max) {
    chunked_body result;
    reader input(bytes);
    try {
        result.content = read_chunked(input, body_bytes_max);
        result.state = chunked_body::state::complete;
        result.consumed = input.position();
    } catch (syntax_error const&) {
        result.state = chunked_body::state::refused;
    } catch (incomplete_input const&) {
    }
    return result;
}

reading read_requests(std::string_view bytes, bounds const& limits) {
    reading result;
    reader input(bytes);
    try {
        for (;;) result.messages.push_back(read_message(input, limits));
    } catch (syntax_error const&) {
        result.is_refused = true;
    } catch (incomplete_input const&) {
    }
    return result;
}

}  // namespace latchkey::reference
