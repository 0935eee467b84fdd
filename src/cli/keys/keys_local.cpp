// Key commands on the store of this machine: each body goes through the reader of the API and each
// result through its writer, so both backends accept and print the same. A change is a command to
// the store's writer; a reading takes a snapshot and releases it before it prints. Many keys are
// deactivated 64 to a transaction.
#include <algorithm>

#include "api/frame/checks/query.hpp"
#include "api/frame/json/effective_time.hpp"
#include "api/keys/key_body.hpp"
#include "api/keys/key_json.hpp"
#include "api/keys/verification.hpp"
#include "api/usage/usage_report.hpp"
#include "auth/cache.hpp"
#include "auth/key_form.hpp"
#include "base/bytes.hpp"
#include "cli/frame/body.hpp"
#include "cli/keys/keys_backend.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::cli {
namespace {

constexpr std::size_t keys_per_transaction = 64;

refusal missing(model::id id) {
    return {"there is no key " + std::to_string(id) + ": latchkey keys list shows all", failed};
}

http::request request_with(std::string_view body) {
    http::request request;
    request.body = body;
    return request;
}

// A reading of the body that failed, or found faults.
template <class Result>
std::optional<refusal> refusal_of(Result const& result, std::vector<base::fault> const& faults) {
    if (!result) return refusal{error_text(result.error()), usage_error};
    if (!faults.empty()) return refusal{fault_text(faults), usage_error};
    return std::nullopt;
}

class local_keys : public keys_backend {
  public:
    local_keys(opened_store store, server::config const& configuration)
        : store_(std::move(store)), prefix_(configuration.keys_prefix) {}

    bool is_remote() const override { return false; }
    answer_of<std::string> show(model::id id) override;
    std::optional<refusal> each(key_selection const& selection, sink sink) override;
    answer_of<std::string> create(std::string_view body) override;
    answer_of<std::string> change(model::id id, std::string_view body) override;
    answer_of<std::string> rotate(model::id id, std::int64_t overlap_seconds) override;
    answer_of<std::string> deactivate(model::id id, std::string_view reason) override {
        return apply(domain::deactivate_key{id, reason_of(reason)});
    }
    std::optional<refusal> deactivate_all(std::vector<model::id> const& ids,
                                          std::string_view reason, deactivations& total) override;
    answer_of<model::id> own_id() override { return 0; }
    answer_of<std::string> reactivate(model::id id) override {
        return apply(domain::reactivate_key{id});
    }
    answer_of<std::string> verify(std::string_view body) override;
    answer_of<std::string> usage(model::id id, query_text const& query) override;

  private:
    static model::deactivation reason_of(std::string_view reason) {
        return reason == "compromised" ? model::deactivation::compromised
                                       : model::deactivation::manual;
    }
    // The document of the changed key, with `key` as its text, shown this one time.
    answer_of<std::string> apply(domain::command::any_action change, std::string_view key = {});

    opened_store store_;
    std::string prefix_;
};

answer_of<std::string> local_keys::apply(domain::command::any_action change, std::string_view key) {
    auto const outcome = apply_one(*store_, std::move(change));
    if (!outcome) return outcome.error();
    std::string document;
    document.reserve(32 * 1024);  // a string that grows leaves a copy behind
    if (key.empty())
        api::append_deactivated_key(document, *outcome);
    else
        api::append_key(document, std::get<model::key>(outcome->record), outcome->time, key,
                        outcome->last_used_at);
    if (outcome->effective_by != 0)
        api::append_effective_time(document, outcome->effective_by, outcome->effective_in);
    return document;
}

answer_of<std::string> local_keys::show(model::id id) {
    domain::snapshot snapshot(*store_);
    snapshot.renew();
    auto const key = snapshot.key(id);
    auto const last_use = snapshot.last_use(id);
    if (snapshot.damaged()) return refusal{{}, report_damage()};
    if (!key) return missing(id);
    std::string document;
    api::append_key(document, *key, snapshot.time(), {}, last_use);
    return document;
}

// The elements are kept until the snapshot is released: a slow terminal must not keep old pages in
// use.
std::optional<refusal> local_keys::each(key_selection const& selection, sink sink) {
    domain::key_filter filter;
    if (!selection.project.empty()) filter.project = selection.project;
    using enum model::key_state;
    for (auto const state : {scheduled, active, expired, deactivated})
        if (model::name_of(state) == selection.state) filter.state = state;
    if (!selection.environment.empty())
        filter.environment = model::find_environment(selection.environment);
    if (!selection.search.empty()) filter.search = selection.search;
    std::vector<std::string> records;
    {
        domain::snapshot snapshot(*store_);
        snapshot.renew();
        auto const now = filter.now = snapshot.time();
        snapshot.keys(filter, {.limit = UINT32_MAX},
                      [&](model::key const& key, base::wall_ms last_use) {
                          api::append_key(records.emplace_back(), key, now, {}, last_use);
                      });
        if (snapshot.damaged()) return refusal{{}, report_damage()};
    }
    for (auto const& each : records) sink(each);
    return std::nullopt;
}

answer_of<std::string> local_keys::create(std::string_view body) {
    api::key_defaults defaults{.now = store_->time()};
    defaults.scopes.add(model::scope::users_read);
    defaults.scopes.add(model::scope::posts_read);
    std::vector<base::fault> faults;
    auto creation = api::read_new_key(request_with(body), defaults, faults);
    if (auto wrong = refusal_of(creation, faults)) return *wrong;
    auth::fresh_key const key(prefix_);
    bool const has_secret = creation->record.kind == model::key_kind::secret;
    if (has_secret) {
        creation->record.digest = auth::digest_of(key.text());
        creation->record.start = key.text().substr(0, api::key_start_bytes);
        creation->record.last4 = key.text().substr(key.text().size() - 4);
    }
    auto document = apply(std::move(*creation), has_secret ? key.text() : "");
    if (!document)
        return refusal{"the key was not created: " + document.error().message,
                       document.error().code};
    return document;
}

answer_of<std::string> local_keys::change(model::id id, std::string_view body) {
    std::vector<base::fault> faults;
    auto change = api::read_key_change(request_with(body), faults);
    if (auto wrong = refusal_of(change, faults)) return *wrong;
    change->id = id;
    return apply(std::move(*change));
}

answer_of<std::string> local_keys::rotate(model::id id, std::int64_t overlap_seconds) {
    auth::fresh_key const key(prefix_);
    auto const text = key.text();
    return apply(domain::rotate_key{.id = id,
                                    .digest = auth::digest_of(text),
                                    .start = std::string(text.substr(0, api::key_start_bytes)),
                                    .last4 = std::string(text.substr(text.size() - 4)),
                                    .overlap_ms = overlap_seconds * 1000},
                 text);
}

std::optional<refusal> local_keys::deactivate_all(std::vector<model::id> const& ids,
                                                  std::string_view reason, deactivations& total) {
    for (std::size_t begin = 0; begin < ids.size(); begin += keys_per_transaction) {
        std::vector<domain::command> commands;
        for (auto i = begin; i < std::min(ids.size(), begin + keys_per_transaction); ++i)
            commands.push_back(
                {.action = domain::deactivate_key{ids[i], reason_of(reason), false}});
        auto const outcomes = domain::apply(*store_, std::move(commands));
        if (!outcomes) return refusal{outcomes.error().message, failed};
        for (auto const& each : *outcomes) {
            if (each.problem != base::problem::none) continue;
            ++total.count;
            total.effective_by = std::max(total.effective_by, each.effective_by);
            total.effective_in = std::max(total.effective_in, each.effective_in);
        }
        for (auto const& each : *outcomes)
            if (each.problem != base::problem::none) return cli::refusal_of(each);
    }
    return std::nullopt;
}

// As a request with that key would be checked, but for its limits: their state is known to the
// running service alone.
answer_of<std::string> local_keys::verify(std::string_view body) {
    std::vector<base::fault> faults;
    auto verification = api::read_verify(request_with(body), faults);
    if (auto wrong = refusal_of(verification, faults)) return *wrong;
    domain::snapshot snapshot(*store_);
    snapshot.renew();
    auto now = base::read_clocks();
    now.wall = snapshot.time_at(now);
    auth::cache cache(8, false);
    cache.follow(snapshot);
    auto const* const client = verification->ip ? &*verification->ip : nullptr;
    auto verdict = [&]() -> auth::verdict {
        if (verification->key_id == 0)
            return cache.authenticate(verification->key, client, snapshot, now);
        auto const key = snapshot.key(verification->key_id);
        if (!key) return {.problem = base::problem::key_invalid, .caller = {}};
        return cache.authenticate(cache.present(key->digest), client, snapshot, now);
    }();
    base::wipe(verification->key.data(), verification->key.size());
    if (snapshot.damaged()) return refusal{{}, report_damage()};
    api::verification answer{.result = verdict.problem};
    std::string missing;  // `answer` has a view of it
    if (verdict.caller) {
        answer.caller = &*verdict.caller;
        if (answer.result == base::problem::none)
            missing = verdict.caller->scopes().first_missing(verification->scopes).value_or("");
        if (!missing.empty()) answer.result = base::problem::insufficient_scope;
        answer.missing_scope = missing;
        if (answer.result == base::problem::none && verification->method) {
            auto const permission =
                api::permission_of(*verdict.caller, *verification->method, verification->path);
            answer.result = permission.problem;
            answer.missing_scope = permission.missing_scope;
        }
    }
    std::string document;
    api::append_verification(document, answer);
    return document;
}

answer_of<std::string> local_keys::usage(model::id id, query_text const& query) {
    domain::snapshot snapshot(*store_);
    snapshot.renew();
    api::query parameters;
    auto const& text = query.text();
    parameters.parse(std::string_view(text).substr(text.empty() ? 0 : 1));
    auto const is_visible = [](model::key const&) { return true; };
    api::usage_view const view{snapshot, snapshot.time(), is_visible, true};
    std::string document;
    auto const error = id == 0 ? api::append_usage(parameters, view, document)
                               : api::append_usage_of(id, parameters, view, document);
    if (snapshot.damaged()) return refusal{{}, report_damage()};
    if (!error) return document;
    if (error->problem == base::problem::not_found) return missing(id);
    return refusal{error_text(*error), usage_error};
}

}  // namespace

std::unique_ptr<keys_backend> open_local_keys(api_command const& command, int& code,
                                              store_access access) {
    server::config configuration;
    auto store = open_store(command, code, access, &configuration);
    if (store == nullptr) return nullptr;
    return std::make_unique<local_keys>(std::move(store), configuration);
}

}  // namespace latchkey::cli
