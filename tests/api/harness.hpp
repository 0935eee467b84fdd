// A whole request at the layer's edge: bytes in, http::parser, api::exchange, the store where it
// is a write, http::write, bytes out; with time and peer as the test says. Every reply is checked
// for what all of them must have (API §1, §11), so each test of anything is a test of that too.
//
//     station at;
//     auto const made = at.ask("POST /api/v1/users", R"({"name":"Ada","email":"ada@b.c"})");
//     EXPECT_EQ(made.status, 201);
//     EXPECT_EQ(at.ask("GET /api/v1/users/9").code(), "not_found");
#pragma once

#include <gtest/gtest.h>

#include <boost/json/value.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/exchange.hpp"
#include "http/parser.hpp"
#include "tests/auth/shelf.hpp"

namespace latchkey::api {

// What came out, taken apart.
struct reply {
    int status = 0;
    std::string head;  // the status line and the field lines, each with its CRLF
    std::string body;

    std::vector<std::string> fields(std::string_view name) const;  // values; the case counts
    std::string field(std::string_view name) const;                // the first, empty when absent
    boost::json::value json() const;                               // null when it is no JSON
    std::string code() const;  // of a problem document, else empty
    // The value at a JSON pointer as text, strings with their quotes; empty when absent.
    std::string at(std::string_view pointer) const;
    std::map<std::string, std::string> faults() const;  // what each entry of `errors` names → code
    std::map<std::string, std::string> links() const;   // rel → target
    model::id id() const;                               // of the resource
};

using lines = std::vector<std::string>;

// The bytes of a request: `line` without its version, Host, `fields` as they are, and, with a body,
// its length and (unless the fields say another) the type JSON.
std::string request_text(std::string_view line, lines const& fields = {},
                         std::string_view body = {});
std::string in_chunks(std::string_view line, lines const& fields, std::string_view body);
inline std::string bearer(std::string_view key) {
    return "Authorization: Bearer " + std::string(key);
}

class station {
  public:
    // `wall`: as of auth::shelf.
    explicit station(std::int64_t (*wall)() = nullptr);

    reply send(std::string bytes);
    // With the key `key`, and without any.
    reply ask(std::string_view line, std::string_view body = {}, lines fields = {});
    // More than any test sends that is about something else.
    static constexpr std::uint32_t failures_per_minute = 2000;

    reply ask_bare(std::string_view line, std::string_view body = {}, lines const& fields = {});

    // A key of these scopes without limits, unless the record has some; its text.
    std::string add_key(std::vector<std::string_view> const& scopes = {"*"},
                        model::key record = {.rate_limits = {}});
    // Takes all tokens of the key that was added last.
    void exhaust();
    auth::uses& uses() { return uses_; }
    void report_uses();  // to the store, as a worker does every few seconds
    model::id last_key() const { return last_key_.id; }
    model::id add_user(std::string name = "Ada", std::string email = {});
    model::id add_post(model::id user, model::post_status status = model::post_status::draft,
                       std::string title = "A title");
    void remove_user(model::id id);
    void advance(std::int64_t milliseconds);

    settings rules;
    http::settings http_limits;
    peer from{.tls = true, .local = false, .client = model::address::parse("203.0.113.7")};
    base::instant now = base::read_clocks();
    std::string key;     // of scope *, unlimited; what `ask` sends
    std::string buffer;  // the last request, as the exchange left it
    std::string chunked_body;
    bool committed = false;  // the last request came as far as the store
    // What the store is to say to the next write, instead of being asked.
    std::optional<store::outcome> outcome_instead;
    in_progress running;
    api::exchange exchange;
    api::desk& desk() { return desk_; }
    store::outcome commit(store::command what);

  private:
    need take_body(http::parser& parser, std::size_t from_byte, http::response& answer);
    store::outcome apply(store::command what);
    void check(reply const& made) const;

    auth::shelf shelf_;
    store::snapshot snapshot_{shelf_.store()};
    auth::cache keys_;
    std::unique_ptr<limit::buckets> buckets_;
    limit::leases leases_{*buckets_, {.tokens = 0}};  // none, so that every token is accounted for
    std::unique_ptr<limit::failures> failures_ =
        std::make_unique<limit::failures>(failures_per_minute, 1);
    auth::seal cursors_{shelf_.store().derived_key("cursors").value()};
    std::uint64_t random_ = 42;
    auth::uses uses_;
    api::desk desk_;
    http::request request_;
    http::framing framing_;
    std::vector<std::string> secrets_;
    model::key last_key_;
    unsigned emails_ = 0;
};

// For tests that need one station each.
class api_test : public ::testing::Test {
  protected:
    station at;
};

}  // namespace latchkey::api
