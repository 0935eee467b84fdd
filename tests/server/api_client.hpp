// A client of the service in a simulated `world`: some requests, in sequence or pipelined, whole or
// broken off, patient or not. It knows each byte that must come back, and when the connection may
// end.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../runtime/uring/sim_client.hpp"
#include "expected_response.hpp"
#include "worker_fixture.hpp"

namespace latchkey::fake {

class api_client;
class http2_api_client;

// A user whose creation was requested. Under an Idempotency-Key the request is repeated where the
// connection was cut.
struct user_creation {
    std::string name, email, idempotency_key;
    std::string id;  // once it is known
};

// All clients of a run, and what was acknowledged to them.
class api_clients {
  public:
    api_clients(world& simulation, worker_fixture& fixture)
        : world_(simulation), fixture_(fixture) {}

    void start_client();
    void repeat_creation(std::shared_ptr<user_creation> user);
    // From now on a connection may end at any time.
    void allow_any_end();
    // No client is waiting for anything.
    void expect_ended() const;
    // The same, and the store has what was acknowledged and nothing twice.
    void expect_store_matches();

  private:
    friend class api_client;
    friend class http2_api_client;
    std::shared_ptr<user_creation> plan_creation();
    world& world_;
    worker_fixture& fixture_;
    std::vector<std::unique_ptr<sim_client>> all_;
    std::vector<std::shared_ptr<user_creation>> creations_;
    int names_ = 0, requests_ = 0;
    bool any_end_allowed_ = false;
};

class api_client final : public sim_client {
  public:
    explicit api_client(api_clients& clients);
    void begin();
    void begin_creation(std::shared_ptr<user_creation> user);

  private:
    enum class result : unsigned char { success, overloaded, in_progress };
    struct alternative {
        result outcome;
        bool close;
    };
    struct planned_request {
        std::string text;
        response_matcher expected;
        std::vector<alternative> alternatives;
        bool last = false;       // the connection ends after the response
        bool cut_short = false;  // the rest is never sent
        std::shared_ptr<user_creation> creation;
        std::string post_location;  // beginning of its location
    };

    void plan_requests(int count);
    void plan_flood();
    std::string proxy_header();
    planned_request choose_request();
    planned_request read_user();
    planned_request read_posts();
    planned_request read_nothing();
    planned_request find_user();
    planned_request create_new_user();
    planned_request create_user(std::shared_ptr<user_creation> user, bool repeated);
    planned_request create_post(std::size_t size);
    planned_request too_large();
    planned_request malformed();
    planned_request half_a_head();
    planned_request half_a_body();
    void expect(planned_request& request, response_text response);
    void expect_refusals(planned_request& request, std::string_view request_id);
    std::string next_id();
    std::string head(std::string_view line, std::string_view id, std::string_view fields = "");
    std::string with_body(std::string_view line, std::string_view id, std::string const& body,
                          std::string_view fields);

    void send_next();
    void on_data(std::string_view bytes) override;
    void answered(alternative outcome);
    void on_end(bool broken) override;
    bool may_close() const;

    api_clients& clients_;
    std::deque<planned_request> planned_, sent_;
    bool pipelines_ = false;
    bool closed_ = false;  // a response said `Connection: close`
    bool stays_idle_ = false;
    bool input_ended_ = false;
    base::mono_ns last_data_time_ = 0;
    std::string partial_response_;
};

}  // namespace latchkey::fake
