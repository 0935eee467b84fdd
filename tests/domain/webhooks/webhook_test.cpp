// Webhooks as records: secrets and header values at rest, changes, visibility, rotation.
#include "domain/audit/audit_lists.hpp"
#include "domain/audit/verify_audit.hpp"
#include "webhook_fixture.hpp"

namespace latchkey::domain {
namespace {

using base::problem;
using model::change_type;

class webhooks : public webhook_store {
  protected:
    outcome change_one(change_webhook action, model::id caller = 0) {
        return apply_one(std::move(action), caller);
    }
    webhook_entry entry(model::id id) {
        return view([&](snapshot const& each) { return find_webhook(each, id).value(); });
    }
    std::optional<domain::signing_webhook> signing(model::id id) {
        return view(
            [&](snapshot const& each) { return find_signing_webhook(each, id, webhook_wall); });
    }
    std::string signing_letters(model::id id) {
        std::string letters;
        auto const current = signing(id).value();
        for (auto const& each : current.secrets) letters += each.hmac.text().front();
        return letters;
    }
    std::vector<audit_entry> audit(std::optional<std::string_view> project = {}) {
        return view([&](snapshot const& each) {
            std::vector<audit_entry> entries;
            audit_entries(each, {.project = project}, {.limit = 100},
                          [&](audit_entry const& entry) { entries.push_back(entry); });
            return entries;
        });
    }
};

TEST_F(webhooks, survive_a_restart_and_nothing_secret_is_in_clear) {
    auto record = a_webhook();
    record.headers = {{"Authorization", "Bearer very-secret-value"}, {"X-Trace", "on"}};
    record.public_key.fill('k');
    auto const id = create(record);
    EXPECT_EQ(id, 1);
    store_.reset();
    store_ = open();
    auto const shown_count = entry(id).webhook;
    EXPECT_EQ(shown_count.url, "https://example.com/hook");
    ASSERT_EQ(shown_count.headers.size(), 2u);
    EXPECT_EQ(shown_count.headers[0].first, "Authorization");
    EXPECT_EQ(shown_count.headers[0].second, "");
    auto const current = signing(id).value();
    EXPECT_EQ(current.webhook.headers, record.headers);
    ASSERT_EQ(current.secrets.size(), 1u);
    EXPECT_EQ(current.secrets[0].hmac.text(), std::string(32, 'a'));
    EXPECT_EQ(current.secrets[0].ed25519_seed.text(), std::string(32, 'b'));
    auto const bytes = file();
    EXPECT_NE(bytes.find("Authorization"), std::string::npos);
    EXPECT_EQ(bytes.find("very-secret"), std::string::npos);
    EXPECT_EQ(bytes.find(std::string(8, 'a')), std::string::npos);
    EXPECT_EQ(bytes.find(std::string(8, 'b')), std::string::npos);
    expect_sound(*store_);
}

TEST_F(webhooks, begin_after_the_last_change) {
    EXPECT_EQ(progress(create()).position, 0);
    auto const last = change();
    EXPECT_EQ(progress(create()).position, last);
}

TEST_F(webhooks, of_another_master_key_cannot_be_sent) {
    auto const id = create();
    store_.reset();
    std::filesystem::remove(directory_.path() + "/master.key");
    store_ = open();
    EXPECT_TRUE(entry(id).webhook.is_enabled());
    EXPECT_FALSE(signing(id));
    EXPECT_TRUE(damaged_);
}

TEST_F(webhooks, keep_header_values_that_a_patch_masks) {
    auto record = a_webhook();
    record.headers = {{"Authorization", "first"}, {"X-Old", "old"}};
    auto const id = create(record);
    auto const answer = change_one({.id = id,
                                    .headers = {{"authorization", std::nullopt, true},
                                                {"x-old", std::nullopt, false},
                                                {"X-New", "new", false}},
                                    .expected = {}});
    EXPECT_EQ(answer.problem, problem::none);
    EXPECT_EQ(told(answer).entry.webhook.headers[0].second, "") << "no outcome has a value";
    using headers = decltype(model::webhook::headers);
    EXPECT_EQ(signing(id).value().webhook.headers,
              (headers{{"Authorization", "first"}, {"X-New", "new"}}));
    auto const mask = change_one({.id = id, .headers = {{"X~Gone", {}, true}}, .expected = {}});
    ASSERT_EQ(mask.problem, problem::validation_failed);
    EXPECT_EQ(mask.faults.at(0).location, "/headers/X~0Gone");
    EXPECT_EQ(change_one({.id = id, .clear_headers = true, .headers = {}, .expected = {}}).problem,
              problem::none);
    EXPECT_EQ(signing(id).value().webhook.headers, headers{});
    std::vector<header_change> many;
    for (int i = 0; i < 17; ++i) many.push_back({"X-" + std::to_string(i), "v", false});
    auto const wide = change_one({.id = id, .headers = many, .expected = {}});
    ASSERT_EQ(wide.problem, problem::validation_failed);
    EXPECT_EQ(wide.faults.at(0).location, "/headers");
}

TEST_F(webhooks, that_do_not_change_are_not_written) {
    auto const id = create();
    auto const bound = entry(id).webhook;
    ++webhook_wall;
    EXPECT_EQ(change_one({.id = id, .url = bound.url, .headers = {}, .expected = {}}).problem,
              problem::none);
    EXPECT_EQ(entry(id).webhook.updated_at, bound.updated_at);
    EXPECT_EQ(change_one({.id = id, .ordered = true, .headers = {}, .expected = {}}).problem,
              problem::none);
    EXPECT_EQ(entry(id).webhook.updated_at, bound.updated_at + 1);
    EXPECT_EQ(entry(id).webhook.revision, bound.revision + 1);
}

TEST_F(webhooks, have_read_only_members) {
    auto const id = create();
    auto const answer = change_one({.id = id,
                                    .headers = {},
                                    .expected = {{"id", id},
                                                 {"disabled_at", {}},
                                                 {"created_at", std::int64_t{1}},
                                                 {"project", std::string("x")}}});
    ASSERT_EQ(answer.problem, problem::validation_failed);
    ASSERT_EQ(answer.faults.size(), 2u);
    EXPECT_EQ(answer.faults[0].location, "/created_at");
    EXPECT_EQ(answer.faults[1].location, "/project");
}

TEST_F(webhooks, that_are_disabled_and_enabled_again_go_on) {
    auto const id = create();
    auto const sequence = change();
    apply_one(note_deliveries{{{.webhook = id,
                                .progress = model::webhook_progress{sequence, 77},
                                .deliveries = {{.sequence = sequence,
                                                .next_attempt_at = webhook_wall + 60'000,
                                                .attempts = {{.time = 5, .status = 500}}}},
                                .replays = {}}}});
    EXPECT_EQ(change_one({.id = id, .headers = {}, .enabled = false, .expected = {}}).problem,
              problem::none);
    EXPECT_EQ(entry(id).webhook.end, model::webhook_end::manual);
    EXPECT_EQ(entry(id).webhook.disabled_at, webhook_wall);
    EXPECT_EQ(apply_one(test_webhook{id}).problem, problem::webhook_disabled);
    EXPECT_EQ(apply_one(replay_webhook{id, {sequence}}).problem, problem::webhook_disabled);
    EXPECT_EQ(change_one({.id = id, .headers = {}, .enabled = true, .expected = {}}).problem,
              problem::none);
    EXPECT_TRUE(entry(id).webhook.is_enabled());
    EXPECT_EQ(entry(id).webhook.disabled_at, 0);
    EXPECT_EQ(progress(id), (model::webhook_progress{sequence, 0}));
    EXPECT_EQ(delivery(sequence, id)->next_attempt_at, webhook_wall);
    expect_sound(*store_);
}

TEST_F(webhooks, sign_with_both_secrets_until_the_overlap_ends) {
    auto const id = create();
    std::array<unsigned char, 32> public_key{};
    public_key.fill('p');
    EXPECT_EQ(apply_one(rotate_webhook_secret{id, secret_of('m'), public_key, 1000}).problem,
              problem::none);
    EXPECT_EQ(entry(id).webhook.public_key, public_key);
    EXPECT_EQ(entry(id).webhook.rotation_ends_at, webhook_wall + 1000);
    EXPECT_EQ(signing_letters(id), "ma");
    apply_one(rotate_webhook_secret{id, secret_of('x'), public_key, 1000});
    EXPECT_EQ(signing_letters(id), "xm") << "two at most";
    webhook_wall += 1000;
    EXPECT_EQ(signing_letters(id), "x");
    apply_one(rotate_webhook_secret{id, secret_of('z'), public_key, 0});
    EXPECT_EQ(signing_letters(id), "z");
    EXPECT_EQ(entry(id).webhook.rotation_ends_at, 0);
}

TEST_F(webhooks, are_seen_by_callers_of_their_project) {
    auto const scopes = {std::string_view("webhooks:*"), std::string_view("changes:read")};
    auto shop = key_number(1, scopes), till = key_number(2, scopes), admin = key_number(3, {"*"});
    auto blind = key_number(4, {"webhooks:*"});
    shop.project = blind.project = "shop";
    till.project = "till";
    std::vector<model::id> keys;
    for (auto const& each : {shop, till, admin, blind})
        keys.push_back(get_key(one(*store_, new_key(each))).id);
    auto const id = create(a_webhook(), keys[0]);
    EXPECT_EQ(entry(id).webhook.project, "shop");
    EXPECT_EQ(entry(id).webhook.created_by, keys[0]);
    auto const unbound = create(a_webhook(), keys[2]);
    EXPECT_EQ(entry(unbound).webhook.project, "");
    EXPECT_EQ(apply_one(test_webhook{id}, keys[1]).problem, problem::not_found);
    EXPECT_EQ(apply_one(test_webhook{unbound}, keys[0]).problem, problem::not_found);
    EXPECT_EQ(apply_one(test_webhook{id}, keys[2]).problem, problem::none);
    EXPECT_EQ(apply_one(create_webhook{a_webhook(), secret_of('a')}, keys[3]).problem,
              problem::insufficient_scope);
    EXPECT_EQ(change_one({.id = id, .headers = {}, .expected = {}}, keys[3]).problem,
              problem::insufficient_scope);
    EXPECT_EQ(apply_one(delete_webhook{id}, keys[3]).problem, problem::none);
    auto const listed = [&](std::optional<std::string_view> project) {
        return view([&](snapshot const& each) {
            std::vector<model::id> ids;
            auto const result =
                list_webhooks(each, project, {.limit = 10},
                              [&](webhook_entry const& entry) { ids.push_back(entry.webhook.id); });
            EXPECT_EQ(result.total, ids.size());
            return ids;
        });
    };
    auto const last = create(a_webhook(), keys[0]);
    EXPECT_EQ(listed(std::nullopt), (std::vector{unbound, last}));
    EXPECT_EQ(listed("shop"), (std::vector{last}));
    EXPECT_EQ(listed("till"), std::vector<model::id>{});
    expect_sound(*store_);
}

TEST_F(webhooks, are_audited) {
    auto const id = create();
    change_one({.id = id, .url = "https://example.org/", .headers = {}, .expected = {}});
    apply_one(rotate_webhook_secret{id, secret_of('m'), {}, 0});
    apply_one(delete_webhook{id});
    auto const entries = audit();
    ASSERT_EQ(entries.size(), 4u);
    EXPECT_EQ(entries[0].action, audit_action::webhook_create);
    EXPECT_EQ(entries[0].source, "1");
    EXPECT_EQ(entries[1].action, audit_action::webhook_change);
    EXPECT_EQ(entries[1].fields, std::vector<std::string>{"url"});
    EXPECT_EQ(entries[2].action, audit_action::webhook_rotate);
    EXPECT_EQ(entries[3].action, audit_action::webhook_delete);
    EXPECT_TRUE(audit("").empty()) << "not among the sources of events";
    EXPECT_TRUE(verify_audit(*store_).wrong.empty());
    expect_sound(*store_);
}

TEST_F(webhooks, have_ids_of_their_own_and_a_bound) {
    auto const first = create();
    apply_one(delete_webhook{first});
    EXPECT_EQ(create(), first + 1);
    std::vector<command> commands;
    for (std::size_t i = 1; i < webhooks_max; ++i) {
        commands.push_back({.action = create_webhook{a_webhook(), secret_of('a')}});
        if (commands.size() < 64) continue;
        for (auto const& each : apply(*store_, std::exchange(commands, {})).value())
            ASSERT_EQ(each.problem, problem::none);
    }
    apply(*store_, std::move(commands)).value();
    EXPECT_EQ(apply_one(create_webhook{a_webhook(), secret_of('a')}).problem,
              problem::storage_full);
    apply_one(delete_webhook{2});
    create();
    expect_sound(*store_);
}

// Two parties: a project gets another one while a third as many are left, whichever of its keys
// asks.
TEST_F(webhooks, of_one_project_leave_room_to_others) {
    unsigned number = 0;
    auto const add_key = [&](std::string const& project) {
        auto record = key_number(++number, {"webhooks:*", "changes:read"});
        record.project = project;
        return get_key(one(*store_, new_key(record))).id;
    };
    command request{.action = create_webhook{a_webhook(), secret_of('a')},
                    .required_scope = model::scope::webhooks_write};
    auto const fill = [&](model::id caller, std::size_t count) {
        request.caller = caller;
        for (std::size_t left = count; left != 0;) {
            auto const part = std::min<std::size_t>(left, 50);
            left -= part;
            for (auto const& each : apply(*store_, std::vector(part, request)).value())
                ASSERT_EQ(each.problem, problem::none) << each.detail;
        }
    };
    auto const share = webhooks_max / 4;
    for (int i = 0; i < 3; ++i) fill(add_key("shop"), share);
    request.caller = add_key("shop");
    auto const refusal = one(*store_, request);
    EXPECT_EQ(refusal.problem, problem::storage_full);
    EXPECT_TRUE(refusal.detail.starts_with("This project has 750 webhooks and 250 are left"))
        << refusal.detail;
    fill(add_key("till"), share / 2);
}

TEST_F(webhooks, keep_the_outcome_of_a_creation_without_the_secret) {
    command request{.action = create_webhook{a_webhook(), secret_of('q')}};
    request.action = [&] {
        auto record = a_webhook();
        record.headers = {{"X-Key", "hidden-value"}};
        return create_webhook{record, secret_of('q')};
    }();
    request.idempotency = idempotency{1, {}, {}};
    auto const first = one(*store_, request);
    auto const second = one(*store_, request);
    EXPECT_FALSE(first.replayed);
    EXPECT_TRUE(second.replayed);
    EXPECT_EQ(told(first).entry.webhook.id, told(second).entry.webhook.id);
    EXPECT_EQ(told(second).entry.webhook.headers[0].first, "X-Key");
    EXPECT_EQ(file().find("hidden-value"), std::string::npos);
    EXPECT_EQ(file().find("qqqq"), std::string::npos);
}

}  // namespace
}  // namespace latchkey::domain
