#include "reference.hpp"

#include <algorithm>
#include <set>

namespace latchkey::reference {
namespace {

// Thrown where the grammar is left, and where the bytes end within it.
struct wrong {};
struct cut_short {};

void must(bool holds) {
    if (!holds) throw wrong();
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
// DESIGN §4 goes by the set of bytes a URI is made of, not by where in it each may stand.
bool is_of_target(char c) {
    return is_unreserved(c) || is_sub_delim(c) || is_one_of(c, ":/?[]@%");
}
// field-content and the inside of quoted strings: HTAB, SP, VCHAR, obs-text.
bool is_of_value(char c) {
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
    std::string made;
    for (char const c : text) made += 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return made;
}

std::string_view without_ows(std::string_view text) {
    auto const first = text.find_first_not_of(" \t");
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> pieces;
    for (;;) {
        auto const end = text.find(at);
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

// How many groups of 16 bits `text` is, where `last` may be an IPv4 address; nothing is 0, and what
// is no list of groups is 9.
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

// Digits, or none; what no port can be is refused, however many zeros stand before it.
bool is_port(std::string_view text) {
    if (!all(text, is_digit)) return false;
    auto const begin = std::min(text.find_first_not_of('0'), text.size());
    auto const number = text.substr(begin);
    return number.size() < 5 || (number.size() == 5 && number <= "65535");
}

// ---- a request line (RFC 9112 §3)

struct field {
    std::string name, value;
    bool tab_behind = false;  // among the white space behind the value
};

struct message {
    std::string method, path, query, authority;
    char minor = '1';
    bool absolute = false, known = true;
    std::vector<field> fields;
};

void read_request_line(std::string_view line, message& into) {
    auto const parts = split(line, ' ');
    must(parts.size() == 3);
    static std::set<std::string_view> const used = {"GET",   "HEAD",   "POST",   "PUT",
                                                    "PATCH", "DELETE", "OPTIONS"};
    // Others: registered with IANA, or known from WebDAV, UPnP, caches and Icecast.
    static std::set<std::string_view> const others = {
        "TRACE",      "COPY",        "LOCK",       "MKCOL",    "MOVE",   "PROPFIND", "PROPPATCH",
        "SEARCH",     "UNLOCK",      "BIND",       "REBIND",   "UNBIND", "ACL",      "REPORT",
        "MKACTIVITY", "CHECKOUT",    "MERGE",      "M-SEARCH", "NOTIFY", "PURGE",    "LINK",
        "SUBSCRIBE",  "UNSUBSCRIBE", "MKCALENDAR", "UNLINK",   "SOURCE"};
    into.method = parts[0];
    into.known = used.count(parts[0]) > 0;
    must(into.known || others.count(parts[0]) > 0);
    must(parts[2] == "HTTP/1.1" || parts[2] == "HTTP/1.0");
    into.minor = parts[2].back();
    auto const target = read_target(parts[0], parts[1]);
    must(target.valid);
    into.path = target.path;
    into.query = target.query;
    into.authority = target.authority;
    into.absolute = target.absolute;
}

// ---- lines

class reader {
  public:
    explicit reader(std::string_view bytes) : bytes_(bytes) {}

    std::size_t at() const { return at_; }
    char peek() const {
        if (at_ == bytes_.size()) throw cut_short();
        return bytes_[at_];
    }
    char next() {
        char const c = peek();
        ++at_;
        return c;
    }
    std::string_view take(std::size_t size) {
        auto const piece = bytes_.substr(at_, size);
        at_ += piece.size();
        if (piece.size() < size) throw cut_short();
        return piece;
    }
    // What stands before the next CRLF, at most `most` bytes; it is taken too. No CR or LF stands
    // alone (RFC 9112 §2.2).
    std::string_view line(std::size_t most) {
        auto const begin = at_;
        while (peek() != '\r') must(next() != '\n' && at_ - begin <= most);
        auto const text = bytes_.substr(begin, at_ - begin);
        crlf();
        return text;
    }
    void crlf() {
        must(next() == '\r');
        must(next() == '\n');
    }

  private:
    std::string_view bytes_;
    std::size_t at_ = 0;
};

// Field lines up to and with the empty one (RFC 9112 §5).
std::vector<field> read_fields(reader& from, std::size_t bytes_max, std::size_t count_max) {
    std::vector<field> all_of_them;
    auto const begin = from.at();
    for (;;) {
        auto const line = from.line(bytes_max);
        must(from.at() - begin <= bytes_max);
        if (line.empty()) return all_of_them;
        auto const colon = line.find(':');
        must(colon != line.npos && is_token(line.substr(0, colon)));
        auto const value = without_ows(line.substr(colon + 1));
        must(all(value, is_of_value));
        auto const behind = line.substr(line.find_last_not_of(" \t") + 1);
        all_of_them.push_back({std::string(line.substr(0, colon)), std::string(value),
                               behind.find('\t') != behind.npos});
        must(all_of_them.size() <= count_max);
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

// RFC 9112 §3.2, §6; where a recipient may choose, DESIGN §4's choice.
framing judge(message& request, std::size_t body_bytes_max) {
    auto const hosts = values_of(request, "host");
    must(hosts.size() == 1 || (hosts.empty() && request.minor == '0'));
    if (!hosts.empty()) must(is_authority(hosts[0]));
    if (!request.absolute && !hosts.empty()) request.authority = hosts[0];

    framing how;
    auto const codings = values_of(request, "transfer-encoding");
    auto const lengths = values_of(request, "content-length");
    // Parsers differ about a tab there: llhttp 8.1 sees no chunks behind "chunked\t".
    for (auto const& each : request.fields)
        must(!each.tab_behind ||
             (lower(each.name) != "transfer-encoding" && lower(each.name) != "content-length"));
    must(codings.size() <= 1 && lengths.size() <= 1 && codings.size() + lengths.size() <= 1);
    if (!codings.empty()) {
        must(request.minor == '1' && lower(codings[0]) == "chunked");
        how.chunked = true;
    }
    if (!lengths.empty()) {
        must(!lengths[0].empty() && all(lengths[0], is_digit));
        for (char const digit : lengths[0]) {
            how.length = how.length * 10 + static_cast<std::size_t>(digit - '0');
            must(how.length <= body_bytes_max);
        }
    }
    return how;
}

// ---- chunks (RFC 9112 §7.1)

// *( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] ), and white space before the end
// of the line, which no grammar has and every recipient removes. `text` is the line behind the
// size.
void judge_extensions(std::string_view text) {
    std::size_t at = 0;
    auto const spaces = [&] { at = std::min(text.find_first_not_of(" \t", at), text.size()); };
    auto const is_at = [&](char c) { return at < text.size() && text[at] == c; };
    auto const token = [&] {
        must(at < text.size() && is_tchar(text[at]));
        while (at < text.size() && is_tchar(text[at])) ++at;
    };
    while (at < text.size()) {
        spaces();
        must(is_at(';'));
        ++at;
        spaces();
        token();
        spaces();
        if (is_at('=')) {
            ++at;
            spaces();
            if (!is_at('"')) {
                token();
            } else {
                ++at;
                while (!is_at('"')) {
                    if (is_at('\\')) ++at;
                    must(at < text.size() && is_of_value(text[at]));
                    ++at;
                }
                ++at;
            }
            spaces();
        }
    }
}

std::string read_chunked(reader& from, std::size_t body_bytes_max) {
    std::string content;
    std::size_t extension_bytes = 0;
    for (;;) {
        std::size_t size = 0;
        auto const line = from.line(8 + 256);
        auto const digits = std::min<std::size_t>(
            static_cast<std::size_t>(std::find_if_not(line.begin(), line.end(), is_hex) -
                                     line.begin()),
            line.size());
        must(digits >= 1 && digits <= 8);
        size = std::stoul(std::string(line.substr(0, digits)), nullptr, 16);
        judge_extensions(line.substr(digits));
        extension_bytes += line.size() - digits;
        must(line.size() - digits <= 256 && extension_bytes <= 4096);
        must(size <= body_bytes_max - content.size());
        if (size == 0) break;
        content += from.take(size);
        from.crlf();
    }
    read_fields(from, 4096, 32);  // trailers are dropped
    return content;
}

// ---- a message

std::string text_of(message const& request, framing const& how, std::string const& content) {
    auto const connection = options_of(request, "connection");
    bool const keep = connection.count("close") == 0 &&
                      (request.minor == '1' || connection.count("keep-alive") > 0);
    auto expectations = options_of(request, "expect");
    bool const waits = expectations.erase("100-continue") > 0 && request.minor == '1';
    std::string text = request.method + (request.known ? " " : "(other) ") + request.path;
    if (!request.query.empty()) text += "?" + request.query;
    text += " @" + request.authority + " 1." + request.minor + (keep ? " keep" : " close");
    if (waits) text += " continue";
    if (!expectations.empty()) text += " unknown-expectation";
    text += " {";
    for (auto const& each : request.fields)
        text += (text.back() == '{' ? "" : "\n") + each.name + "=" + each.value;
    text += "}";
    if (how.chunked) return text + " chunked '" + content + "'";
    return how.length == 0 ? text + " none" : text + " sized '" + content + "'";
}

std::string read_message(reader& from, bounds const& limits) {
    message request;
    for (int empty_lines = 0; from.peek() == '\r'; ++empty_lines) {
        from.crlf();
        must(empty_lines < 4);
    }
    read_request_line(from.line(limits.request_line_bytes_max), request);
    request.fields = read_fields(from, limits.header_bytes_max, 100);
    auto const how = judge(request, limits.body_bytes_max);
    auto const content = how.chunked ? read_chunked(from, limits.body_bytes_max)
                                     : std::string(from.take(how.length));
    return text_of(request, how, content);
}

}  // namespace

// user information, another scheme, an empty host: none of them is taken (RFC 9110 §4.2).
target_parts read_target(std::string_view method, std::string_view target) {
    target_parts made;
    if (target.empty() || !all(target, is_of_target) || method == "CONNECT") return made;
    if (target == "*") {
        made.valid = method == "OPTIONS";
        made.path = "*";
        return made;
    }
    if (target.front() != '/') {
        auto const scheme_end = target.find("://");
        if (scheme_end == target.npos) return made;
        auto const scheme = lower(target.substr(0, scheme_end));
        if (scheme != "http" && scheme != "https") return made;
        target.remove_prefix(scheme_end + 3);
        auto const end = std::min(target.find_first_of("/?"), target.size());
        made.authority = target.substr(0, end);
        if (!is_authority(made.authority)) return made;
        made.absolute = true;
        target.remove_prefix(end);
        if (target.empty() && method == "OPTIONS") made.path = "*";
    }
    auto const mark = std::min(target.find('?'), target.size());
    if (made.path.empty()) made.path = mark == 0 ? "/" : std::string(target.substr(0, mark));
    if (mark < target.size()) made.query = target.substr(mark + 1);
    made.valid = true;
    return made;
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
    chunked_body made;
    reader from(bytes);
    try {
        made.content = read_chunked(from, body_bytes_max);
        made.state = chunked_body::state::complete;
        made.consumed = from.at();
    } catch (wrong const&) {
        made.state = chunked_body::state::refused;
    } catch (cut_short const&) {
    }
    return made;
}

reading read_requests(std::string_view bytes, bounds const& limits) {
    reading all_of_them;
    reader from(bytes);
    try {
        for (;;) all_of_them.messages.push_back(read_message(from, limits));
    } catch (wrong const&) {
        all_of_them.refused = true;
    } catch (cut_short const&) {
    }
    return all_of_them;
}

}  // namespace latchkey::reference
