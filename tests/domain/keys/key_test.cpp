#include "../support.hpp"

namespace latchkey::domain {
namespace {

using base::problem;

class keys : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open_store(directory_.path());
    snapshot snapshot_{*store_};

    model::key add(model::key record) { return get_key(one(*store_, new_key(std::move(record)))); }
    problem as(model::id caller, model::scope needs) {
        static int number = 0;
        auto request = new_user("u", "u" + std::to_string(++number) + "@example.org");
        request.caller = caller;
        request.required_scope = needs;
        return one(*store_, request).problem;
    }
    void TearDown() override {
        snapshot_.reset();
        expect_sound(*store_);
    }
};

TEST_F(keys, are_created_and_found_by_id_and_digest) {
    auto record = key_number(1, {"users:*"});
    record.id = 77, record.created_at = 5, record.limit_slots = {7, 6};
    auto const key = add(record);
    EXPECT_EQ(key.id, 1);
    EXPECT_GT(key.created_at, 1'600'000'000'000);
    EXPECT_EQ(key.limit_slots, (std::vector<std::uint8_t>{0, 1}));
    EXPECT_EQ(key.created_by, 0);
    add(key_number(2));
    snapshot_.renew();
    EXPECT_EQ(snapshot_.key(1)->name, "key 1");
    EXPECT_EQ(snapshot_.key_with_digest(record.digest)->id, 1);
    EXPECT_EQ(snapshot_.key_with_digest(record.digest)->scopes, record.scopes);
    EXPECT_FALSE(snapshot_.key(3));
    EXPECT_FALSE(snapshot_.key_with_digest(key_number(3).digest));
    auto const all = snapshot_.keys();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[1].id, 2);
}

TEST_F(keys, have_digests_that_differ) {
    add(key_number(1));
    auto const answer = one(*store_, new_key(key_number(1)));
    EXPECT_EQ(answer.problem, problem::validation_failed);
    EXPECT_EQ(answer.faults.size(), 1u);
}

TEST_F(keys, that_were_imported_are_counted) {
    add(key_number(1));
    snapshot_.renew();
    EXPECT_FALSE(snapshot_.has_imported_digests());
    auto record = key_number(2);
    record.start.clear(), record.last4.clear();
    add(record);
    snapshot_.renew();
    EXPECT_TRUE(snapshot_.has_imported_digests());
}

model::key bearer_record(std::string subject, std::initializer_list<std::string_view> scopes = {}) {
    model::key record;
    record.kind = model::key_kind::jwt;
    record.name = subject;
    record.issuer = "https://id.example.com";
    record.subject = std::move(subject);
    record.digest[0] = static_cast<unsigned char>(record.subject.size());
    record.digest[31] = 1;
    for (auto const scope : scopes) record.scopes.add(scope);
    return record;
}

TEST_F(keys, of_kind_jwt_have_one_record_for_each_subject) {
    auto const key = add(bearer_record("anna"));
    add(key_number(2));
    EXPECT_EQ(one(*store_, new_key(bearer_record("anna"))).problem, problem::subject_taken);
    snapshot_.renew();
    EXPECT_FALSE(snapshot_.has_imported_digests());
    auto const stored_key = snapshot_.key_with_digest(key.digest);
    ASSERT_TRUE(stored_key);
    EXPECT_EQ(stored_key->kind, model::key_kind::jwt);
    EXPECT_EQ(stored_key->issuer, "https://id.example.com");
    EXPECT_EQ(stored_key->subject, "anna");
    // Deactivated ones too.
    EXPECT_EQ(one(*store_, {.action = deactivate_key{.id = key.id}}).problem, problem::none);
    EXPECT_EQ(one(*store_, new_key(bearer_record("anna"))).problem, problem::subject_taken);
    EXPECT_EQ(one(*store_, new_key(bearer_record(""))).problem, problem::internal_error);
}

// Whether another project has a subject must not be told to one, by no answer.
TEST_F(keys, of_kind_jwt_are_made_by_a_caller_with_all_scopes) {
    add(bearer_record("anna"));
    auto manager = key_number(2);
    manager.project = "shop";
    for (auto const* const scope : {"keys:*", "users:read"}) manager.scopes.add(scope);
    auto const caller = add(manager).id;
    std::vector<std::string> answers;
    for (auto const* const subject : {"anna", "berta"}) {
        auto record = bearer_record(subject, {"users:read"});
        record.project = "shop";
        record.rate_limits = manager.rate_limits;
        auto request = new_key(record);
        request.caller = caller;
        auto const outcome = one(*store_, request);
        EXPECT_EQ(outcome.problem, problem::insufficient_scope);
        answers.push_back(outcome.detail);
    }
    EXPECT_EQ(answers[0], answers[1]);
}

TEST_F(keys, of_kind_jwt_cannot_be_rotated) {
    auto const key = add(bearer_record("anna"));
    rotate_key const rotation{.id = key.id, .digest = key_number(5).digest};
    EXPECT_EQ(one(*store_, {.action = rotation}).problem, problem::key_not_rotatable);
}

// Nobody knows here whether its issuer gives out a token for it.
TEST_F(keys, of_kind_jwt_are_no_reason_to_let_the_last_administrator_go) {
    auto const admin = add(key_number(1, {"*"})).id;
    auto const bearer = add(bearer_record("anna", {"*"})).id;
    command request{.action = deactivate_key{.id = admin}};
    request.caller = bearer;
    EXPECT_EQ(one(*store_, request).problem, problem::last_admin_key);
    request = {.action = deactivate_key{.id = bearer}};
    request.caller = admin;
    EXPECT_EQ(one(*store_, request).problem, problem::none);
}

// What a token lacks its bearer may neither do nor grant, though the record has it.
TEST_F(keys, narrowed_by_a_token_do_and_grant_no_more_than_it_has) {
    auto const bearer = add(bearer_record("anna", {"*"})).id;
    model::scope_set token;
    token.add("keys:write");
    token.add("users:read");
    auto request = new_user("u", "u@example.org");
    request.caller = bearer;
    request.required_scope = model::scope::users_write;
    EXPECT_EQ(one(*store_, request).problem, problem::none);
    request = new_user("v", "v@example.org");
    request.caller = bearer;
    request.required_scope = model::scope::users_write;
    request.token_scopes = token;
    EXPECT_EQ(one(*store_, request).problem, problem::insufficient_scope);
    auto const create = [&](unsigned number, std::string_view scope, std::string_view project) {
        auto record = key_number(number, {scope});
        record.project = project;
        auto creation = new_key(std::move(record));
        creation.caller = bearer;
        creation.required_scope = model::scope::keys_write;
        creation.token_scopes = token;
        return one(*store_, creation).problem;
    };
    EXPECT_EQ(create(2, "users:read", "default"), problem::none);
    EXPECT_EQ(create(3, "users:write", "default"), problem::insufficient_scope);
    EXPECT_EQ(create(4, "*", "default"), problem::insufficient_scope);
    EXPECT_EQ(create(5, "users:read", "other"), problem::insufficient_scope);
}

TEST_F(keys, must_still_be_active_when_their_command_is_carried_out) {
    auto const writes = add(key_number(1, {"users:write"})).id;
    auto const reads = add(key_number(2, {"*:read"})).id;
    auto record = key_number(3, {"*"});
    record.deactivated_at = 5;
    record.deactivation_reason = model::deactivation::manual;
    auto const inactive = add(record).id;
    record = key_number(4, {"*"});
    record.expires_at = 1000;
    auto const expired = add(record).id;
    record = key_number(5, {"*"});
    record.not_before = base::read_clocks().wall + 3'600'000;
    auto const later = add(record).id;
    EXPECT_EQ(as(writes, model::scope::users_write), problem::none);
    EXPECT_EQ(as(writes, model::scope::posts_write), problem::insufficient_scope);
    EXPECT_EQ(as(reads, model::scope::users_write), problem::insufficient_scope);
    EXPECT_EQ(as(inactive, model::scope::users_write), problem::key_deactivated);
    EXPECT_EQ(as(expired, model::scope::users_write), problem::key_expired);
    EXPECT_EQ(as(later, model::scope::users_write), problem::key_not_yet_active);
    EXPECT_EQ(as(99, model::scope::users_write), problem::key_invalid);
}

TEST_F(keys, are_checked_before_anything_else) {
    auto const reads = add(key_number(1, {"*:read"})).id;
    command request{.action = change_user{.id = 9, .name = "x"},
                    .caller = reads,
                    .required_scope = model::scope::users_write};
    request.faults.push_back({.location = "/name"});
    EXPECT_EQ(one(*store_, request).problem, problem::insufficient_scope);
}

TEST_F(keys, of_one_transaction_are_checked_one_by_one) {
    auto const writes = add(key_number(1, {"users:write"})).id;
    auto const reads = add(key_number(2, {"users:read"})).id;
    std::vector<command> group;
    for (auto const caller : {writes, reads, writes, model::id{0}, reads}) {
        group.push_back(new_user("u", "v" + std::to_string(group.size()) + "@example.org"));
        group.back().caller = caller;
        group.back().required_scope = model::scope::users_write;
    }
    auto const outcomes = apply(*store_, std::move(group)).value();
    std::vector<problem> problems;
    for (auto const& each : outcomes) problems.push_back(each.problem);
    EXPECT_EQ(problems, (std::vector{problem::none, problem::insufficient_scope, problem::none,
                                     problem::none, problem::insufficient_scope}));
}

TEST_F(keys, are_checked_for_each_scope_within_a_transaction) {
    auto const writes = add(key_number(1, {"users:write"})).id;
    std::vector<command> group;
    for (auto const needs : {model::scope::users_write, model::scope::posts_write}) {
        group.push_back(new_user("u", std::to_string(group.size()) + "@example.org"));
        group.back().caller = writes;
        group.back().required_scope = needs;
    }
    auto const outcomes = apply(*store_, std::move(group)).value();
    EXPECT_EQ(outcomes[0].problem, problem::none);
    EXPECT_EQ(outcomes[1].problem, problem::insufficient_scope);
}

TEST_F(keys, grant_only_what_they_have) {
    auto const admin = add(key_number(1, {"keys:*", "users:read"})).id;
    auto request = new_key(key_number(2, {"users:read", "keys:read"}));
    request.caller = admin;
    request.required_scope = model::scope::keys_write;
    EXPECT_EQ(get_key(one(*store_, request)).created_by, admin);
    request = new_key(key_number(3, {"users:*"}));
    request.caller = admin;
    request.required_scope = model::scope::keys_write;
    EXPECT_EQ(one(*store_, request).problem, problem::insufficient_scope);
}

TEST_F(keys, move_the_epoch_with_every_change) {
    snapshot_.renew();
    EXPECT_EQ(snapshot_.key_epoch(), 0u);
    EXPECT_EQ(snapshot_.keys_changed_since(0), std::vector<model::digest>{});
    for (unsigned i = 1; i <= 3; ++i) add(key_number(i));
    one(*store_, new_user("u", "u@example.org"));
    snapshot_.renew();
    EXPECT_EQ(snapshot_.key_epoch(), 3u);
    EXPECT_EQ(snapshot_.keys_changed_since(1),
              (std::vector<model::digest>{key_number(2).digest, key_number(3).digest}));
    EXPECT_EQ(snapshot_.keys_changed_since(3), std::vector<model::digest>{});
    EXPECT_EQ(snapshot_.keys_changed_since(4), std::nullopt);
}

TEST_F(keys, changes_reach_back_as_far_as_the_ring) {
    constexpr unsigned count = 1100;
    for (unsigned i = 1; i <= count;) {
        std::vector<command> group;
        for (; group.size() < 64 && i <= count; ++i) group.push_back(new_key(key_number(i)));
        ASSERT_TRUE(apply(*store_, std::move(group)));
    }
    snapshot_.renew();
    ASSERT_EQ(snapshot_.key_epoch(), count);
    EXPECT_FALSE(snapshot_.keys_changed_since(0));
    EXPECT_FALSE(snapshot_.keys_changed_since(count - 1025));
    auto const changes = snapshot_.keys_changed_since(count - 1024);
    ASSERT_TRUE(changes);
    ASSERT_EQ(changes->size(), 1024u);
    EXPECT_EQ(changes->front(), key_number(count - 1023).digest);
    EXPECT_EQ(changes->back(), key_number(count).digest);
}

}  // namespace
}  // namespace latchkey::domain
