// A token is found by its SHA-256 in a 4-way set-associative table with second chance; its entry is
// a grant (scopes, times, digest of the key record) or a refusal that time alone explains. Only a
// miss is verified: with the keys in force, then with those before the last reload. `use` raises a
// generation, by which `is_good` knows grants of former issuers that a stream still holds.
#include "auth/bearer_cache.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/smart_ptr/make_local_shared.hpp>
#include <cstring>
#include <limits>
#include <vector>

#include "auth/key_form.hpp"
#include "auth/recent_text.hpp"
#include "base/check.hpp"
#include "base/thread_checker.hpp"

namespace latchkey::auth {
namespace {

using base::problem;
using grant_ptr = boost::local_shared_ptr<bearer_grant const>;

// So that there can be a record for every token; base::is_visible says of both what text they have.
static_assert(jwt::subject_bytes_max == model::subject_bytes_max);
// A token that is valid later is verified again after this time.
constexpr base::wall_ms early_retry_ms = 1000;
constexpr std::int64_t second_ms = 1000;
constexpr auto never = std::numeric_limits<base::wall_ms>::max();

// Set-associative with second chance, as auth::table is; digests cannot be chosen by a client.
class grant_table {
  public:
    explicit grant_table(std::size_t entries) : buckets_(entries / ways) {
        // It is a constant of the program.
        base::check(entries >= ways && std::has_single_bit(entries), "a cache of that size");
    }

    bearer_grant const* find(model::digest const& digest, grant_ptr& grant) {
        auto& set = bucket_of(digest);
        for (unsigned way = 0; way < ways; ++way) {
            if (!set.grants[way] || set.digests[way] != digest) continue;
            set.touched |= 1u << way;
            grant = set.grants[way];
            return grant.get();
        }
        return nullptr;
    }
    void insert(model::digest const& digest, grant_ptr grant) {
        auto& set = bucket_of(digest);
        auto const way = place_for(set, digest);
        set.touched |= 1u << way;
        set.digests[way] = digest;
        set.grants[way] = std::move(grant);
    }
    void clear() {
        for (auto& set : buckets_)
            for (auto& grant : set.grants) grant.reset();
    }

  private:
    static constexpr unsigned ways = 4;
    struct bucket {
        std::array<model::digest, ways> digests{};
        std::array<grant_ptr, ways> grants;
        unsigned touched = 0;
        unsigned hand = 0;
    };

    bucket& bucket_of(model::digest const& digest) {
        std::uint64_t bits;
        std::memcpy(&bits, digest.data(), sizeof bits);
        return buckets_[bits & (buckets_.size() - 1)];
    }
    static unsigned place_for(bucket& set, model::digest const& digest) {
        for (unsigned way = 0; way < ways; ++way)
            if (set.digests[way] == digest) return way;
        for (unsigned way = 0; way < ways; ++way)
            if (!set.grants[way]) return way;
        for (;;) {
            auto const way = set.hand;
            set.hand = (set.hand + 1) % ways;
            if ((set.touched >> way & 1u) == 0) return way;
            set.touched &= ~(1u << way);
        }
    }

    std::vector<bucket> buckets_;
};

problem problem_of(jwt::refusal_reason reason) {
    switch (reason) {
        case jwt::refusal_reason::expired:
            return problem::token_expired;
        case jwt::refusal_reason::not_yet_valid:
            return problem::token_not_yet_valid;
        case jwt::refusal_reason::invalid:
            break;
    }
    return problem::token_invalid;
}

// Words that are no scopes here are ignored (api.md §19).
model::scope_set known_scopes(std::string_view words) {
    model::scope_set result;
    while (!words.empty()) {
        auto const end = words.find(' ');
        result.add(words.substr(0, end));
        words.remove_prefix(end == words.npos ? words.size() : end + 1);
    }
    return result;
}

verdict refusal(problem problem, std::string_view detail) {
    return {.problem = problem, .caller = {}, .detail = detail, .is_token = true};
}

std::string_view sentence_of(problem problem) {
    return problem == problem::token_expired ? "The token has expired."
                                             : "The token is not valid yet.";
}

}  // namespace

struct bearer_cache::state {
    state(cache& records, std::size_t entries, bool keeps_text)
        : keys(records), grants(entries), recent(keeps_text) {}

    [[no_unique_address]] base::thread_checker thread;
    cache& keys;
    std::shared_ptr<bearer_issuers const> issuers;
    std::uint64_t generation = 1;
    grant_table grants;
    basic_recent_text<jwt::token_bytes_max> recent;
    counters count;

    jwt::verification verify(std::string_view token, base::wall_ms clock) const;
    base::wall_ms end_of_key(jwt::verified_token const& token) const;
    boost::local_shared_ptr<bearer_grant> make_grant(jwt::verified_token const& token) const;
    verdict judge(grant_ptr grant, model::address const* client, domain::snapshot const& snapshot,
                  base::instant now);
};

// With the keys of now, then with those of before the last reload. What the claims say holds for
// both, so only a wrong signature is tried again.
jwt::verification bearer_cache::state::verify(std::string_view token, base::wall_ms clock) const {
    auto result = jwt::verify(token, issuers->current, clock / second_ms);
    bool const is_wrong = !result && result.error().reason == jwt::refusal_reason::invalid;
    if (!is_wrong || issuers->former.empty() || clock >= issuers->former_until) return result;
    auto other = jwt::verify(token, issuers->former, clock / second_ms);
    bool const is_better = other || other.error().reason != jwt::refusal_reason::invalid;
    return is_better ? std::move(other) : std::move(result);
}

// A token that the keys of now verify too is never one of the former keys.
base::wall_ms bearer_cache::state::end_of_key(jwt::verified_token const& token) const {
    bool const is_former = std::ranges::any_of(
        issuers->former, [&](auto const& issuer) { return &issuer == token.signer; });
    return is_former ? issuers->former_until : never;
}

boost::local_shared_ptr<bearer_grant> bearer_cache::state::make_grant(
    jwt::verified_token const& token) const {
    auto grant = boost::make_local_shared<bearer_grant>();
    grant->generation = generation;
    grant->record = digest_of(model::bearer_identity(token.signer->name, token.subject));
    if (token.scopes) grant->scopes = known_scopes(*token.scopes);
    grant->expires_at = token.expires_at * second_ms;
    grant->refused_from = token.refused_from * second_ms;
    grant->kept_until = std::min(grant->refused_from, end_of_key(token));
    return grant;
}

verdict bearer_cache::state::judge(grant_ptr grant, model::address const* client,
                                   domain::snapshot const& snapshot, base::instant now) {
    auto result = keys.authenticate(keys.present(grant->record), client, snapshot, now);
    // An imported digest could be any, also one that belongs to a subject.
    if (result.caller && result.caller->record().kind != model::key_kind::jwt)
        return refusal(problem::key_invalid, {});
    result.is_token = true;
    if (result.caller) result.caller->token_ = std::move(grant);
    return result;
}

verdict bearer_cache::authenticate(std::string_view token, model::address const* client,
                                   domain::snapshot const& snapshot, base::instant now,
                                   bool may_verify) {
    auto& own = *state_;
    own.thread.check();
    if (token.size() > jwt::token_bytes_max)
        return refusal(problem::token_invalid, "The token is longer than 8 KiB.");
    auto const digest = own.recent.digest(token);
    grant_ptr grant;
    if (own.grants.find(digest, grant) != nullptr) {
        bool const is_kept = now.clock < grant->kept_until;
        if (is_kept && grant->refusal == problem::none) [[likely]] {
            ++own.count.hits;
            return own.judge(std::move(grant), client, snapshot, now);
        }
        // Neither its key nor a reload makes an expired token good again.
        bool const is_over = grant->refusal == problem::none && now.clock >= grant->refused_from;
        if (is_kept || is_over) {
            ++own.count.hits;
            auto const code = is_over ? problem::token_expired : grant->refusal;
            return refusal(code, sentence_of(code));
        }
    }
    if (!jwt::looks_like_jwt(token)) return own.keys.authenticate(token, client, snapshot, now);
    if (!may_verify) return refusal(problem::too_many_auth_failures, {});
    auto const verification = own.verify(token, now.clock);
    if (!verification) {
        ++own.count.refusals;
        auto const code = problem_of(verification.error().reason);
        // Right but for the time: a client that repeats it is answered without a verification.
        if (code != problem::token_invalid) {
            auto const reminder = boost::make_local_shared<bearer_grant>();
            reminder->refusal = code;
            reminder->kept_until =
                code == problem::token_expired ? never : now.clock + early_retry_ms;
            own.grants.insert(digest, reminder);
        }
        return refusal(code, verification.error().detail);
    }
    ++own.count.verified;
    auto fresh_grant = own.make_grant(*verification);
    auto result = own.judge(fresh_grant, client, snapshot, now);
    if (result.caller) own.grants.insert(digest, std::move(fresh_grant));
    return result;
}

bool bearer_cache::may_be_token(std::string_view text) const {
    return state_->issuers != nullptr && jwt::begins_as_jwt(text);
}

bool bearer_cache::is_good(principal const& caller, base::instant now) const {
    auto const* const token = caller.token();
    return token == nullptr ||
           (token->generation == state_->generation && now.clock < token->kept_until);
}

void bearer_cache::use(std::shared_ptr<bearer_issuers const> issuers) {
    auto& own = *state_;
    if (issuers == own.issuers) return;
    own.issuers = std::move(issuers);
    ++own.generation;
    own.grants.clear();
}

void bearer_cache::forget_text() {
    state_->recent.wipe();
}

bearer_cache::counters const& bearer_cache::count() const {
    return state_->count;
}

bearer_cache::bearer_cache(cache& keys, std::size_t entries, bool keeps_text)
    : state_(std::make_unique<state>(keys, entries, keeps_text)) {}
bearer_cache::~bearer_cache() = default;

}  // namespace latchkey::auth
