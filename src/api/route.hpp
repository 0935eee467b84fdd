// The routes: one constexpr table that dispatch, OPTIONS and Allow, the access log and the tests of
// completeness read. A handler takes a `call`, which only the gate can make: no key and no
// admission, no call.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "api/operation.hpp"
#include "api/query.hpp"
#include "api/settings.hpp"
#include "api/trouble.hpp"
#include "auth/cache.hpp"
#include "auth/key_form.hpp"
#include "auth/seal.hpp"
#include "base/clock.hpp"
#include "http/request.hpp"
#include "http/response.hpp"
#include "store/command.hpp"
#include "store/snapshot.hpp"

namespace latchkey::api {

struct desk;

// An authenticated and admitted request. Views, valid until the handler returns.
class call {
  public:
    http::request const& request;
    auth::principal const& who;
    limit::decision const& quota;
    base::instant now;
    settings const& rules;
    api::query& query;              // parsed; the credential is taken out
    model::id id;                   // of the path, 0 where its pattern has none
    std::string_view event_source;  // of the path, empty where it names none

    // A new key, which `show_fn` gets when the command was committed; then it is wiped.
    std::string_view make_key() const;
    // Those of `event_source` that sign now; where they cannot be read the gate answers.
    std::optional<store::event_secrets> event_secrets() const;
    // When this worker last saw that key; 0: not of late.
    base::wall_ms last_use(model::id key) const;
    auth::seal const& cursor_seal() const;

  private:
    friend class exchange;
    call(http::request const& r, auth::principal const& p, limit::decision const& d,
         base::instant n, settings const& s, api::query& q, model::id i, std::string_view e,
         desk& a, std::optional<auth::fresh_key>& m)
        : request(r),
          who(p),
          quota(d),
          now(n),
          rules(s),
          query(q),
          id(i),
          event_source(e),
          at_(a),
          made_(m) {}

    desk& at_;
    std::optional<auth::fresh_key>& made_;
};

// Answers at once from the snapshot, or says what is wrong.
using read_fn = std::optional<trouble> (*)(call const&, store::snapshot const&, http::response&);
// Makes the command, which owns its bytes; the gate adds who asked.
using write_fn = or_trouble<store::command> (*)(call const&);
// Renders a committed outcome without reading again.
using answer_fn = void (*)(settings const&, store::outcome const&, http::response&);
// The same, with the key that `make_key` made; empty when it was shown before.
using show_fn = void (*)(settings const&, store::outcome const&, std::string_view key,
                         http::response&);
// Takes a body and answers at once.
using ask_fn = std::optional<trouble> (*)(call const&, desk&, http::response&);
// Needs no key and gets none. `rest` is what the path has behind the pattern's last slash.
using open_fn = std::optional<trouble> (*)(std::string_view rest, settings const&, http::response&);

// A further scope that a query asks for; nullopt: none.
using also_fn = std::optional<model::scope> (*)(std::string_view raw_query);

struct read {
    read_fn run;
    also_fn also = nullptr;
    // Reads the record of the path's id, which can be fetched before it is known who asks.
    std::optional<store::resource> shows = std::nullopt;
};
struct write {
    write_fn plan;
    answer_fn answer;
    bool body = true;        // takes a JSON body
    show_fn show = nullptr;  // instead of `answer`, where a key was made
    // An external service sends it: its body is kept as it came, so no credential is looked for
    // there, and a key of that one source may come by query though others may not (API §12).
    bool foreign = false;
};
struct ask {
    ask_fn run;
};
// Answers every method alike and ignores what a gateway passes on of its client's request.
struct gateway {
    std::optional<trouble> (*run)(call const&, http::response&);
};
struct open {
    open_fn run;
    bool json = false;  // not a page for people, which are exempt from Accept
};

struct route {
    http::method method;
    std::string_view pattern;  // "/api/v1/users/{id}"; {…} is one segment
    operation const& about;    // what clients are told about it; a route without does not compile
    // That the method needs; nullopt: any key will do. Meaningless for open routes.
    std::optional<model::scope> scope;
    std::variant<read, write, ask, gateway, open> run;
    bool unprefixed = false;  // answers without /api/v1 too
};

std::span<route const> routes();
// A POST or PATCH that writes: an Idempotency-Key counts there (API §9).
bool takes_idempotency_key(route const& which);

// Which route a path belongs to, whatever the method.
struct match {
    std::string_view pattern;  // empty: no such path
    bool open = false;
    bool gateway = false;
    bool unprefixed = false;  // it came without the prefix
    std::string_view
        last;  // the segment that stood for {…}; a view of the path, gone with the head
    route const* chosen = nullptr;  // the one of the method (HEAD as GET); null: 405

    std::optional<store::resource> shows() const;  // read::shows of the chosen
};
match find_route(http::method method, std::string_view path);

// The record that a request which begins so is going to read, where that is plain to see. Nothing
// is judged, so it is a guess, and good for a prefetch only.
struct foreseen {
    store::resource which;
    model::id id;
};
std::optional<foreseen> foresee(std::string_view request);

// "GET, HEAD, OPTIONS, POST": what a pattern answers, for Allow; of an empty one what any does.
std::string allowed_methods(std::string_view pattern);

// A path id is [1-9][0-9]{0,15} and at most 2^53-1.
std::optional<model::id> parse_id(std::string_view text);

inline constexpr std::string_view prefix = "/api/v1";

}  // namespace latchkey::api
