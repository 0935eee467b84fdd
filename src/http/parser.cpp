#include "http/parser.hpp"

#include <llhttp.h>

#include <algorithm>
#include <new>

#include "http/bytes.hpp"

namespace latchkey::http {
namespace {

using base::problem;

step refused(base::problem what, std::string_view detail) {
    return {.state = step::state::refused, .consumed = 0, .problem = what, .detail = detail};
}

// When guard and llhttp understand a head differently, so may others on its way: nobody may act on
// it (RFC 9112 §11.2).
step ambiguous() {
    return refused(problem::malformed_request, "The request is ambiguous.");
}

// What one call of llhttp_execute reports to, by llhttp_t::data.
struct sink {
    request* into = nullptr;      // while a head is read
    std::string* body = nullptr;  // while a body is
    std::string_view url;
    std::string_view name;
    std::string_view value;
    bool headers_complete = false;
    bool message_complete = false;
    bool full = false;
};

sink& sink_of(llhttp_t* state) {
    return *static_cast<sink*>(state->data);
}

// llhttp may report an element in adjacent pieces.
void extend(std::string_view& view, char const* at, std::size_t size) {
    if (view.data() != nullptr && view.data() + view.size() == at)
        view = {view.data(), view.size() + size};
    else
        view = {at, size};
}

void add_field(sink& to) {
    if (to.name.data() == nullptr) return;
    if (!to.into->add(to.name, trim(to.value))) to.full = true;
    to.name = to.value = {};
}

int on_url(llhttp_t* state, char const* at, std::size_t size) {
    extend(sink_of(state).url, at, size);
    return 0;
}

int on_header_field(llhttp_t* state, char const* at, std::size_t size) {
    auto& to = sink_of(state);
    if (to.value.data() != nullptr) add_field(to);
    extend(to.name, at, size);
    return 0;
}

int on_header_value(llhttp_t* state, char const* at, std::size_t size) {
    extend(sink_of(state).value, at, size);
    return 0;
}

// Pauses, so that whatever follows the head stays untouched. Upgrades are never granted: to llhttp
// the request must look as if it had asked for none.
int on_headers_complete(llhttp_t* state) {
    auto& to = sink_of(state);
    add_field(to);
    to.headers_complete = true;
    state->upgrade = 0;
    return HPE_PAUSED;
}

int on_body(llhttp_t* state, char const* at, std::size_t size) {
    sink_of(state).body->append(at, size);
    return 0;
}

int on_message_complete(llhttp_t* state) {
    sink_of(state).message_complete = true;
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

// Calls `visit` for each element of a comma-separated list (RFC 9110 §5.6.1) in all fields of that
// name, empty elements left out.
template <class Visit>
void for_each_element(request const& head, field_name name, Visit visit) {
    if (!head.find(name)) return;
    for (auto const& entry : head.fields()) {
        if (entry.known != name) continue;
        auto rest = entry.value;
        while (!rest.empty()) {
            auto const comma = std::min(rest.find(','), rest.size());
            auto const element = trim(rest.substr(0, comma));
            if (!element.empty()) visit(element);
            rest.remove_prefix(std::min(comma + 1, rest.size()));
        }
    }
}

// RFC 9112 §9.3: `close` beats everything; 1.0 stays open only if asked to.
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
void read_expectations(request const& head, framing& how) {
    for_each_element(head, field_name::expect, [&](std::string_view expectation) {
        if (!same_token(expectation, "100-continue"))
            how.expect_unknown = true;
        else if (head.minor_version > 0)
            how.expect_continue = true;
    });
}

framing framing_of(request const& head, head_facts const& facts) {
    framing how;
    if (facts.chunked) {
        how.body = framing::body_kind::chunked;
    } else if (facts.content_length > 0) {
        how.body = framing::body_kind::sized;
        how.content_length = facts.content_length;
    }
    how.keep_alive = wants_keep_alive(head);
    read_expectations(head, how);
    return how;
}

// A request line beside which a field section means the same as beside any other such.
bool is_usual(head_facts const& facts) {
    return facts.minor_version == 1 && !facts.absolute && facts.verb != method::other;
}

void fill_request_line(std::string_view input, head_facts const& facts, request& into) {
    into.method = facts.verb;
    into.method_text = facts.method.in(input);
    into.authority = facts.authority.size > 0 ? facts.authority.in(input) : std::string_view();
    into.query = facts.query.size > 0 ? facts.query.in(input) : std::string_view();
    into.minor_version = facts.minor_version;
    into.path = facts.path.in(input);
    if (facts.path.size > 0) return;
    // An absolute form without a path: the path is "/" (RFC 9110 §4.2.3), for which the slash
    // before the authority stands in, but on OPTIONS it is "*" (RFC 9112 §3.2.4).
    auto const bare = facts.query.at == 0;
    into.path = into.method == method::options && bare ? asterisk_path
                                                       : input.substr(facts.authority.at - 1, 1);
}

}  // namespace

step parser::read_head(std::string_view input, request& into, framing& how) {
    auto const* const seen = find_section(input);
    auto const result = seen ? take_over(*seen, input, into, how) : read_section(input, into, how);
    if (result.state != step::state::complete) return result;
    if (how.content_length > limits_->body_bytes_max)
        return refused(problem::body_too_large, "The body is too large.");
    kind_ = how.body;
    remaining_ = how.content_length;
    return result;
}

// Reads the request line and looks whether the section behind it was read before.
known_section const* parser::find_section(std::string_view input) {
    if (sections_ == nullptr || !guard_.read_request_line(input, *limits_)) return nullptr;
    if (!is_usual(guard_.facts())) return nullptr;
    auto const* const seen = sections_->find(place_, input.substr(guard_.section()));
    return seen != nullptr && seen->size() <= limits_->header_bytes_max ? seen : nullptr;
}

step parser::take_over(known_section const& seen, std::string_view input, request& into,
                       framing& how) {
    into.clear();
    fill_request_line(input, guard_.facts(), into);
    seen.show(input.substr(guard_.section()), into);
    how = seen.how();
    return {.state = step::state::complete,
            .consumed = guard_.section() + seen.size(),
            .problem = problem::none,
            .detail = {}};
}

step parser::read_section(std::string_view input, request& into, framing& how) {
    switch (guard_.advance(input, *limits_)) {
        case guard::verdict::more:
            return {};
        case guard::verdict::refused:
            return refused(guard_.problem(), guard_.detail());
        case guard::verdict::complete:
            break;
    }
    into.clear();
    auto const result = parse_head(input, into);
    if (result.state != step::state::complete) return result;
    how = framing_of(into, guard_.facts());
    if (sections_ != nullptr && is_usual(guard_.facts())) {
        auto const begin = guard_.section();
        auto const section = input.substr(begin, result.consumed - begin);
        sections_->keep(place_, section, into, how);
    }
    return result;
}

// The second reading, by llhttp. It must agree with the guard's on everything that decides where
// the message ends.
step parser::parse_head(std::string_view input, request& into) {
    auto const& facts = guard_.facts();
    fill_request_line(input, facts, into);
    static_assert(sizeof(llhttp_t) <= llhttp_bytes);
    static_assert(alignof(llhttp_t) <= alignof(std::max_align_t));
    auto* const state = new (llhttp_) llhttp_t;
    sink to{.into = &into};
    llhttp_init(state, HTTP_REQUEST, &callbacks);
    state->data = &to;
    auto const message = facts.message.in(input);
    auto const outcome = llhttp_execute(state, message.data(), message.size());
    state->data = nullptr;
    if (to.full) return refused(problem::headers_too_large, "The request has too many fields.");
    if (outcome != HPE_PAUSED || !to.headers_complete)
        return refused(problem::malformed_request, "The request cannot be parsed.");
    auto const target = facts.target.in(input);
    auto const chunked = (state->flags & F_CHUNKED) != 0;
    if (to.url.data() != target.data() || to.url.size() != target.size() ||
        into.fields().size() != facts.field_count || chunked != facts.chunked ||
        llhttp_get_http_minor(state) != facts.minor_version ||
        state->content_length != facts.content_length)
        return ambiguous();
    return {.state = step::state::complete,
            .consumed = facts.message.at + facts.message.size,
            .problem = problem::none,
            .detail = {}};
}

step parser::read_body(std::string_view input, std::string& body, std::size_t bytes_max) {
    if (kind_ == framing::body_kind::chunked)
        return read_chunks(input, body, std::min(bytes_max, limits_->body_bytes_max));
    auto const size = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, input.size()));
    body.append(input.data(), size);
    remaining_ -= size;
    return {.state = remaining_ == 0 ? step::state::complete : step::state::incomplete,
            .consumed = size,
            .problem = problem::none,
            .detail = {}};
}

// llhttp is shown what the guard let through, up to the byte before the one that it refused, so
// that the first wrong byte decides the answer, however the bytes arrived.
step parser::read_chunks(std::string_view input, std::string& body, std::size_t bytes_max) {
    auto* const state = std::launder(reinterpret_cast<llhttp_t*>(llhttp_));
    sink to{.body = &body};
    state->data = &to;
    llhttp_resume(state);
    auto outcome = HPE_OK;
    std::size_t taken = 0;
    auto const verdict = chunks_.advance(input, bytes_max, taken, [&](std::string_view piece) {
        if (outcome == HPE_OK) outcome = llhttp_execute(state, piece.data(), piece.size());
    });
    state->data = nullptr;
    auto const stopped = outcome != HPE_OK && outcome != HPE_PAUSED;
    if (stopped) return refused(problem::malformed_request, "The chunks cannot be parsed.");
    if (verdict == chunk_guard::verdict::refused)
        return refused(chunks_.problem(), chunks_.detail());
    if (to.message_complete != (verdict == chunk_guard::verdict::complete)) return ambiguous();
    return {.state = to.message_complete ? step::state::complete : step::state::incomplete,
            .consumed = taken,
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
