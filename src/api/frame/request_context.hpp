// An authenticated and admitted request, as handlers get it. Only `exchange` can make one, so that
// no handler runs without a key and an admission.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "api/frame/api_error.hpp"
#include "api/frame/checks/credential.hpp"
#include "api/frame/checks/query.hpp"
#include "api/frame/settings.hpp"
#include "auth/browser_session.hpp"
#include "auth/cache.hpp"
#include "auth/key_form.hpp"
#include "auth/mac.hpp"
#include "base/clock.hpp"
#include "base/time_units.hpp"
#include "cluster/quota.hpp"
#include "domain/command.hpp"
#include "domain/events/event_secret.hpp"
#include "domain/snapshot.hpp"
#include "wire/http/request.hpp"
#include "wire/http/response.hpp"

namespace latchkey::api {

struct request_services;
struct token_wait;

// The cost of reading, in ns (store/read_work.hpp), that one step of a read in steps may
// have.
inline constexpr std::int64_t step_cost_max = 500 * base::microsecond;

// The part of a read in steps that its handler has done. It belongs to the exchange.
struct steps {
    virtual ~steps() = default;
    // The handler has more to do: it runs again in the next turn.
    bool is_pending = false;
};

// How the caller proved itself, the path's variables, and the key that the handler makes, if it
// makes one.
struct request_target {
    key_source source = key_source::none;
    std::optional<auth::browser_session> const& session;
    model::id id = 0;               // 0: the pattern has none
    std::string_view event_source;  // empty: the path names none
    std::optional<auth::fresh_key>& fresh_key;
    token_wait& tokens;
    std::unique_ptr<api::steps>& steps;
};

// References and views, valid until the handler returns.
class request_context {
  public:
    http::request const& request;
    auth::principal const& principal;
    limit::decision const& quota;
    base::instant now;
    api::settings const& settings;
    api::query& query;  // parsed, without the credential
    key_source source;
    std::optional<auth::browser_session> const& session;  // of a browser that showed its cookie
    model::id id;
    std::string_view event_source;

    // Null at first; what a handler puts there is there when it runs again.
    std::unique_ptr<api::steps>& steps;

    // Makes a new key. `show_fn` gets it after the commit; then it is wiped.
    std::string_view make_key() const;
    // The secrets of `event_source` that are valid now; `exchange` answers where they cannot be
    // read.
    std::optional<domain::event_secrets> event_secrets() const;
    // When this worker last saw that key; 0: not recently.
    base::wall_ms last_use(model::id key) const;
    auth::mac const& cursor_mac() const;
    // Where the content of a page ends. RFC 9110 §9.3.2 lets a HEAD leave out what could be told
    // only by making all of it; with a condition it needs the entity tag.
    std::size_t page_bytes_max() const;
    // Charges another key. `pending`: the handler returns at once, and runs again when there is
    // news of tokens.
    cluster::quota_verdict charge(auth::principal const& key, std::uint32_t cost) const;

  private:
    friend struct request_handlers;
    request_context(request_services& services, http::request const& request,
                    auth::principal const& principal, limit::decision const& quota,
                    base::instant now, api::query& query, request_target const& target);

    request_services& services_;
    std::optional<auth::fresh_key>& fresh_key_;
    token_wait& tokens_;
};

}  // namespace latchkey::api
