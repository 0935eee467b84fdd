// The dispatcher over a real store and writer, with a helper that the test plays.
#include "delivery/dispatcher.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "domain/admin/check_consistency.hpp"
#include "domain/webhooks/webhook_lists.hpp"
#include "tests/domain/support.hpp"

namespace latchkey::delivery {
namespace {

using domain::one;

struct dispatcher_test : testing::Test {
    dispatcher_test() {
        auto sockets = kit::make_socket_pair();
        link = std::make_unique<deliver::protocol::helper_link>(std::move(sockets->first));
        helper = std::make_unique<kit::channel>(std::move(sockets->second));
        begin();
    }
    ~dispatcher_test() override {
        while (!instance->give_up()) ::usleep(1000);
        domain::expect_sound(*store);
        ::close(event);
    }
    void begin() {
        if (instance)
            while (!instance->give_up()) ::usleep(1000);
        instance.emplace(dispatcher_options{.store = *store,
                                            .writer = writer,
                                            .link = *link,
                                            .allow = {},
                                            .event = event,
                                            .seed = 5,
                                            .node_name = {}});
    }
    void greet(std::uint64_t session) {
        say(deliver::protocol::hello{deliver::protocol::protocol_version, session});
    }
    void say(deliver::protocol::message const& content) {
        ASSERT_TRUE(helper->send(encode(content), base::read_mono() + 10 * base::second));
    }
    // Turns until an attempt has come; nullopt: none has within so many turns.
    std::optional<deliver::protocol::attempt> hear(int turns = 200) {
        for (; turns > 0; --turns) {
            turn();
            auto const bytes = helper->receive();
            if (!bytes || !*bytes) continue;
            auto const content = deliver::protocol::decode(**bytes);
            if (!content) continue;
            if (auto const* const attempt = std::get_if<deliver::protocol::attempt>(&*content))
                return *attempt;
            turns += 1;
        }
        return std::nullopt;
    }
    void answer(deliver::protocol::attempt const& attempt, std::uint16_t status) {
        say(deliver::protocol::result{
            .number = attempt.number, .status = status, .duration_ms = 3});
    }
    void turn(base::wall_ms pass = 25) {
        shift += pass;
        auto now = base::read_clocks();
        now.mono += shift * base::millisecond;
        now.wall = now.clock = store->time() + shift;
        instance->turn(now);
        pollfd polled{event, POLLIN, 0};
        ::poll(&polled, 1, 1);
    }
    void settle() {
        for (int i = 0, quiet = 0; i < 5000 && quiet < 60; ++i) {
            turn();
            quiet = instance->is_busy() ? 0 : quiet + 1;
        }
    }
    model::id create_webhook(bool ordered = false) {
        model::webhook webhook{.url = "https://example.com/hook", .headers = {{"x-a", "b"}}};
        webhook.types = {"user.*", "event.*"};
        webhook.ordered = ordered;
        model::webhook_secret const secret{base::secret(std::string(32, 'a')),
                                           base::secret(std::string(32, 'b')), 0};
        auto const outcome = one(*store, {.action = domain::create_webhook{webhook, secret}});
        EXPECT_EQ(outcome.problem, base::problem::none);
        return std::get<domain::webhook_outcome>(outcome.record).entry.webhook.id;
    }
    void change() {
        auto const name = "user" + std::to_string(++users);
        get_user(one(*store, domain::new_user(name, name + "@example.org")));
    }
    template <class Query>
    auto view(Query query) {
        domain::snapshot snapshot(*store);
        snapshot.renew();
        return query(snapshot);
    }
    std::optional<model::delivery> delivery_of(model::id sequence, model::id webhook) {
        return view(
            [&](auto const& each) { return domain::find_delivery(each, sequence, webhook); });
    }
    model::webhook_progress progress(model::id webhook) {
        return view(
            [&](auto const& each) { return domain::find_webhook(each, webhook)->progress; });
    }

    domain::temporary_directory directory;
    std::unique_ptr<store::environment> store =
        store::environment::open({.directory = directory.path(),
                                  .map_bytes = 1 << 30,
                                  .sync = false,
                                  .records_changes = true})
            .value();
    domain::writer writer{*store};
    int event = ::eventfd(0, EFD_NONBLOCK);
    std::unique_ptr<deliver::protocol::helper_link> link;
    std::unique_ptr<kit::channel> helper;
    std::optional<dispatcher> instance;
    base::wall_ms shift = 0;
    unsigned users = 0;
};

TEST_F(dispatcher_test, sends_a_change_and_records_what_became_of_it) {
    greet(1);
    auto const webhook = create_webhook();
    change();
    auto const attempt = hear();
    ASSERT_TRUE(attempt);
    EXPECT_EQ(attempt->url, "https://example.com/hook");
    auto const field = [&](std::string_view name) {
        for (auto const& each : attempt->fields)
            if (each.name == name) return each.value;
        return std::string();
    };
    EXPECT_EQ(field("content-type"), "application/json");
    EXPECT_TRUE(field("webhook-id").starts_with("msg_1_"));
    EXPECT_EQ(field("x-a"), "b");
    EXPECT_FALSE(attempt->body.empty());
    EXPECT_EQ(instance->metrics().in_flight, 1);
    answer(*attempt, 204);
    settle();
    auto const delivery = delivery_of(1, webhook);
    ASSERT_TRUE(delivery);
    EXPECT_EQ(delivery->state, model::delivery_state::delivered);
    EXPECT_EQ(delivery->attempts.at(0).status, 204);
    EXPECT_EQ(progress(webhook).position, 1);
    EXPECT_EQ(instance->metrics().delivered, 1);
    EXPECT_EQ(instance->metrics().lag, 0);
}

TEST_F(dispatcher_test, tries_again_what_failed_also_after_its_own_death) {
    greet(1);
    auto const webhook = create_webhook();
    change();
    answer(hear().value(), 500);
    settle();
    EXPECT_EQ(delivery_of(1, webhook)->state, model::delivery_state::pending);
    EXPECT_EQ(progress(webhook).position, 1);
    EXPECT_NE(progress(webhook).failing_since, 0);
    begin();
    turn(5600);
    answer(hear().value(), 200);
    settle();
    auto const delivery = delivery_of(1, webhook);
    EXPECT_EQ(delivery->state, model::delivery_state::delivered);
    EXPECT_EQ(delivery->attempts.size(), 2);
    EXPECT_EQ(progress(webhook).failing_since, 0);
}

TEST_F(dispatcher_test, what_a_helper_took_with_it_is_sent_again_under_the_same_id) {
    greet(1);
    create_webhook();
    change();
    auto const first = hear();
    ASSERT_TRUE(first);
    greet(2);
    auto const second = hear();
    ASSERT_TRUE(second);
    EXPECT_NE(first->number, second->number);
    EXPECT_EQ(first->body, second->body);
    EXPECT_EQ(first->fields[2].value, second->fields[2].value);
    answer(*second, 200);
    settle();
    EXPECT_EQ(instance->metrics().delivered, 1);
    EXPECT_FALSE(hear(20));
}

TEST_F(dispatcher_test, sends_nothing_while_there_is_no_helper_and_goes_on_with_one) {
    create_webhook();
    change();
    EXPECT_FALSE(hear(20));
    greet(1);
    EXPECT_TRUE(hear());
}

TEST_F(dispatcher_test, gone_disables_the_webhook) {
    greet(1);
    auto const webhook = create_webhook();
    change();
    answer(hear().value(), 410);
    settle();
    auto const entry = view([&](auto const& each) { return *domain::find_webhook(each, webhook); });
    EXPECT_EQ(entry.webhook.end, model::webhook_end::gone);
    change();
    EXPECT_FALSE(hear(20));
    EXPECT_EQ(
        one(*store, {.action = domain::change_webhook{.id = webhook, .enabled = true}}).problem,
        base::problem::none);
    EXPECT_TRUE(hear());
}

TEST_F(dispatcher_test, drained_it_sends_nothing_but_commits_what_comes) {
    greet(1);
    auto const webhook = create_webhook();
    change();
    auto const attempt = hear();
    ASSERT_TRUE(attempt);
    instance->drain();
    change();
    EXPECT_FALSE(hear(20));
    answer(*attempt, 200);
    settle();
    EXPECT_EQ(delivery_of(1, webhook)->state, model::delivery_state::delivered);
    EXPECT_FALSE(delivery_of(2, webhook));
}

TEST_F(dispatcher_test, replay_and_test_are_noticed) {
    greet(1);
    auto const webhook = create_webhook();
    change();
    answer(hear().value(), 200);
    settle();
    EXPECT_EQ(
        one(*store, {.action = domain::replay_webhook{.id = webhook, .sequences = {1}}}).problem,
        base::problem::none);
    auto const again = hear();
    ASSERT_TRUE(again);
    EXPECT_TRUE(again->fields[2].value.starts_with("msg_1_"));
    answer(*again, 200);
    settle();
    EXPECT_TRUE(
        view([&](auto const& each) { return domain::read_replays(each, webhook); }).empty());
    EXPECT_EQ(one(*store, {.action = domain::test_webhook{webhook}}).problem, base::problem::none);
    auto const test = hear();
    ASSERT_TRUE(test);
    EXPECT_TRUE(test->fields[2].value.starts_with("msg_2_"));
}

// More bytes than the helper holds; what waits is stored, so that each start meets it again.
TEST_F(dispatcher_test, asks_for_room_before_each_attempt_also_after_a_start) {
    constexpr std::size_t webhook_count = 9, event_count = 40;
    for (std::size_t i = 0; i < webhook_count; ++i) create_webhook();
    std::string const payload = R"({"a":")" + std::string(255 * base::limits::kib, 'x') + R"("})";
    for (std::size_t i = 0; i < event_count; ++i)
        one(*store, {.action = domain::receive_event{.source = "shop", .payload = payload}});
    std::vector<deliver::protocol::attempt> attempts;
    for (std::uint64_t session = 1; session <= 2; ++session) {
        begin();
        greet(session);
        attempts.clear();
        std::size_t bytes = 0;
        while (auto attempt = hear(10)) {
            bytes += attempt->body.size();
            attempts.push_back(std::move(*attempt));
        }
        EXPECT_LE(bytes, deliver::protocol::attempts_bytes_max + payload.size());
        EXPECT_GE(attempts.size(), webhook_count);
    }
    for (std::size_t i = 0; i < attempts.size(); ++i) {
        answer(attempts[i], 200);
        while (auto attempt = hear(2)) attempts.push_back(std::move(*attempt));
    }
    settle();
    EXPECT_EQ(instance->metrics().delivered, webhook_count * event_count);
}

}  // namespace
}  // namespace latchkey::delivery
