// Tokens of an issuer over a real store.
#include "auth/bearer_cache.hpp"

#include <gtest/gtest.h>

#include "../limit/allocations.hpp"
#include "temp_store.hpp"
#include "token_signer.hpp"

namespace latchkey::auth {
namespace {

using base::problem;

constexpr base::wall_ms present_ms = 1'800'000'000'000;
constexpr std::int64_t present_s = present_ms / 1000;

struct bearer_cache_test : ::testing::Test {
    temp_store store;
    domain::snapshot snapshot{store.store()};
    cache keys;
    token_signer signer;
    bearer_cache subject{keys};
    base::instant now{.mono = 1'000'000'000'000, .wall = present_ms, .clock = present_ms};

    void SetUp() override {
        subject.use(signer.issuers());
        turn();
    }
    void turn() {
        snapshot.renew();
        keys.follow(snapshot);
    }
    model::key add(std::string name, model::key record = {}) {
        record.name = name;
        record.scopes.add("*");
        record = record_for(signer, std::move(name), std::move(record));
        auto const text = bearer_text(record);
        auto const added = store.add(text, std::move(record));
        turn();
        return added;
    }
    // A token of that subject, of `seconds`, with further claims.
    std::string token(std::string_view name, std::int64_t seconds = 60,
                      std::string const& claims = {}) {
        return signer.sign(R"("sub":")" + std::string(name) + R"(","exp":)" +
                           std::to_string(present_s + seconds) + claims);
    }
    verdict show(std::string_view text, bool may_verify = true) {
        EXPECT_TRUE(subject.may_be_token(text));
        return subject.authenticate(text, nullptr, snapshot, now, may_verify);
    }
    void advance(base::wall_ms milliseconds) {
        now.wall += milliseconds;
        now.clock += milliseconds;
        now.mono += milliseconds * 1'000'000;
    }
};

TEST_F(bearer_cache_test, verifies_a_token_once) {
    auto const record = add("anna");
    auto const text = token("anna");
    for (unsigned i = 0; i < 4; ++i) {
        if (i == 2) subject.forget_text();
        auto const result = show(text);
        EXPECT_EQ(result.problem, problem::none);
        ASSERT_TRUE(result.caller);
        EXPECT_EQ(result.caller->record().id, record.id);
        EXPECT_NE(result.caller->token(), nullptr);
        EXPECT_TRUE(result.is_token);
        EXPECT_EQ(subject.count().verified, 1u);
        EXPECT_EQ(subject.count().hits, i);
    }
}

TEST_F(bearer_cache_test, allocates_nothing_for_a_token_that_it_knows) {
    if (!test::counts_allocations()) GTEST_SKIP();
    add("anna");
    auto const text = token("anna", 60, R"(,"scope":"users:read events:write:a posts:*")");
    show(text);
    auto const allocation_count = test::allocations();
    for (int i = 0; i < 10; ++i) {
        auto const result = show(text);
        EXPECT_TRUE(result.caller->may(model::scope::users_read));
        subject.forget_text();
    }
    EXPECT_EQ(test::allocations(), allocation_count);
}

// Each byte counts, whether or not the text of the last token is at hand.
TEST_F(bearer_cache_test, refuses_what_nearly_equals_a_token) {
    add("anna");
    auto const text = token("anna");
    for (std::size_t i = 3; i < text.size(); i += 7) {
        for (int times = 0; times < 3; ++times) EXPECT_EQ(show(text).problem, problem::none);
        auto wrong = text;
        wrong[i] = wrong[i] == 'A' ? 'B' : 'A';
        EXPECT_FALSE(show(wrong).caller) << i;
    }
    EXPECT_EQ(subject.count().verified, 1u);
}

TEST_F(bearer_cache_test, sees_a_change_of_the_record_with_the_next_request) {
    auto const record = add("anna");
    auto const text = token("anna");
    EXPECT_EQ(show(text).problem, problem::none);
    std::vector<domain::command> commands(1);
    commands[0].action = domain::deactivate_key{.id = record.id};
    ASSERT_TRUE(domain::apply(store.store(), std::move(commands)));
    turn();
    auto const result = show(text);
    EXPECT_EQ(result.problem, problem::key_deactivated);
    ASSERT_TRUE(result.caller);
    EXPECT_EQ(result.caller->record().id, record.id);
    EXPECT_EQ(subject.count().verified, 1u);
}

TEST_F(bearer_cache_test, knows_when_a_token_that_it_keeps_expires) {
    add("anna");
    auto const text = token("anna", 60);
    EXPECT_EQ(show(text).problem, problem::none);
    advance(59'999);
    auto const last = show(text);
    EXPECT_EQ(last.problem, problem::none);
    EXPECT_TRUE(subject.is_good(*last.caller, now));
    advance(1);
    EXPECT_EQ(show(text).problem, problem::token_expired);
    EXPECT_FALSE(subject.is_good(*last.caller, now));
    EXPECT_EQ(subject.count().verified, 1u);
    EXPECT_EQ(subject.count().refusals, 0u);
}

// Both are right but for the time: repeated, they cost no signature.
TEST_F(bearer_cache_test, remembers_tokens_that_come_too_late_or_too_early) {
    add("anna");
    auto const late = token("anna", -60);
    auto const early = token("anna", 60, R"(,"nbf":)" + std::to_string(present_s + 3));
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(show(late).problem, problem::token_expired);
        EXPECT_EQ(show(early).problem, problem::token_not_yet_valid);
        EXPECT_FALSE(show(early).detail.empty());
    }
    EXPECT_EQ(subject.count().refusals, 2u);
    advance(3000);
    EXPECT_EQ(show(early).problem, problem::none);
}

TEST_F(bearer_cache_test, narrows_the_scopes_of_the_record) {
    add("anna");
    auto const narrow = show(
        token("anna", 60, R"(,"scope":"openid users:read profile keys:verify events:write:shop")"));
    ASSERT_TRUE(narrow.caller);
    auto const& caller = *narrow.caller;
    EXPECT_TRUE(caller.may(model::scope::users_read));
    EXPECT_FALSE(caller.may(model::scope::users_write));
    EXPECT_FALSE(caller.may(model::scope::any));
    EXPECT_TRUE(caller.may_send_events_of("shop"));
    EXPECT_FALSE(caller.may_send_events_of("other"));
    EXPECT_EQ(caller.scopes().names(),
              (std::vector<std::string>{"users:read", "keys:verify", "events:write:shop"}));
    // Words without a scope among them are a claim nonetheless.
    auto const none = show(token("anna", 60, R"(,"scope":"openid profile")"));
    EXPECT_TRUE(none.caller->scopes().empty());
    auto const all = show(token("anna", 61));
    EXPECT_EQ(all.caller->scopes().names(), std::vector<std::string>{"*"});
}

// A token gives nothing that its record lacks.
TEST_F(bearer_cache_test, widens_nothing) {
    model::key record;
    record.name = "ben";
    record.scopes.add("users:read");
    record = record_for(signer, "ben", std::move(record));
    store.add(bearer_text(record), record);
    turn();
    auto const result = show(token("ben", 60, R"(,"scope":"* keys:write")"));
    EXPECT_FALSE(result.caller->may(model::scope::keys_write));
    EXPECT_EQ(result.caller->scopes().names(), std::vector<std::string>{"users:read"});
}

TEST_F(bearer_cache_test, finds_no_record_for_another_subject) {
    add("anna");
    auto const text = token("ben");
    EXPECT_EQ(show(text).problem, problem::key_invalid);
    EXPECT_FALSE(show(text).caller);
    // Created a moment later, it counts at once.
    add("ben");
    EXPECT_EQ(show(text).problem, problem::none);
}

TEST_F(bearer_cache_test, verifies_nothing_for_an_address_that_is_refused) {
    add("anna");
    auto const cached_token = token("anna"), other = token("anna", 61);
    EXPECT_EQ(show(cached_token).problem, problem::none);
    auto const earlier_count = subject.count();
    EXPECT_EQ(show(cached_token, false).problem, problem::none);
    EXPECT_EQ(show(other, false).problem, problem::too_many_auth_failures);
    EXPECT_EQ(subject.count().verified, earlier_count.verified);
    EXPECT_EQ(show(other).problem, problem::none);
}

TEST_F(bearer_cache_test, forgets_all_when_the_issuers_change) {
    add("anna");
    auto const text = token("anna");
    auto const result = show(text);
    EXPECT_EQ(result.problem, problem::none);
    token_signer const other;
    subject.use(other.issuers());
    EXPECT_EQ(show(text).problem, problem::token_invalid);
    EXPECT_FALSE(subject.is_good(*result.caller, now));
    subject.use(nullptr);
    EXPECT_FALSE(subject.may_be_token(text));
}

TEST_F(bearer_cache_test, accepts_the_former_keys_for_a_while) {
    add("anna");
    auto const text = token("anna", 7200);
    token_signer const successor("2");
    auto issuers = std::make_shared<bearer_issuers>(*successor.issuers());
    issuers->former.push_back(signer.accepted());
    issuers->former_until = now.clock + former_keys_ms;
    subject.use(issuers);
    EXPECT_EQ(show(text).problem, problem::none);
    EXPECT_EQ(
        show(successor.sign(R"("sub":"anna","exp":)" + std::to_string(present_s + 7200))).problem,
        problem::none);
    advance(former_keys_ms);
    auto const later = token("anna", 7201);
    EXPECT_EQ(show(later).problem, problem::token_invalid);
}

// The keys of before, beside those of the successor, until `former_keys_ms` from now.
std::shared_ptr<bearer_issuers const> overlap(token_signer const& former,
                                              token_signer const& successor, base::instant now) {
    auto issuers = std::make_shared<bearer_issuers>(*successor.issuers());
    issuers->former.push_back(former.accepted());
    issuers->former_until = now.clock + former_keys_ms;
    return issuers;
}

TEST_F(bearer_cache_test, forgets_with_its_key_what_a_former_key_has_signed) {
    add("anna");
    token_signer const successor("2");
    subject.use(overlap(signer, successor, now));
    auto const of_former = token("anna", 7200);
    auto const of_successor =
        successor.sign(R"("sub":"anna","exp":)" + std::to_string(present_s + 7200));
    auto const short_lived = token("anna", 60);
    auto const first = show(of_former), other = show(of_successor);
    EXPECT_EQ(show(short_lived).problem, problem::none);
    EXPECT_EQ(first.caller->ends_at(), now.clock + former_keys_ms);
    EXPECT_EQ(other.caller->ends_at(), (present_s + 7200) * 1000);
    advance(former_keys_ms - 1);
    EXPECT_EQ(show(of_former).problem, problem::none);
    EXPECT_TRUE(subject.is_good(*first.caller, now));
    EXPECT_EQ(subject.count().verified, 3u) << "until then it costs no signature";
    advance(1);
    EXPECT_EQ(show(of_former).problem, problem::token_invalid);
    EXPECT_FALSE(subject.is_good(*first.caller, now));
    EXPECT_EQ(show(of_former, false).problem, problem::too_many_auth_failures);
    EXPECT_EQ(show(short_lived).problem, problem::token_expired) << "which it was before";
    EXPECT_EQ(show(of_successor).problem, problem::none);
    EXPECT_TRUE(subject.is_good(*other.caller, now));
    EXPECT_EQ(subject.count().verified, 3u);
}

// An issuer publishes old and new keys together: then nothing ends with the overlap.
TEST_F(bearer_cache_test, keeps_what_a_key_of_both_sets_has_signed) {
    add("anna");
    subject.use(overlap(signer, signer, now));
    auto const text = token("anna", 7200);
    auto const result = show(text);
    advance(former_keys_ms);
    EXPECT_EQ(show(text).problem, problem::none);
    EXPECT_TRUE(subject.is_good(*result.caller, now));
    EXPECT_EQ(subject.count().verified, 1u);
}

TEST_F(bearer_cache_test, tells_when_time_alone_ends_what_was_shown) {
    auto const record = add("anna", {.expires_at = present_ms + 50'000});
    EXPECT_EQ(show(token("anna", 60)).caller->ends_at(), record.expires_at);
    EXPECT_EQ(show(token("anna", 40)).caller->ends_at(), present_ms + 40'000);
    auto const ends = [&](model::key record) {
        auto const text = unknown_key();
        store.add(text, std::move(record));
        turn();
        return keys.authenticate(text, nullptr, snapshot, now).caller->ends_at();
    };
    EXPECT_EQ(ends({.name = "a"}), 0);
    EXPECT_EQ(ends({.expires_at = present_ms + 7, .name = "b"}), present_ms + 7);
    EXPECT_EQ(ends({.rotation_ends_at = present_ms + 6, .name = "c"}), present_ms + 6);
    EXPECT_EQ(ends({.expires_at = present_ms + 5, .rotation_ends_at = present_ms + 6, .name = "d"}),
              present_ms + 5);
}

// One rule for the claim and the record: there is a record for whatever a token can carry, and none
// that no token could name.
TEST_F(bearer_cache_test, accepts_the_subjects_that_a_record_can_have) {
    for (std::string const& name :
         {std::string("a"), std::string(255, 's'), std::string(256, 's'),
          std::string("J\xc3\xb6rg"), std::string("Ada Lovelace"), std::string("a\xc2\x85"),
          std::string("a\xe2\x80\xa8"), std::string("a\xe2\x80\xae"), std::string("a\xd8\x9c"),
          std::string("a\x7f"), std::string("\xf0\x9f\x94\x91"), std::string("\xe2\x80\x8b")}) {
        bool const has_record = model::is_claim_text(name, model::subject_bytes_max);
        auto const problem = show(token(name)).problem;
        EXPECT_EQ(problem, has_record ? problem::key_invalid : problem::token_invalid) << name;
    }
}

TEST_F(bearer_cache_test, takes_no_token_of_more_than_8_kib) {
    add("anna");
    auto const of_size = [&](std::size_t filler) {
        return token("anna", 60, R"(,"x":")" + std::string(filler, 'x') + "\"");
    };
    EXPECT_EQ(show(of_size(5900)).problem, problem::none);
    EXPECT_EQ(show(of_size(6200)).problem, problem::token_invalid);
}

// RFC 7515 allows white space in the header, so a token need not begin with eyJ.
TEST_F(bearer_cache_test, takes_tokens_whose_header_has_white_space) {
    add("anna");
    auto const end = std::to_string(present_s + 60);
    for (std::string_view const space : {" ", "\n", "\r\n", "\t  "}) {
        auto const text = signer.sign(R"("sub":"anna","exp":)" + end, space);
        EXPECT_FALSE(text.starts_with("eyJ"));
        EXPECT_EQ(show(text).problem, problem::none);
    }
}

// However short it is, and whatever keys were imported.
TEST_F(bearer_cache_test, looks_up_as_a_key_nothing_that_looks_like_a_token) {
    for (std::string const& text :
         {"eyJh." + std::string(30, 'a') + ".b", "eyAi." + std::string(60, 'a') + ".b"}) {
        store.add(text, {.name = "imported"});
        turn();
        EXPECT_EQ(show(text).problem, problem::token_invalid) << text;
    }
}

TEST_F(bearer_cache_test, looks_up_as_a_key_what_is_no_token) {
    auto const text = "eyJ" + std::string(60, 'k');
    store.add(text, {.name = "imported"});
    turn();
    auto const result = show(text);
    EXPECT_EQ(result.problem, problem::none);
    EXPECT_FALSE(result.is_token);
    EXPECT_EQ(result.caller->record().name, "imported");
}

// What the record is found by is no secret, so it must not be a key.
TEST_F(bearer_cache_test, has_records_that_no_key_leads_to) {
    auto const record = add("anna");
    store.add("eyJ" + std::string(60, 'k'), {.name = "imported"});  // keys may have any form
    turn();
    auto const text = bearer_text(record);
    EXPECT_EQ(keys.authenticate(text, nullptr, snapshot, now).problem, problem::key_invalid);
    EXPECT_EQ(show(token("anna")).problem, problem::none);
    EXPECT_EQ(keys.authenticate(text, nullptr, snapshot, now).problem, problem::key_invalid);
}

TEST_F(bearer_cache_test, keeps_its_answers_when_there_are_more_tokens_than_entries) {
    bearer_cache small(keys, 8);
    small.use(signer.issuers());
    add("anna");
    std::vector<std::string> texts;
    for (int i = 0; i < 40; ++i) texts.push_back(token("anna", 60 + i));
    for (int round = 0; round < 2; ++round)
        for (auto const& each : texts)
            EXPECT_EQ(small.authenticate(each, nullptr, snapshot, now, true).problem,
                      problem::none);
}

}  // namespace
}  // namespace latchkey::auth
