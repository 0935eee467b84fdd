// Runs the cases of http2_conformance.hpp: each whole, cut in two at every byte, and byte by byte,
// with one outcome. A connection that the outcome does not end serves a request afterwards.
#include "http2_conformance.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "http2_conversation.hpp"
#include "http2_reader.hpp"

namespace latchkey::session::conformance {
namespace {

constexpr table_maker tables[] = {preface_cases,
                                  framing_cases,
                                  block_cases,
                                  idle_stream_cases,
                                  closed_stream_cases,
                                  half_closed_stream_cases,
                                  stream_number_cases,
                                  concurrency_cases,
                                  error_cases,
                                  extension_cases,
                                  data_cases,
                                  headers_cases,
                                  priority_cases,
                                  priority_update_cases,
                                  reset_cases,
                                  settings_cases,
                                  setting_value_cases,
                                  push_and_ping_cases,
                                  goaway_cases,
                                  window_cases,
                                  initial_window_cases,
                                  continuation_cases,
                                  message_cases,
                                  length_cases,
                                  field_name_cases,
                                  field_value_cases,
                                  connection_field_cases,
                                  pseudo_header_cases,
                                  target_cases,
                                  trailer_cases,
                                  early_answer_cases,
                                  header_table_cases,
                                  representation_cases,
                                  integer_and_string_cases,
                                  update_cases};

struct case_place {
    table_maker maker;
    std::size_t index;
    std::string title;

    friend void PrintTo(case_place const& place, std::ostream* output) { *output << place.title; }
};

// "6.5.2 ENABLE_PUSH of 2" as the name of a test.
std::string title_of(http2_case const& one) {
    auto title = std::string(one.section) + " " + one.name;
    for (auto& byte : title)
        if (std::isalnum(static_cast<unsigned char>(byte)) == 0) byte = '_';
    return title;
}

std::vector<case_place> all_places() {
    std::vector<case_place> places;
    script::client const dummy{std::string(48, 'k')};
    for (auto const maker : tables) {
        auto const cases = maker(dummy);
        for (std::size_t i = 0; i < cases.size(); ++i)
            places.push_back({maker, i, title_of(cases[i])});
    }
    return places;
}

// Where a script is cut: everywhere, but in the content of a large frame, whose bytes the session
// takes at once, only now and then.
std::vector<std::size_t> cuts_of(std::string_view script, bool has_preface) {
    constexpr std::size_t dense_bytes = 400, stride = 251;
    std::vector<std::size_t> cuts;
    std::size_t frame_begin = has_preface ? std::min(script.size(), h2::preface.size()) : 0;
    for (std::size_t cut = 1; cut < frame_begin; ++cut) cuts.push_back(cut);
    while (frame_begin < script.size()) {
        auto const rest = script.substr(frame_begin);
        auto const has_head = rest.size() >= h2::frame_head_bytes;
        auto const length = has_head ? h2::read_frame_head(rest.data()).length : 0;
        auto const size = std::min(rest.size(), h2::frame_head_bytes + std::size_t{length});
        for (std::size_t i = 0; i < size; ++i) {
            bool const in_the_middle = i > dense_bytes && i + 16 < size;
            if (frame_begin + i != 0 && (!in_the_middle || i % stride == 0))
                cuts.push_back(frame_begin + i);
        }
        frame_begin += size;
    }
    return cuts;
}

class http2_conformance : public ::testing::TestWithParam<case_place> {
  protected:
    static void SetUpTestSuite() {
        service = std::make_unique<api_fixture>();
        service->add_user();
    }
    static void TearDownTestSuite() { service.reset(); }

    // What came back of the script, cut in pieces; then the connection is tried.
    static std::string run(http2_case const& one, std::vector<std::size_t> const& cuts) {
        auto const& conditions = one.conditions;
        http2_conversation server(*service, conditions.settings);
        server.server.now = service->now;
        server.grants_bodies = conditions.grants_bodies;
        if (conditions.holds_commits) server.hold_commits();
        http2_reader reader;
        if (conditions.opening != opening::none) {
            auto const start = script::settings_of() + script::settings_ack();
            reader.expect_acknowledgements(start);
            server.receive(std::string(h2::preface) + start);
            if (conditions.opening == opening::draining) {
                server.server.draining = true;
                server.wake(wake_reason::bytes);
            }
            reader.read(server.take_output());
        }
        reader.expect_acknowledgements(one.script);
        std::string_view const text = one.script;
        std::size_t begin = 0;
        for (auto const cut : cuts) {
            server.receive(text.substr(begin, cut - begin));
            begin = cut;
        }
        server.receive(text.substr(begin));
        reader.read(server.take_output());
        auto events = reader.events();
        check_circumstances(conditions, reader);
        bool const goes = events.find("GOAWAY") != events.npos;
        if (server.closed() && !goes) events += events.empty() ? "closed" : "; closed";
        if (goes) EXPECT_TRUE(server.closed());
        if (!server.closed()) try_connection(server, conditions, reader);
        return events;
    }

    static void check_circumstances(circumstances const& conditions, http2_reader const& reader) {
        if (conditions.contents) EXPECT_EQ(reader.contents(), *conditions.contents);
        if (conditions.last_stream) EXPECT_EQ(reader.last_stream(), conditions.last_stream);
    }

    static void try_connection(http2_conversation& server, circumstances const& conditions,
                               http2_reader& reader) {
        script::client const one(service->key);
        server.receive(script::ping("is it up"));
        if (conditions.next_stream != 0) server.receive(one.get(conditions.next_stream));
        reader.read(server.take_output());
        auto const events = reader.events();
        auto expected = std::string("pong is it up");
        if (conditions.next_stream != 0)
            expected += "; " + std::to_string(conditions.next_stream) + ": 200";
        EXPECT_EQ(events.substr(0, expected.size()), expected) << "the connection afterwards";
    }

    static std::unique_ptr<api_fixture> service;
};
std::unique_ptr<api_fixture> http2_conformance::service;

TEST_P(http2_conformance, holds) {
    auto const one = GetParam().maker(script::client(service->key))[GetParam().index];
    SCOPED_TRACE("RFC section " + std::string(one.section) + ": " + one.name);
    auto const outcome = run(one, {});
    ASSERT_TRUE(std::ranges::find(one.outcomes, outcome) != one.outcomes.end())
        << "came: " << outcome << "\nexpected: " << ::testing::PrintToString(one.outcomes);
    if (HasFailure()) return;
    auto const cuts = cuts_of(one.script, one.conditions.opening == opening::none);
    for (auto const cut : cuts) {
        ASSERT_EQ(run(one, {cut}), outcome) << "cut in two at " << cut;
        ASSERT_FALSE(HasFailure()) << "cut in two at " << cut;
    }
    EXPECT_EQ(run(one, cuts), outcome) << "byte by byte";
}

INSTANTIATE_TEST_SUITE_P(rfc, http2_conformance, ::testing::ValuesIn(all_places()),
                         [](auto const& info) { return info.param.title; });

// The public tools that hold a server against these RFCs have 146 cases.
TEST(http2_conformance_tables, have_cases_for_all_sections) {
    EXPECT_GE(all_places().size(), 146u);
}

}  // namespace
}  // namespace latchkey::session::conformance
