// What visitors ask, and the bytes that answer it.
#include <cstdio>
#include <utility>

#include "visitor.hpp"

namespace latchkey::fake {
namespace {

constexpr std::size_t timestamp_bytes = 24;
constexpr std::string_view overloaded_detail =
    "The service has more to do than it can. Wait as long as Retry-After says.";
constexpr std::string_view in_progress_detail =
    "The first request with this Idempotency-Key has not ended. Wait, then send it again.";
constexpr std::string_view timeout_detail =
    "The request took too long to arrive. Send it again, in one go.";

std::string user_json(std::string const& id, std::string const& name, std::string const& email) {
    return "{\"id\":" + id + ",\"name\":\"" + name + "\",\"email\":\"" + email +
           "\",\"created_at\":\"" + any(timestamp_bytes) + "\",\"updated_at\":\"" +
           any(timestamp_bytes) + "\"}";
}

std::string post_json(std::string const& id, int user, std::string const& title,
                      std::string const& body) {
    return "{\"id\":" + id + ",\"user_id\":" + std::to_string(user) + ",\"title\":\"" + title +
           "\",\"body\":\"" + body +
           "\",\"status\":\"draft\",\"published_at\":null,\"created_at\":\"" +
           any(timestamp_bytes) + "\",\"updated_at\":\"" + any(timestamp_bytes) + "\"}";
}

std::string list_of(std::string const& records, int total, int limit) {
    auto const number = std::to_string(total);
    return "{\"data\":[" + records +
           "],\"pagination\":{\"page\":1,\"limit\":" + std::to_string(limit) +
           ",\"total\":" + number + ",\"total_pages\":1,\"has_more\":false,\"next_cursor\":null}}";
}

std::string tag() {
    return std::string("ETag: \"") + anything + "\"\r\n";
}

std::string list_fields(std::string const& path) {
    auto const link = [&](char const* what) {
        return "<" + path + ">; rel=\"" + std::string(what) + "\"";
    };
    return std::string("ETag: W/\"") + anything + "\"\r\nLink: " + link("first") + ", " +
           link("last") + "\r\n";
}

// Ids of one, two and three digits: an answer's length is known for each.
constexpr std::size_t id_digits_max = 3;

}  // namespace

std::string visitor::next_id() {
    auto number = std::to_string(++crowd_.requests_);
    return "request-" + std::string(6 - number.size(), '0') + number;
}

std::string visitor::head(std::string_view line, std::string_view id, std::string_view more) {
    return std::string(line) + " HTTP/1.1\r\nHost: here.example\r\nX-API-Key: " + std::string(key) +
           "\r\nX-Forwarded-Proto: https\r\nX-Request-Id: " + std::string(id) + "\r\n" +
           std::string(more) + "\r\n";
}

// Its length told first, or in chunks.
std::string visitor::with_body(std::string_view line, std::string_view id, std::string const& body,
                               std::string_view more) {
    auto fields = "Content-Type: application/json\r\n" + std::string(more);
    if (world_.chance(600))
        return head(line, id, fields + "Content-Length: " + std::to_string(body.size()) + "\r\n") +
               body;
    auto text = head(line, id, fields + "Transfer-Encoding: chunked\r\n");
    for (std::size_t at = 0; at < body.size();) {
        auto const piece = body.substr(at, 1 + world_.below(10'000));
        char size[16];
        std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
        text += size + piece + "\r\n";
        at += piece.size();
    }
    return text + "0\r\n\r\n";
}

void visitor::expect(exchange& of, made_answer as_asked) {
    if (!of.last) {
        of.expected.may_be(text_of(as_asked));
        of.possibilities.push_back({turn_out::as_asked, false});
    }
    as_asked.close = true;
    of.expected.may_be(text_of(as_asked));
    of.possibilities.push_back({turn_out::as_asked, true});
}

// What a write may come to besides.
void visitor::expect_refusals(exchange& of, std::string_view request_id) {
    auto full = problem_answer("503 Service Unavailable", "overloaded", "The service is overloaded",
                               overloaded_detail, request_id);
    full.fields = "Retry-After: 1\r\n";
    for (bool const close : {false, true}) {
        full.close = close;
        of.expected.may_be(text_of(full));
        of.possibilities.push_back({turn_out::overloaded, close});
    }
}

visitor::exchange visitor::make() {
    switch (world_.below(20)) {
        case 0:
            return malformed();
        case 1:
            return too_large();
        case 2:
            return world_.chance(200) ? half_a_head() : read_user();
        case 3:
            return world_.chance(200) ? half_a_body() : read_user();
        case 4:
        case 5:
            return make_post(world_.below(1 << world_.below(17)));
        case 6:
        case 7:
            return make_user();
        case 8:
        case 9:
            return find_user();
        case 10:
            return read_posts();
        case 11:
            return read_nothing();
        default:
            return read_user();
    }
}

visitor::exchange visitor::read_user() {
    exchange made;
    auto const id = next_id();
    int const user = 1 + static_cast<int>(world_.below(users));
    bool const only_head = world_.chance(200);
    made.last = world_.chance(50);
    made.request =
        head((only_head ? "HEAD /api/v1/users/" : "GET /api/v1/users/") + std::to_string(user), id,
             made.last ? "Connection: close\r\n" : "");
    made_answer right;
    right.fields = tag();
    right.request_id = id;
    right.body = user_json(std::to_string(user), user_name(user), user_email(user));
    right.head = only_head;
    expect(made, right);
    return made;
}

// A long one: many buffers, several sends.
visitor::exchange visitor::read_posts() {
    exchange made;
    auto const id = next_id();
    made.request = head("GET /api/v1/posts?user_id=1&limit=100", id);
    made_answer right;
    right.fields = list_fields("/api/v1/posts?page=1&limit=100&user_id=1");
    right.request_id = id;
    std::string records;
    for (int post = 1; post <= posts; ++post)
        records += (post == 1 ? "" : ",") + post_json(std::to_string(post), 1,
                                                      "Post number " + std::to_string(post),
                                                      post_body(post));
    right.body = list_of(records, posts, 100);
    expect(made, right);
    return made;
}

visitor::exchange visitor::read_nothing() {
    exchange made;
    auto const id = next_id();
    made.request = head("GET /api/v1/users/999999", id);
    expect(made, problem_answer("404 Not Found", "not_found", "There is no such resource",
                                "there is no user with this id", id));
    return made;
}

// Whoever has been told that it was made must find it, on any connection.
visitor::exchange visitor::find_user() {
    std::vector<std::shared_ptr<creation>> told;
    for (auto const& each : crowd_.creations_)
        if (!each->id.empty()) told.push_back(each);
    if (told.empty()) return read_user();
    auto const& wanted = *told[world_.below(told.size())];
    exchange made;
    auto const id = next_id();
    made.request = head("GET /api/v1/users?email=" + wanted.email, id);
    made_answer right;
    auto const name = wanted.email.substr(0, wanted.email.find('@'));
    right.fields = list_fields("/api/v1/users?page=1&limit=20&email=" + name + "%40example.com");
    right.request_id = id;
    right.body = list_of(user_json(wanted.id, wanted.name, wanted.email), 1, 20);
    expect(made, right);
    return made;
}

visitor::exchange visitor::make_user() {
    auto what = std::make_shared<creation>();
    auto const number = std::to_string(++crowd_.names_);
    what->name = "Newcomer " + number;
    what->email = "new" + number + "@example.com";
    if (world_.chance(500)) what->once = "once-" + number;
    crowd_.creations_.push_back(what);
    return creation_of(std::move(what), false);
}

visitor::exchange visitor::creation_of(std::shared_ptr<creation> what, bool again) {
    exchange made;
    auto const id = next_id();
    auto const body = "{\"name\":\"" + what->name + "\",\"email\":\"" + what->email + "\"}";
    std::string more;
    if (!what->once.empty()) more = "Idempotency-Key: " + what->once + "\r\n";
    bool const asks_first = world_.chance(100);
    if (asks_first) more += "Expect: 100-continue\r\n";
    made.request = with_body("POST /api/v1/users", id, body, more);
    made_answer right;
    right.status = "201 Created";
    right.cache = "no-store";
    right.request_id = id;
    auto const with_variants = [&](std::string const& before) {
        for (std::size_t digits = 1; digits <= id_digits_max; ++digits) {
            right.fields = "Location: /api/v1/users/" + any(digits) + "\r\n" + tag();
            right.body = user_json(any(digits), what->name, what->email);
            for (bool const close : {false, true}) {
                right.close = close;
                made.expected.may_be(before + text_of(right));
                made.possibilities.push_back({turn_out::as_asked, close});
            }
        }
    };
    with_variants("");
    if (asks_first) with_variants("HTTP/1.1 100 Continue\r\n\r\n");
    if (again) {
        right.later_fields += "Idempotency-Replayed: true\r\n";
        with_variants("");
        if (asks_first) with_variants("HTTP/1.1 100 Continue\r\n\r\n");
        for (bool const close : {false, true}) {
            auto busy =
                problem_answer("409 Conflict", "idempotency_in_progress",
                               "The first request is still running", in_progress_detail, id);
            busy.close = close;
            made.expected.may_be(text_of(busy));
            made.possibilities.push_back({turn_out::in_progress, close});
        }
    }
    made.creates = std::move(what);
    expect_refusals(made, id);
    return made;
}

// Its body comes back, so that each of its bytes is seen to have arrived.
visitor::exchange visitor::make_post(std::size_t size) {
    exchange made;
    auto const id = next_id();
    std::string text;
    while (text.size() < size) text += static_cast<char>('a' + world_.below(26));
    auto const title = "Post of " + id;
    made.request =
        with_body("POST /api/v1/posts", id,
                  "{\"user_id\":2,\"title\":\"" + title + "\",\"body\":\"" + text + "\"}", "");
    made_answer right;
    right.status = "201 Created";
    right.cache = "no-store";
    right.request_id = id;
    for (std::size_t digits = 1; digits <= id_digits_max; ++digits) {
        right.fields = "Location: /api/v1/posts/" + any(digits) + "\r\n" + tag();
        right.body = post_json(any(digits), 2, title, text);
        right.close = false;
        expect(made, right);
    }
    expect_refusals(made, id);
    return made;
}

visitor::exchange visitor::too_large() {
    exchange made;
    made.request = head("POST /api/v1/posts", next_id(),
                        "Content-Type: application/json\r\nContent-Length: 2000000\r\n") +
                   std::string(world_.below(50'000), 'x');
    made.last = true;
    made.cut_short = true;
    expect(made, unparsed_answer("413 Content Too Large", "body_too_large", "The body is too large",
                                 "The body is too large."));
    return made;
}

visitor::exchange visitor::malformed() {
    exchange made;
    made.request = "GET / HTTP/1.1\r\nHost: here.example\r\nNot a field\r\n\r\n";
    made.last = true;
    expect(made, unparsed_answer("400 Bad Request", "malformed_request",
                                 "The request is not well-formed HTTP",
                                 "A field name holds a byte that is not allowed."));
    return made;
}

visitor::exchange visitor::half_a_head() {
    exchange made;
    auto const whole = head("GET /api/v1/users/1", next_id());
    made.request = whole.substr(0, 1 + world_.below(whole.size() - 1));
    made.last = made.cut_short = true;
    expect(made, unparsed_answer("408 Request Timeout", "request_timeout",
                                 "The request did not arrive in time", timeout_detail));
    return made;
}

visitor::exchange visitor::half_a_body() {
    exchange made;
    auto const id = next_id();
    made.request = head("POST /api/v1/posts", id,
                        "Content-Type: application/json\r\nContent-Length: 20000\r\n") +
                   std::string(world_.below(19'000), ' ');
    made.last = made.cut_short = true;
    expect(made, problem_answer("408 Request Timeout", "request_timeout",
                                "The request did not arrive in time", timeout_detail, id));
    return made;
}

}  // namespace latchkey::fake
