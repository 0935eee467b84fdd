// latchkey webhooks: each command, what it prints, what it refuses.
#include "auth/webhook_signature.hpp"
#include "command_fixture.hpp"
#include "domain/webhooks/webhook_lists.hpp"

namespace latchkey::cli {
namespace {

class webhooks_commands : public command_test {
  protected:
    command_result webhooks(std::vector<std::string> words) const {
        words.insert(words.begin(), "webhooks");
        return run(std::move(words));
    }
    void create() const {
        EXPECT_EQ(webhooks({"create", "https://hooks.example.com/in"}).code, done);
    }
    domain::signing_webhook stored(model::id id) const {
        auto const store = open();
        domain::snapshot snapshot(*store);
        snapshot.renew();
        return domain::find_signing_webhook(snapshot, id, snapshot.time()).value();
    }
    // Makes deliveries of the first change: as the service does.
    void deliver(model::id webhook, model::delivery_state state) const {
        auto const store = open();
        domain::webhook_result result{.webhook = webhook, .progress = {}, .replays = {}};
        result.deliveries = {
            {.sequence = 1,
             .state = state,
             .attempts = {{.time = 1, .status = 503, .error = {}, .response = {}}}}};
        std::vector<domain::command> commands(1);
        commands[0].action = domain::note_deliveries{{std::move(result)}};
        EXPECT_TRUE(domain::apply(*store, std::move(commands)));
    }
};

TEST_F(webhooks_commands, create_shows_the_secret_once) {
    auto const creation =
        webhooks({"create", "https://hooks.example.com/in", "--type", "user.*", "--type",
                  "key.expired", "--ordered", "--max-per-second", "50", "--signature", "v1",
                  "--signature", "v1a", "--description", "CRM"});
    ASSERT_EQ(creation.code, done) << creation.messages;
    auto const webhook = stored(1);
    auto const secret = std::string(auth::secret_text(webhook.secrets[0].hmac).text());
    EXPECT_EQ(creation.output, secret + "\n");
    EXPECT_TRUE(has(creation.messages, "this is the only time its secret is shown"));
    auto const public_key = auth::public_key_text(auth::public_key_of(webhook.secrets[0]));
    EXPECT_TRUE(has(creation.messages, public_key));
    EXPECT_EQ(webhook.webhook.types, (std::vector<std::string>{"user.*", "key.expired"}));
    EXPECT_TRUE(webhook.webhook.ordered);
    EXPECT_EQ(webhook.webhook.max_per_second, 50u);
    EXPECT_EQ(webhook.webhook.description, "CRM");
    EXPECT_EQ(webhook.webhook.created_by, 0);
    EXPECT_EQ(webhook.webhook.project, "");

    auto const json = webhooks({"create", "https://hooks.example.com/2", "--json"});
    auto const other = std::string(auth::secret_text(stored(2).secrets[0].hmac).text());
    EXPECT_TRUE(has(json.output, R"("secret":")" + other + "\"}\n"));
    EXPECT_EQ(json.messages, "");
    for (auto const& words : std::vector<std::vector<std::string>>{
             {"list"}, {"show", "1"}, {"list", "--json"}, {"show", "1", "--json"}}) {
        auto const view = webhooks(words);
        EXPECT_EQ(view.code, done);
        EXPECT_TRUE(has(view.output, "https://hooks.example.com/in")) << view.output;
        EXPECT_FALSE(has(view.output, "whsec_"));
    }
    EXPECT_TRUE(has(webhooks({"list", "--json"}).output, R"("total":2,)"));
    EXPECT_TRUE(has(webhooks({"show", "1"}).output, public_key));
}

TEST_F(webhooks_commands, refuse_wrong_values_before_a_store_is_made) {
    struct {
        std::vector<std::string> words;
        std::string_view message;
    } const rows[] = {
        {{"create", "http://hooks.example.com/"}, "url must begin with https://"},
        {{"create", "https://127.0.0.1/"}, "url must have a host of the public Internet"},
        {{"create", "https://a.example.com/", "--type", "user.gone", "--signature", "v2"},
         "types/0 must be a type of change"},
        {{"create", "https://a.example.com/", "--max-per-second", "10001"},
         "--max-per-second: must be a whole number from 0 to 10000"},
        {{"create", "https://a.example.com/", "--headers-file", "/nowhere"},
         "the header fields cannot be read from /nowhere"},
        {{"create"}, "URL is required"},
        {{"update", "0"}, "0"},
        {{"rotate-secret", "1", "--overlap", "49h"}, "--overlap must be 0 to 48h"},
        {{"replay", "1"}, "or `from_sequence` and `to_sequence`, or `from` and `to`"},
        {{"replay", "1", "--sequence", "1", "--from", "2026-01-02T00:00:00Z"}, "one of these"},
        {{"replay", "1", "--from", "monday"}, "from must be an RFC 3339 time"},
        {{"deliveries", "1", "--state", "lost"}, "--state must be pending, delivered or failed"},
        {{"deliveries", "1", "--limit", "101"}, "--limit"},
    };
    for (auto const& row : rows) {
        auto const refusal = webhooks(row.words);
        EXPECT_EQ(refusal.code, usage_error) << row.message;
        EXPECT_TRUE(has(refusal.messages, row.message)) << refusal.messages;
        EXPECT_EQ(refusal.output, "");
    }
    EXPECT_FALSE(std::filesystem::exists(data()));
}

TEST_F(webhooks_commands, take_the_networks_of_the_configuration) {
    auto const config = file("latchkey.toml", "[webhooks]\nallow_private = [\"127.0.0.0/8\"]\n");
    EXPECT_EQ(webhooks({"create", "http://127.0.0.1:9000/", "--config", config}).code, done);
    EXPECT_EQ(webhooks({"update", "1", "--new-url", "http://127.0.0.2/", "--webhooks-allow-private",
                        "127.0.0.0/8"})
                  .code,
              done);
    EXPECT_EQ(webhooks({"update", "1", "--new-url", "http://10.0.0.1/", "--config", config}).code,
              usage_error);
    EXPECT_EQ(stored(1).webhook.url, "http://127.0.0.2/");
}

TEST_F(webhooks_commands, take_header_fields_from_a_file) {
    auto const first = file("first", "Authorization: Bearer s3cret\r\n\nX-Trace:on\n");
    auto const creation =
        webhooks({"create", "https://hooks.example.com/", "--headers-file", first, "--json"});
    ASSERT_EQ(creation.code, done) << creation.messages;
    EXPECT_FALSE(has(creation.output, "s3cret"));
    using headers = std::vector<std::pair<std::string, std::string>>;
    EXPECT_EQ(stored(1).webhook.headers,
              (headers{{"Authorization", "Bearer s3cret"}, {"X-Trace", "on"}}));
    auto const next = file("next", "x-trace:\nX-More: 1");
    EXPECT_EQ(webhooks({"update", "1", "--headers-file", next}).code, done);
    EXPECT_EQ(stored(1).webhook.headers,
              (headers{{"Authorization", "Bearer s3cret"}, {"X-More", "1"}}));
    EXPECT_TRUE(has(webhooks({"show", "1"}).output, "header X-More"));
    EXPECT_EQ(webhooks({"update", "1", "--headers-file", file("bad", "no colon")}).code,
              usage_error);
    EXPECT_EQ(webhooks({"update", "1", "--headers-file", file("host", "Host: x")}).code,
              usage_error);
    EXPECT_EQ(webhooks({"create", "https://a.example.com/", "--headers-file",
                        file("large", std::string(65 * 1024, 'x'))})
                  .code,
              usage_error);
}

TEST_F(webhooks_commands, update_changes_what_is_given) {
    create();
    EXPECT_EQ(
        webhooks({"update", "1", "--ordered", "--max-per-second", "9", "--type", "post.*"}).code,
        done);
    EXPECT_EQ(webhooks({"update", "1", "--description", "d"}).code, done);
    auto const webhook = stored(1).webhook;
    EXPECT_TRUE(webhook.ordered);
    EXPECT_EQ(webhook.max_per_second, 9u);
    EXPECT_EQ(webhook.types, std::vector<std::string>{"post.*"});
    EXPECT_EQ(webhook.description, "d");
    EXPECT_EQ(webhooks({"update", "1", "--unordered", "--max-per-second", "0"}).code, done);
    EXPECT_FALSE(stored(1).webhook.ordered);
    EXPECT_EQ(stored(1).webhook.max_per_second, 0u);
    EXPECT_EQ(stored(1).webhook.url, "https://hooks.example.com/in");
}

TEST_F(webhooks_commands, disable_enable_rotate_and_delete) {
    create();
    auto const first = std::string(stored(1).secrets[0].hmac.text());
    EXPECT_TRUE(has(webhooks({"disable", "1", "--json"}).output, R"("disabled_reason":"manual")"));
    EXPECT_TRUE(has(webhooks({"list"}).output, "disabled (manual)"));
    auto const refusal = webhooks({"test", "1"});
    EXPECT_EQ(refusal.code, failed);
    EXPECT_TRUE(has(refusal.messages, "disabled")) << refusal.messages;
    EXPECT_EQ(webhooks({"enable", "1"}).code, done);
    EXPECT_TRUE(stored(1).webhook.is_enabled());

    auto const rotated = webhooks({"rotate-secret", "1", "--overlap", "1h"});
    EXPECT_TRUE(rotated.output.starts_with("whsec_")) << rotated.messages;
    EXPECT_EQ(stored(1).secrets.size(), 2u);
    EXPECT_NE(stored(1).secrets[0].hmac.text(), first);
    EXPECT_EQ(webhooks({"rotate-secret", "1", "--overlap", "0"}).code, done);
    EXPECT_EQ(stored(1).secrets.size(), 1u);

    EXPECT_EQ(webhooks({"delete", "1", "--json"}).output, "{\"id\":1,\"deleted\":true}\n");
    for (auto const* const name :
         {"delete", "show", "enable", "disable", "rotate-secret", "test", "deliveries", "update"}) {
        std::vector<std::string> words{name, "1"};
        if (words[0] == "update") words.push_back("--ordered");
        auto const missing = webhooks(words);
        EXPECT_EQ(missing.code, failed) << name;
        EXPECT_TRUE(has(missing.messages, "no webhook 1")) << missing.messages;
    }
}

TEST_F(webhooks_commands, test_replay_and_show_deliveries) {
    add_users({"ada", "bob", "eve"});
    create();
    auto const tested = webhooks({"test", "1", "--json"});
    EXPECT_EQ(tested.code, done) << tested.messages;
    EXPECT_TRUE(tested.output.starts_with(R"({"sequence":4,"type":"webhook.test",)"));
    EXPECT_TRUE(has(webhooks({"test", "1"}).messages, "change 5"));

    EXPECT_EQ(
        webhooks({"replay", "1", "--from-sequence", "1", "--to-sequence", "3", "--json"}).output,
        "{\"from_sequence\":1,\"to_sequence\":3}\n");
    EXPECT_EQ(webhooks({"replay", "1", "--sequence", "2", "--sequence", "4", "--json"}).output,
              "{\"from_sequence\":2,\"to_sequence\":4}\n");
    EXPECT_TRUE(has(webhooks({"replay", "1", "--from", "2020-01-01"}).messages, "from 1 to 5"));
    EXPECT_EQ(webhooks({"replay", "1", "--sequence", "99"}).code, usage_error);
    EXPECT_EQ(webhooks({"replay", "1", "--from-sequence", "99"}).code, usage_error);
    EXPECT_EQ(webhooks({"replay", "2", "--sequence", "1"}).code, failed) << "there is none";

    EXPECT_EQ(webhooks({"deliveries", "1", "--json"}).output,
              "{\"data\":[],\"pagination\":{\"next_before\":null,\"has_more\":false}}\n");
    deliver(1, model::delivery_state::failed);
    auto const text = webhooks({"deliveries", "1", "--state", "failed"}).output;
    EXPECT_TRUE(has(text, "user.created  failed  1")) << text;
    EXPECT_TRUE(has(text, "503"));
    EXPECT_FALSE(has(webhooks({"deliveries", "1", "--state", "pending"}).output, "503"));
    auto const json = webhooks({"deliveries", "1", "--json"}).output;
    EXPECT_TRUE(has(json, R"("message_id":"msg_1_)")) << json;
    EXPECT_TRUE(has(json, R"("status":503)")) << json;
}

}  // namespace
}  // namespace latchkey::cli
