// The work that bodies cause, counted instead of timed (work_counter.hpp): on every route, no body
// costs more than five times an ordinary event of the same size. From 2 KiB on: a smaller body
// costs less than the rest of its request.
#include <boost/json/parse.hpp>

#include "api/frame/json/json_reader.hpp"
#include "harness.hpp"
#include "nasty_bodies.hpp"
#include "work_counter.hpp"

namespace latchkey::api {
namespace {

constexpr std::uint64_t times_plain_max = 5;

struct target {
    std::string_view line;
    std::size_t bytes_max = 1024 * 1024;
    bool key_in_body = false;
    bool once = false;  // with an Idempotency-Key
};

constexpr target event = {"POST /api/v1/events/shop", 256 * 1024};

constexpr target targets[] = {
    event,
    {"POST /api/v1/users"},
    {"POST /api/v1/users", 1024 * 1024, false, true},
    {"POST /api/v1/users", 128 * 1024, true},
    {"PATCH /api/v1/posts/1"},
    {"POST /api/v1/keys"},
    {"PATCH /api/v1/keys/1"},
    {"POST /api/v1/keys/verify"},
    {"POST /api/v1/keys/current/deactivate"},
    {"PUT /api/v1/events/shop/secret"},
};

class work : public api_test {
  protected:
    void SetUp() override {
        test::begin_work();
        read_json("[1,2,3]");
        ASSERT_NE(test::end_work(), 0u) << "this build counts nothing";
        service.request("GET /api/v1/users");  // initializes what is made once
        cost_of("POST /api/v1/users", {}, "{}");
    }

    // The work from the first byte of the request to its response or its store command.
    std::uint64_t cost_of(std::string_view line, lines const& fields, std::string_view body) {
        auto text = request_text(line, fields, body);
        test::begin_work();
        http::request request;
        http::framing framing;
        http::response answer;
        auto const head = http::parser(service.http_limits).read_head(text, request, framing);
        EXPECT_EQ(head.state, http::step::progress::complete);
        request.body = std::string_view(text).substr(head.consumed);
        service.exchange.begin(service.services(), request, framing, service.peer, service.now,
                               answer) == next_step::read_body
            ? service.exchange.finish(service.services(), request, service.now, answer)
            : next_step::respond;
        status = answer.status;
        auto const units = test::end_work();
        service.exchange.take_command();
        return units;
    }
    std::uint64_t cost_of(target const& target, std::string_view body) {
        lines fields;
        if (!target.key_in_body) fields.push_back(bearer(service.key));
        if (target.once) fields.push_back("Idempotency-Key: " + std::to_string(++count));
        return cost_of(target.line, fields, body);
    }
    void compare(target const& target, std::string_view name, std::string const& body) {
        auto const plain = cost_of(event, plain_body(body.size()));
        auto const units = cost_of(target, body);
        EXPECT_LE(units, times_plain_max * plain)
            << target.line << (target.key_in_body ? ", key in the body, " : ", ")
            << (target.once ? "once, " : "") << name << ", " << body.size() << " bytes";
        worst = std::max(worst, double(units) / double(plain));
    }

    int status = 0;
    int count = 0;
    double worst = 0;
};

TEST_F(work, of_no_body_is_more_than_five_times_the_plain_one) {
    for (auto const& target : targets)
        for (std::size_t const bytes : {2, 4, 16, 64, 256, 1024})
            if (bytes * 1024 <= target.bytes_max)
                for (auto const& each : nasty_bodies)
                    compare(target, each.name, each.make(bytes * 1024));
    RecordProperty("worst", std::to_string(worst));
}

// An object with a hash table in Boost.JSON: the salt is the table's address, and a large mapped
// block has only a few possible addresses.
TEST_F(work, of_names_that_collide_in_a_large_table_is_no_more) {
    constexpr std::size_t members = 8192;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < members; ++i) names.push_back(name_number(i, 5));
    auto const probe = boost::json::parse(object_of(names));
    auto const table = reinterpret_cast<std::uintptr_t>(probe.as_object().begin()) - 16;
    for (std::uint64_t const salt : {table, table ^ 4096}) {
        auto const body = object_of(colliding_names(members, salt));
        for (auto const& target : targets)
            if (body.size() <= target.bytes_max) compare(target, "a large table", body);
    }
    RecordProperty("worst", std::to_string(worst));
}

// The counter works: it detects a look-up in a table in which all names collide.
TEST_F(work, is_counted_where_names_collide) {
    auto const units_of = [](std::string const& text) {
        test::begin_work();
        boost::json::parse(text);
        return test::end_work();
    };
    std::vector<std::string> plain;
    for (std::size_t i = 0; i < 512; ++i) plain.push_back(name_number(i * 7919, 5));
    std::uint64_t most = 0;
    for (std::uint64_t salt = 0; salt < 512; salt += 16)
        most = std::max(most, units_of(object_of(colliding_names(512, salt))));
    EXPECT_GT(most, 5 * units_of(object_of(plain)));
}

TEST_F(work, of_a_body_without_a_key_builds_no_document) {
    target const bare = {"POST /api/v1/users", 128 * 1024, true};
    auto const body = members_body(90 * 1024, "", 3);
    compare(bare, "members", body);
    EXPECT_EQ(status, 401);
}

}  // namespace
}  // namespace latchkey::api
