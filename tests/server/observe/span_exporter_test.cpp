#include "server/observe/span_exporter.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "base/time_units.hpp"

namespace latchkey::server {
namespace {

constexpr base::mono_ns helper_patience = 10 * base::second;

trace::protocol::settings settings_of(std::string service_name) {
    trace::protocol::settings settings;
    settings.endpoint = "http://127.0.0.1:4318/v1/traces";
    settings.service_name = std::move(service_name);
    return settings;
}

// An exporter with one ring, and its helper's side of the socket, where this test plays one helper
// after another.
class exporter_fixture : public testing::Test {
  protected:
    exporter_fixture() {
        auto ends = kit::make_socket_pair();
        exporter = std::make_unique<span_exporter>(std::move(ends->first));
        helper = std::make_unique<kit::channel>(std::move(ends->second));
        exporter->add(ring);
        exporter->use(settings_of("first"));
    }
    void turn() { exporter->turn(base::read_mono()); }
    void say(trace::protocol::message const& content) {
        ASSERT_TRUE(
            helper->send(trace::protocol::encode(content), base::read_mono() + helper_patience));
    }
    // As a helper with a session of its own.
    void greet() {
        say(trace::protocol::hello{trace::protocol::protocol_version, ++last_session_});
    }
    // The answer to `greet`.
    void expect_begin(std::string service_name) {
        EXPECT_EQ(hear(), trace::protocol::message(trace::protocol::begin{last_session_}));
        EXPECT_EQ(hear(), trace::protocol::message(settings_of(std::move(service_name))));
    }
    // nullopt: there is none. Views in spans do not outlive the next call.
    std::optional<trace::protocol::message> hear() {
        auto bytes = helper->receive();
        if (!bytes || !*bytes) return std::nullopt;
        last_bytes_ = std::move(**bytes);
        return trace::protocol::decode(last_bytes_).value();
    }
    void push(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) ring.push({.key_id = ++last_key_});
    }

    trace::protocol::span_ring ring;
    std::unique_ptr<span_exporter> exporter;
    std::unique_ptr<kit::channel> helper;

  private:
    std::string last_bytes_;
    std::uint64_t last_key_ = 0, last_session_ = 0;
};

TEST_F(exporter_fixture, keeps_spans_in_the_ring_until_a_helper_greets) {
    push(3);
    turn();
    EXPECT_EQ(hear(), std::nullopt);
    greet();
    turn();
    expect_begin("first");
    auto const content = hear();
    auto const* const batch = std::get_if<trace::protocol::batch>(&content.value());
    ASSERT_NE(batch, nullptr);
    ASSERT_EQ(batch->spans.size(), 3u);
    EXPECT_EQ(batch->spans[2].key_id, 3u);
    EXPECT_EQ(exporter->count().exported, 0u) << "nothing is reported yet";
    say(trace::protocol::report{2, 1, ""});
    turn();
    EXPECT_EQ(exporter->count().exported, 2u);
    EXPECT_EQ(exporter->count().dropped_by_helper, 1u);
    EXPECT_EQ(exporter->count().dropped_by_rings, 0u);
}

TEST_F(exporter_fixture, tells_settings_that_a_reload_has_changed_to_this_helper_and_the_next) {
    greet();
    turn();
    expect_begin("first");
    exporter->use(settings_of("first"));
    turn();
    EXPECT_EQ(hear(), std::nullopt) << "nothing has changed";
    exporter->use(settings_of("second"));
    turn();
    EXPECT_EQ(hear(), trace::protocol::message(settings_of("second")));
    greet();
    turn();
    expect_begin("second");
}

TEST_F(exporter_fixture, counts_what_a_helper_that_died_had_as_dropped) {
    greet();
    push(10);
    turn();
    say(trace::protocol::report{4, 1, ""});
    turn();
    push(2);
    greet();  // another one, in its place
    turn();
    EXPECT_EQ(exporter->count().exported, 4u);
    EXPECT_EQ(exporter->count().dropped_by_helper, 6u) << "one that it told, and five with it";
    say(trace::protocol::report{2, 0, ""});
    turn();
    EXPECT_EQ(exporter->count().exported, 6u);
    EXPECT_EQ(exporter->count().dropped_by_helper, 6u);
}

TEST_F(exporter_fixture, gives_up_a_helper_that_reports_more_than_it_was_sent) {
    greet();
    push(2);
    turn();
    say(trace::protocol::report{2, 1, ""});
    push(1);
    turn();
    EXPECT_EQ(exporter->count().exported, 0u);
    greet();
    turn();
    while (auto const content = hear())
        EXPECT_FALSE(std::holds_alternative<trace::protocol::begin>(*content) &&
                     std::get<trace::protocol::begin>(*content).session == 2);
}

TEST_F(exporter_fixture, leaves_spans_in_the_ring_while_the_helper_reads_nothing) {
    greet();
    turn();
    constexpr std::size_t far_too_many = 100'000;
    for (std::size_t i = 0; i < far_too_many / 1000; ++i) push(1000), turn();
    auto const losses = exporter->count().dropped_by_rings;
    EXPECT_GT(losses, far_too_many / 2) << "what neither the socket nor the queue takes";
    std::size_t arrivals = 0;
    for (std::size_t idle_turns = 0; idle_turns < 3; turn(), ++idle_turns)
        while (auto const content = hear()) {
            idle_turns = 0;
            if (auto const* const batch = std::get_if<trace::protocol::batch>(&*content))
                arrivals += batch->spans.size();
        }
    EXPECT_EQ(arrivals + losses, far_too_many) << "each has arrived or was counted";
}

TEST_F(exporter_fixture, waits_at_the_end_for_the_last_report) {
    greet();
    turn();
    push(2);
    std::thread other([this] {
        for (bool is_flushed = false; !is_flushed;) {
            auto const bytes = helper->receive_until(base::read_mono() + helper_patience);
            if (!bytes || !*bytes) return;
            auto const content = trace::protocol::decode(**bytes).value();
            is_flushed = std::holds_alternative<trace::protocol::flush>(content);
        }
        say(trace::protocol::report{2, 0, ""});
    });
    exporter->finish(base::read_mono() + helper_patience);
    other.join();
    EXPECT_EQ(exporter->count().exported, 2u);
}

TEST_F(exporter_fixture, waits_for_no_endpoint_that_fails_and_no_longer_than_its_deadline) {
    greet();
    turn();
    push(2);
    auto const start = base::read_mono();
    exporter->finish(start + base::second / 10);
    EXPECT_GE(base::read_mono() - start, base::second / 10) << "there is no report";
    say(trace::protocol::report{0, 0, "the endpoint answered 503"});
    exporter->finish(base::read_mono() + helper_patience);
    EXPECT_LT(base::read_mono() - start, helper_patience);
}

TEST_F(exporter_fixture, says_nothing_to_a_helper_of_another_version_or_to_none) {
    say(trace::protocol::hello{trace::protocol::protocol_version + 1, 1});
    push(1);
    turn();
    EXPECT_EQ(hear(), std::nullopt);
    greet();
    turn();
    EXPECT_EQ(hear(), std::nullopt) << "it is given up for good";
    auto const start = base::read_mono();
    exporter->finish(start + helper_patience);
    EXPECT_LT(base::read_mono() - start, helper_patience);
}

TEST_F(exporter_fixture, goes_on_without_a_supervisor) {
    greet();
    turn();
    helper.reset();
    push(1);
    turn();
    turn();
    exporter->finish(base::read_mono() + helper_patience);
    EXPECT_EQ(exporter->count().exported, 0u);
}

}  // namespace
}  // namespace latchkey::server
