// A head is read twice, by the guard and by llhttp, and the two must agree on target, fields,
// coding and length. A field section that is byte for byte one of the cache skips both: only its
// request line is read. llhttp is paused at the end of each head and message, so it never reads
// beyond.
#include "wire/http/parser.hpp"

#include <llhttp.h>

#include <algorithm>
#include <new>

#include "wire/http/byte_class.hpp"

namespace latchkey::http {
namespace {

using base::problem;

step refused(base::problem code, std::string_view detail) {
    return {.state = step::progress::refused, .consumed = 0, .problem = code, .detail = detail};
}

// Where guard and llhttp disagree about a head, so may intermediaries: the request is refused
// (RFC 9112 §11.2).
step ambiguous() {
    return refused(problem::malformed_request, "The request is ambiguous.");
}

// Receives what one call of llhttp_execute reports; llhttp_t::data points to it.
struct llhttp_output {
    request* head = nullptr;      // while a head is read
    std::string* body = nullptr;  // while a body is read
    std::string_view url;
    std::string_view name;
    std::string_view value;
    bool headers_complete = false;
    bool message_complete = false;
    bool full = false;
};

llhttp_output& output_of(llhttp_t* state) {
    return *static_cast<llhttp_output*>(state->data);
}

// llhttp may report an element in adjacent pieces.
void extend(std::string_view& view, char const* data, std::size_t size) {
    if (view.data() != nullptr && view.data() + view.size() == data)
        view = {view.data(), view.size() + size};
    else
        view = {data, size};
}

void add_field(llhttp_output& output) {
    if (output.name.data() == nullptr) return;
    if (!output.head->add(output.name, trim(output.value))) output.full = true;
    output.name = output.value = {};
}

int on_url(llhttp_t* state, char const* data, std::size_t size) {
    extend(output_of(state).url, data, size);
    return 0;
}

int on_header_field(llhttp_t* state, char const* data, std::size_t size) {
    auto& output = output_of(state);
    if (output.value.data() != nullptr) add_field(output);
    extend(output.name, data, size);
    return 0;
}

int on_header_value(llhttp_t* state, char const* data, std::size_t size) {
    extend(output_of(state).value, data, size);
    return 0;
}

// Pauses, so that llhttp reads nothing after the head. Upgrades are never granted, so llhttp must
// not see the request for one.
int on_headers_complete(llhttp_t* state) {
    auto& output = output_of(state);
    add_field(output);
    output.headers_complete = true;
    state->upgrade = 0;
    return HPE_PAUSED;
}

int on_body(llhttp_t* state, char const* data, std::size_t size) {
    output_of(state).body->append(data, size);
    return 0;
}

int on_message_complete(llhttp_t* state) {
    output_of(state).message_complete = true;
    return HPE_PAUSED;
}

constexpr llhttp_settings_t make_callbacks() {
    llhttp_settings_t callbacks{};
    callbacks.on_url = on_url;
    callbacks.on_header_field = on_header_field;
    callbacks.on_header_value = on_header_value;
    callbacks.on_headers_complete = on_headers_complete;
    callbacks.on_body = on_body;
    callbacks.on_message_complete = on_message_complete;
    return callbacks;
}

constexpr llhttp_settings_t callbacks = make_callbacks();

// Calls `visit` for each non-empty element of the comma-separated lists (RFC 9110 §5.6.1) in all
// fields of that name.
template <class Visit>
void for_each_element(request const& head, field_name name, Visit visit) {
    if (!head.find(name)) return;
    for (auto const& entry : head.fields()) {
        if (entry.id != name) continue;
        auto rest = entry.value;
        while (!rest.empty()) {
            auto const comma = std::min(rest.find(','), rest.size());
            auto const element = trim(rest.substr(0, comma));
            if (!element.empty()) visit(element);
            rest.remove_prefix(std::min(comma + 1, rest.size()));
        }
    }
}

// RFC 9112 §9.3: `close` has precedence; HTTP/1.0 stays open only on `keep-alive`.
bool wants_keep_alive(request const& head) {
    bool close = false;
    bool keep_alive = false;
    for_each_element(head, field_name::connection, [&](std::string_view option) {
        close = close || same_token(option, "close");
        keep_alive = keep_alive || same_token(option, "keep-alive");
    });
    return !close && (head.minor_version > 0 || keep_alive);
}

// RFC 9110 §10.1.1.
void read_expectations(request const& head, framing& framing) {
    for_each_element(head, field_name::expect, [&](std::string_view expectation) {
        if (!same_token(expectation, "100-continue"))
            framing.expect_unknown = true;
        else if (head.minor_version > 0)
            framing.expect_continue = true;
    });
}

framing framing_of(request const& head, head_facts const& facts) {
    framing result;
    if (facts.chunked) {
        result.body = framing::body_kind::chunked;
    } else if (facts.content_length > 0) {
        result.body = framing::body_kind::sized;
        result.content_length = facts.content_length;
    }
    result.keep_alive = wants_keep_alive(head);
    read_expectations(head, result);
    return result;
}

// A cached field section is valid only for these request lines: each other kind changes the meaning
// of a field, or needs llhttp's reading.
bool allows_cached_section(head_facts const& facts) {
    return facts.minor_version == 1 && !facts.absolute && facts.verb != method::other;
}

void fill_request_line(std::string_view input, head_facts const& facts, request& request) {
    request.method = facts.verb;
    request.method_text = facts.method.view(input);
    request.authority = facts.authority.size > 0 ? facts.authority.view(input) : std::string_view();
    request.query = facts.query.size > 0 ? facts.query.view(input) : std::string_view();
    request.minor_version = facts.minor_version;
    request.path = facts.path.view(input);
    if (facts.path.size > 0) return;
    // An absolute form without a path: the path is "/" (RFC 9110 §4.2.3), for which the slash
    // before the authority stands in, but on OPTIONS it is "*" (RFC 9112 §3.2.4).
    auto const bare = facts.query.offset == 0;
    request.path = request.method == method::options && bare
                       ? asterisk_path
                       : input.substr(facts.authority.offset - 1, 1);
}

// llhttp refuses an unknown method and an unknown minor version, so it gets a known one instead.
// `section`: the offset after the request line.
llhttp_errno_t execute_head(llhttp_t* state, head_facts const& facts, std::size_t section,
                            std::string_view input) {
    auto rest = facts.message.view(input);
    auto outcome = HPE_OK;
    auto const execute = [&](std::string_view piece) {
        if (outcome == HPE_OK) outcome = llhttp_execute(state, piece.data(), piece.size());
    };
    if (facts.verb == method::other) {
        execute("POST");
        rest.remove_prefix(facts.method.size);
    }
    if (facts.newer_minor) {
        constexpr std::string_view minor = "1";
        auto const line_end = section - std::string_view("2\r\n").size();
        auto const size = line_end - static_cast<std::size_t>(rest.data() - input.data());
        execute(rest.substr(0, size));
        execute(minor);
        rest.remove_prefix(size + minor.size());
    }
    execute(rest);
    return outcome;
}

}  // namespace

step parser::read_head(std::string_view input, request& request, framing& framing) {
    auto const* const section = find_section(input);
    auto result = section ? fill_from_cache(*section, input, request, framing)
                          : read_section(input, request, framing);
    if (result.state != step::progress::complete) return result;
    kind_ = framing.body;
    remaining_ = framing.content_length;
    if (framing.content_length > limits_->body_bytes_max) [[unlikely]] {
        auto const consumed = result.consumed;
        result = refused(
            problem::body_too_large,
            "The body is larger than the service takes. Send less at once, in several requests.");
        result.consumed = consumed;
    }
    return result;
}

// Reads the request line, then looks the field section up in the cache.
cached_section const* parser::find_section(std::string_view input) {
    if (sections_ == nullptr || !guard_.read_request_line(input, *limits_)) return nullptr;
    if (!allows_cached_section(guard_.facts())) return nullptr;
    auto const* const section = sections_->find(slot_, input.substr(guard_.section()));
    return section != nullptr && section->size() <= limits_->header_bytes_max ? section : nullptr;
}

step parser::fill_from_cache(cached_section const& section, std::string_view input,
                             request& request, framing& framing) {
    request.clear();
    fill_request_line(input, guard_.facts(), request);
    section.fill(input.substr(guard_.section()), request);
    framing = section.framing();
    return {.state = step::progress::complete,
            .consumed = guard_.section() + section.size(),
            .problem = problem::none,
            .detail = {}};
}

step parser::read_section(std::string_view input, request& request, framing& framing) {
    switch (guard_.advance(input, *limits_)) {
        case guard::verdict::more:
            return {};
        case guard::verdict::refused:
            return refused(guard_.problem(), guard_.detail());
        case guard::verdict::complete:
            break;
    }
    request.clear();
    auto const result = parse_head(input, request);
    if (result.state != step::progress::complete) return result;
    framing = framing_of(request, guard_.facts());
    if (sections_ != nullptr && allows_cached_section(guard_.facts())) {
        auto const begin = guard_.section();
        auto const section = input.substr(begin, result.consumed - begin);
        sections_->insert(slot_, section, request, framing);
    }
    return result;
}

// The second reading, by llhttp. It must agree with the guard's on everything that decides where
// the message ends; two parsers that agree leave no room for request smuggling.
step parser::parse_head(std::string_view input, request& request) {
    auto const& facts = guard_.facts();
    fill_request_line(input, facts, request);
    static_assert(sizeof(llhttp_t) <= llhttp_bytes);
    static_assert(alignof(llhttp_t) <= alignof(std::max_align_t));
    auto* const state = new (llhttp_) llhttp_t;
    llhttp_output output{.head = &request};
    llhttp_init(state, HTTP_REQUEST, &callbacks);
    state->data = &output;
    auto const outcome = execute_head(state, facts, guard_.section(), input);
    state->data = nullptr;
    if (output.full)
        return refused(problem::headers_too_large,
                       "The request has too many fields. Leave some out.");
    if (outcome != HPE_PAUSED || !output.headers_complete)
        return refused(problem::malformed_request, "The request cannot be parsed.");
    auto const target = facts.target.view(input);
    auto const chunked = (state->flags & F_CHUNKED) != 0;
    if (output.url.data() != target.data() || output.url.size() != target.size() ||
        request.fields().size() != facts.field_count || chunked != facts.chunked ||
        llhttp_get_http_minor(state) != facts.minor_version ||
        state->content_length != facts.content_length)
        return ambiguous();
    return {.state = step::progress::complete,
            .consumed = facts.message.offset + facts.message.size,
            .problem = problem::none,
            .detail = {}};
}

step parser::read_body(std::string_view input, std::string& body, std::size_t bytes_max) {
    if (kind_ == framing::body_kind::chunked)
        return read_chunks(input, body, std::min(bytes_max, limits_->body_bytes_max));
    auto const size = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, input.size()));
    body.append(input.data(), size);
    remaining_ -= size;
    return {.state = remaining_ == 0 ? step::progress::complete : step::progress::incomplete,
            .consumed = size,
            .problem = problem::none,
            .detail = {}};
}

// llhttp gets what the guard accepted, up to the byte before the one that it refused. So the first
// invalid byte decides the answer, however the bytes arrived.
step parser::read_chunks(std::string_view input, std::string& body, std::size_t bytes_max) {
    auto* const state = std::launder(reinterpret_cast<llhttp_t*>(llhttp_));
    llhttp_output output{.body = &body};
    state->data = &output;
    llhttp_resume(state);
    auto outcome = HPE_OK;
    std::size_t consumed = 0;
    auto const verdict = chunks_.advance(input, bytes_max, consumed, [&](std::string_view piece) {
        if (outcome == HPE_OK) outcome = llhttp_execute(state, piece.data(), piece.size());
    });
    state->data = nullptr;
    auto const stopped = outcome != HPE_OK && outcome != HPE_PAUSED;
    if (stopped) return refused(problem::malformed_request, "The chunks cannot be parsed.");
    if (verdict == chunk_guard::verdict::refused)
        return refused(chunks_.problem(), chunks_.detail());
    if (output.message_complete != (verdict == chunk_guard::verdict::complete)) return ambiguous();
    return {
        .state = output.message_complete ? step::progress::complete : step::progress::incomplete,
        .consumed = consumed,
        .problem = problem::none,
        .detail = {}};
}

void parser::next() {
    guard_ = {};
    chunks_ = {};
    kind_ = framing::body_kind::none;
    remaining_ = 0;
}

}  // namespace latchkey::http
