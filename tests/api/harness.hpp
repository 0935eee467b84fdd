// Whole requests at the layer's edge: bytes in, http::parser, api::exchange, the store for writes,
// http::write, bytes out; the test sets time and peer. Every reply is checked for what all replies
// must have (api.md §1, §11), so each test of anything is a test of that too.
//
//     api_fixture service;
//     auto const response = service.request("POST /api/v1/users", R"({"name":"A","email":"a@b.c"})");
//     EXPECT_EQ(response.status, 201);
//     EXPECT_EQ(service.request("GET /api/v1/users/9").code(), "not_found");
#pragma once

#include <gtest/gtest.h>

#include <boost/json/value.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/exchange/exchange.hpp"
#include "api/frame/event_stream.hpp"
#include "auth/bearer_cache.hpp"
#include "store/layout.hpp"
#include "tests/auth/temp_store.hpp"
#include "wire/http/parser.hpp"

namespace latchkey::auth {

class token_signer;

}

namespace latchkey::api {

// The bytes of a response, and its parts.
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
    std::map<std::string, std::string> faults() const;  // the place of each of `errors` → code
    std::map<std::string, std::string> links() const;   // rel → target
    model::id id() const;                               // of the resource
};

using lines = std::vector<std::string>;

std::int64_t processor_time();  // of this thread, in ns

// The bytes of a request: `line` without its version, Host, the lines of `fields`, and, with a
// body, its length and, unless the fields have a type, the type JSON.
std::string request_text(std::string_view line, lines const& fields = {},
                         std::string_view body = {});
// A path that exists, of the pattern of a route without a key.
std::string public_path(std::string_view pattern);
std::string in_chunks(std::string_view line, lines const& fields, std::string_view body);
inline std::string bearer(std::string_view key) {
    return "Authorization: Bearer " + std::string(key);
}

class api_fixture {
  public:
    // As of auth::temp_store.
    explicit api_fixture(std::int64_t (*wall)() = nullptr, std::size_t map_bytes = 64u << 20);

    reply send(std::string bytes);
    // With `key`.
    reply request(std::string_view line, std::string_view body = {}, lines fields = {});
    // Without a key.
    reply request_anonymous(std::string_view line, std::string_view body = {},
                            lines const& fields = {});

    // More than any test sends that is not about this limit.
    static constexpr std::uint32_t failures_per_minute = 2000;

    // Adds a key with these scopes, and without limits unless the record has some; returns its
    // text.
    std::string add_key(std::vector<std::string_view> const& scopes = {"*"},
                        model::key record = {.rate_limits = {}});
    // From now on JWTs of that issuer are accepted.
    void accept_tokens_of(auth::token_signer const& signer);
    // Null: from now on none are.
    void accept_tokens_of(std::shared_ptr<auth::bearer_issuers const> issuers);
    // Adds a record for tokens of that issuer with that subject.
    model::key add_bearer(auth::token_signer const& signer, std::string subject,
                          std::vector<std::string_view> const& scopes = {"*"},
                          model::key record = {.rate_limits = {}});
    auth::bearer_cache const& tokens() const { return tokens_; }
    // Takes all tokens of the last key that was added.
    void exhaust();
    auth::usage_counter& uses() { return uses_; }
    void report_uses();  // writes them to the store, as a worker does every few seconds
    model::id last_key() const { return last_key_.id; }
    model::id last_id_of_keys();  // of all in the store
    model::id add_user(std::string name = "Ada", std::string email = {});
    model::id add_post(model::id user, model::post_status status = model::post_status::draft,
                       std::string title = "A title");
    void remove_user(model::id id);
    // Damages the record, so that it cannot be read.
    void damage_user(model::id id);
    void damage_key(model::id id);
    void advance(std::int64_t milliseconds);

    api::settings settings;
    http::size_limits http_limits;
    api::peer peer{.tls = true, .local = false, .client = model::address::parse("203.0.113.7")};
    base::instant now = base::read_clocks();
    std::string key;     // of scope *, unlimited
    std::string buffer;  // the last request, as the exchange left it
    std::string chunked_body;
    bool committed = false;  // the last request reached the store
    unsigned turns = 1;      // that the last request took
    // Of the dearest of them: what it read, in ns (store::read_work), and its processor time.
    std::int64_t turn_cost = 0, turn_ns = 0;
    std::int64_t commit_ns = 0;  // processor time of its commit
    bool same_turn = false;      // the next request uses the same snapshot
    // The outcome of the next write, which then does not reach the store.
    std::optional<domain::outcome> next_outcome;
    in_progress running;
    api::exchange exchange;
    std::size_t open_streams() const { return slots_.open(); }
    api::request_services& services() { return services_; }
    domain::outcome commit(domain::command command);
    // At most 64, in one transaction; each succeeds.
    void commit_all(std::vector<domain::command> commands);

  private:
    next_step take_body(http::parser& parser, std::size_t from_byte, http::response& response);
    domain::outcome apply(domain::command command);
    void damage(store::table table, std::string_view record_key);
    void check(reply const& response) const;

    auth::temp_store temp_store_;
    domain::snapshot snapshot_{temp_store_.store()};
    auth::cache keys_;
    auth::bearer_cache tokens_{keys_};
    std::unique_ptr<limit::buckets> buckets_;
    limit::leases leases_{*buckets_, {.tokens = 0}};  // no leases, so that every token is counted
    std::unique_ptr<limit::auth_failure_limiter> failures_ =
        std::make_unique<limit::auth_failure_limiter>(failures_per_minute, 1);
    auth::session_cipher sessions_{temp_store_.store().derived_key("browser sessions").value()};
    auth::mac cursors_{temp_store_.store().derived_key("cursors").value()};
    std::uint64_t random_ = 42;
    auth::usage_counter uses_;
    stream_slots slots_;
    event_streams streams_{slots_};
    api::request_services services_;
    http::request request_;
    http::framing framing_;
    std::vector<std::string> secrets_;
    model::key last_key_;
    unsigned emails_ = 0;
};

// For tests that need a service each.
class api_test : public ::testing::Test {
  protected:
    api_fixture service;
};

}  // namespace latchkey::api
