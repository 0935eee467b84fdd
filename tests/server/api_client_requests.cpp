// What clients request, and the bytes of the responses.
#include <cstdio>
#include <utility>

#include "api_client.hpp"

namespace latchkey::fake {
namespace {

constexpr std::size_t timestamp_bytes = 24;
constexpr std::string_view overloaded_detail =
    "The service is overloaded. Wait as long as Retry-After says.";
constexpr std::string_view in_progress_detail =
    "The first request with this Idempotency-Key is still running. Wait until it has ended, then "
    "send "
    "this one again.";
constexpr std::string_view timeout_detail =
    "The request took too long to arrive. Send it again without pauses.";

std::string user_json(std::string const& id, std::string const& name, std::string const& email) {
    return "{\"id\":" + id + ",\"name\":\"" + name + "\",\"email\":\"" + email +
           "\",\"created_at\":\"" + any_bytes(timestamp_bytes) + "\",\"updated_at\":\"" +
           any_bytes(timestamp_bytes) + "\"}";
}

std::string post_json(std::string const& id, int user, std::string const& title,
                      std::string const& body) {
    return "{\"id\":" + id + ",\"user_id\":" + std::to_string(user) + ",\"title\":\"" + title +
           "\",\"body\":\"" + body +
           "\",\"status\":\"draft\",\"published_at\":null,\"created_at\":\"" +
           any_bytes(timestamp_bytes) + "\",\"updated_at\":\"" + any_bytes(timestamp_bytes) + "\"}";
}

std::string list_of(std::string const& records, int total, int limit) {
    auto const number = std::to_string(total);
    return "{\"data\":[" + records +
           "],\"pagination\":{\"page\":1,\"limit\":" + std::to_string(limit) +
           ",\"total\":" + number + ",\"total_pages\":1,\"has_more\":false,\"next_cursor\":null}}";
}

std::string tag() {
    return std::string("ETag: \"") + any_text + "\"\r\n";
}

std::string list_fields(std::string const& path) {
    auto const link = [&](char const* relation) {
        return "<" + path + ">; rel=\"" + std::string(relation) + "\"";
    };
    return std::string("ETag: W/\"") + any_text + "\"\r\nLink: " + link("first") + ", " +
           link("last") + "\r\n";
}

// Ids of one, two and three digits: the length of a response is known for each.
constexpr std::size_t id_digits_max = 3;

}  // namespace

std::string api_client::next_id() {
    auto number = std::to_string(++clients_.requests_);
    return "request-" + std::string(6 - number.size(), '0') + number;
}

std::string api_client::head(std::string_view line, std::string_view id, std::string_view fields) {
    return std::string(line) + " HTTP/1.1\r\nHost: here.example\r\nX-API-Key: " + std::string(key) +
           "\r\nX-Forwarded-Proto: https\r\nX-Request-Id: " + std::string(id) + "\r\n" +
           std::string(fields) + "\r\n";
}

// With its length, or in chunks.
std::string api_client::with_body(std::string_view line, std::string_view id,
                                  std::string const& body, std::string_view extra_fields) {
    auto const fields = "Content-Type: application/json\r\n" + std::string(extra_fields);
    if (world_.chance(600))
        return head(line, id, fields + "Content-Length: " + std::to_string(body.size()) + "\r\n") +
               body;
    auto text = head(line, id, fields + "Transfer-Encoding: chunked\r\n");
    for (std::size_t position = 0; position < body.size();) {
        auto const piece = body.substr(position, 1 + world_.below(10'000));
        char size[16];
        std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
        text += size + piece + "\r\n";
        position += piece.size();
    }
    return text + "0\r\n\r\n";
}

void api_client::expect(planned_request& request, response_text response) {
    if (!request.last) {
        request.expected.add_alternative(text_of(response));
        request.alternatives.push_back({result::success, false});
    }
    response.close = true;
    request.expected.add_alternative(text_of(response));
    request.alternatives.push_back({result::success, true});
}

// How a write may fail.
void api_client::expect_refusals(planned_request& request, std::string_view request_id) {
    auto full = problem_response("503 Service Unavailable", "overloaded",
                                 "The service is overloaded", overloaded_detail, request_id);
    full.fields = "Retry-After: 1\r\n";
    for (bool const close : {false, true}) {
        full.close = close;
        request.expected.add_alternative(text_of(full));
        request.alternatives.push_back({result::overloaded, close});
    }
}

api_client::planned_request api_client::choose_request() {
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
            return create_post(world_.below(1 << world_.below(17)));
        case 6:
        case 7:
            return create_new_user();
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

api_client::planned_request api_client::read_user() {
    planned_request request;
    auto const id = next_id();
    int const user = 1 + static_cast<int>(world_.below(users));
    bool const only_head = world_.chance(200);
    request.last = world_.chance(50);
    request.text =
        head((only_head ? "HEAD /api/v1/users/" : "GET /api/v1/users/") + std::to_string(user), id,
             request.last ? "Connection: close\r\n" : "");
    response_text expected;
    expected.fields = tag();
    expected.request_id = id;
    expected.body = user_json(std::to_string(user), user_name(user), user_email(user));
    expected.head = only_head;
    expect(request, expected);
    return request;
}

// A long response: many buffers, several sends.
api_client::planned_request api_client::read_posts() {
    planned_request request;
    auto const id = next_id();
    request.text = head("GET /api/v1/posts?user_id=1&limit=100", id);
    response_text expected;
    expected.fields = list_fields("/api/v1/posts?page=1&limit=100&user_id=1");
    expected.request_id = id;
    std::string records;
    for (int post = 1; post <= posts; ++post)
        records += (post == 1 ? "" : ",") + post_json(std::to_string(post), 1,
                                                      "Post number " + std::to_string(post),
                                                      post_body(post));
    expected.body = list_of(records, posts, 100);
    expect(request, expected);
    return request;
}

api_client::planned_request api_client::read_nothing() {
    planned_request request;
    auto const id = next_id();
    request.text = head("GET /api/v1/users/999999", id);
    expect(request, problem_response("404 Not Found", "not_found", "There is no such resource",
                                     "There is no user with this id.", id));
    return request;
}

// An acknowledged user is found, on any connection.
api_client::planned_request api_client::find_user() {
    std::vector<std::shared_ptr<user_creation>> known_users;
    for (auto const& each : clients_.creations_)
        if (!each->id.empty()) known_users.push_back(each);
    if (known_users.empty()) return read_user();
    auto const& user = *known_users[world_.below(known_users.size())];
    planned_request request;
    auto const id = next_id();
    request.text = head("GET /api/v1/users?email=" + user.email, id);
    response_text expected;
    auto const name = user.email.substr(0, user.email.find('@'));
    expected.fields = list_fields("/api/v1/users?page=1&limit=20&email=" + name + "%40example.com");
    expected.request_id = id;
    expected.body = list_of(user_json(user.id, user.name, user.email), 1, 20);
    expect(request, expected);
    return request;
}

api_client::planned_request api_client::create_new_user() {
    return create_user(clients_.plan_creation(), false);
}

api_client::planned_request api_client::create_user(std::shared_ptr<user_creation> user,
                                                    bool repeated) {
    planned_request request;
    auto const id = next_id();
    auto const body = "{\"name\":\"" + user->name + "\",\"email\":\"" + user->email + "\"}";
    std::string fields;
    if (!user->idempotency_key.empty())
        fields = "Idempotency-Key: " + user->idempotency_key + "\r\n";
    bool const expects_continue = world_.chance(100);
    if (expects_continue) fields += "Expect: 100-continue\r\n";
    request.text = with_body("POST /api/v1/users", id, body, fields);
    response_text expected;
    expected.status = "201 Created";
    expected.cache = "no-store";
    expected.request_id = id;
    auto const with_variants = [&](std::string const& prefix) {
        for (std::size_t digits = 1; digits <= id_digits_max; ++digits) {
            expected.fields = "Location: /api/v1/users/" + any_bytes(digits) + "\r\n" + tag();
            expected.body = user_json(any_bytes(digits), user->name, user->email);
            for (bool const close : {false, true}) {
                expected.close = close;
                request.expected.add_alternative(prefix + text_of(expected));
                request.alternatives.push_back({result::success, close});
            }
        }
    };
    with_variants("");
    if (expects_continue) with_variants("HTTP/1.1 100 Continue\r\n\r\n");
    if (repeated) {
        expected.later_fields += "Idempotency-Replayed: true\r\n";
        with_variants("");
        if (expects_continue) with_variants("HTTP/1.1 100 Continue\r\n\r\n");
        for (bool const close : {false, true}) {
            auto in_progress =
                problem_response("409 Conflict", "idempotency_in_progress",
                                 "The first request is still running", in_progress_detail, id);
            in_progress.close = close;
            request.expected.add_alternative(text_of(in_progress));
            request.alternatives.push_back({result::in_progress, close});
        }
    }
    request.creation = std::move(user);
    expect_refusals(request, id);
    return request;
}

// The response repeats the body, so that each of its bytes is checked.
api_client::planned_request api_client::create_post(std::size_t size) {
    planned_request request;
    auto const id = next_id();
    std::string text;
    while (text.size() < size) text += static_cast<char>('a' + world_.below(26));
    auto const title = "Post of " + id;
    request.text =
        with_body("POST /api/v1/posts", id,
                  "{\"user_id\":2,\"title\":\"" + title + "\",\"body\":\"" + text + "\"}", "");
    response_text expected;
    expected.status = "201 Created";
    expected.cache = "no-store";
    expected.request_id = id;
    for (std::size_t digits = 1; digits <= id_digits_max; ++digits) {
        expected.fields = "Location: /api/v1/posts/" + any_bytes(digits) + "\r\n" + tag();
        expected.body = post_json(any_bytes(digits), 2, title, text);
        expected.close = false;
        expect(request, expected);
    }
    expect_refusals(request, id);
    return request;
}

api_client::planned_request api_client::too_large() {
    planned_request request;
    request.text = head("POST /api/v1/posts", next_id(),
                        "Content-Type: application/json\r\nContent-Length: 2000000\r\n") +
                   std::string(world_.below(50'000), 'x');
    request.last = true;
    request.cut_short = true;
    expect(request,
           unparsed_response("413 Content Too Large", "body_too_large", "The body is too large",
                             "The body has more than 1048576 bytes, the limit of this request. "
                             "Send less at once, in several requests."));
    return request;
}

api_client::planned_request api_client::malformed() {
    planned_request request;
    request.text = "GET / HTTP/1.1\r\nHost: here.example\r\nNot a field\r\n\r\n";
    request.last = true;
    expect(request, unparsed_response("400 Bad Request", "malformed_request",
                                      "The request is not well-formed HTTP",
                                      "A field name holds a byte that is not allowed."));
    return request;
}

api_client::planned_request api_client::half_a_head() {
    planned_request request;
    auto const whole = head("GET /api/v1/users/1", next_id());
    request.text = whole.substr(0, 1 + world_.below(whole.size() - 1));
    request.last = request.cut_short = true;
    expect(request, unparsed_response("408 Request Timeout", "request_timeout",
                                      "The request did not arrive in time", timeout_detail));
    return request;
}

api_client::planned_request api_client::half_a_body() {
    planned_request request;
    auto const id = next_id();
    request.text = head("POST /api/v1/posts", id,
                        "Content-Type: application/json\r\nContent-Length: 20000\r\n") +
                   std::string(world_.below(19'000), ' ');
    request.last = request.cut_short = true;
    expect(request, problem_response("408 Request Timeout", "request_timeout",
                                     "The request did not arrive in time", timeout_detail, id));
    return request;
}

}  // namespace latchkey::fake
