// A client of the service in a `world`: some requests, one after the other or all at once, whole or
// broken off, patient or not. It knows each byte that must come back and when the end may come.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../uring/talker.hpp"
#include "answers.hpp"
#include "fault_house.hpp"

namespace latchkey::fake {

class visitor;

// A user whose creation was asked for. Under an Idempotency-Key it may be asked for again when the
// connection was cut.
struct creation {
    std::string name, email, once;
    std::string id;  // once it was answered
};

// All visitors of a run, and what they have been told.
class crowd {
  public:
    crowd(world& in, house& at) : world_(in), house_(at) {}

    void send_one();
    void ask_again(std::shared_ptr<creation> what);
    // From now on nobody is served to the end.
    void excuse_all();
    // No visitor waits any more.
    void expect_ended() const;
    // Nor is the store another than they know it: it has what they were told and nothing twice.
    void expect_satisfied();

  private:
    friend class visitor;
    world& world_;
    house& house_;
    std::vector<std::unique_ptr<visitor>> all_;
    std::vector<std::shared_ptr<creation>> creations_;
    int names_ = 0, requests_ = 0;
    bool excused_ = false;
};

class visitor final : public talker {
  public:
    explicit visitor(crowd& with);
    void begin();
    void begin_again(std::shared_ptr<creation> what);

  private:
    enum class turn_out : unsigned char { as_asked, overloaded, in_progress };
    struct possibility {
        turn_out what;
        bool close;
    };
    struct exchange {
        std::string request;
        answer expected;
        std::vector<possibility> possibilities;
        bool last = false;       // the request says so, or what is wrong with it
        bool cut_short = false;  // the rest of it never comes
        std::shared_ptr<creation> creates;
        std::string of_post;  // beginning of its location
    };

    void plan(int count);
    void plan_flood();
    std::string proxy_header();
    exchange make();
    exchange read_user();
    exchange read_posts();
    exchange read_nothing();
    exchange find_user();
    exchange make_user();
    exchange creation_of(std::shared_ptr<creation> what, bool again);
    exchange make_post(std::size_t size);
    exchange too_large();
    exchange malformed();
    exchange half_a_head();
    exchange half_a_body();
    void expect(exchange& of, made_answer as_asked);
    void expect_refusals(exchange& of, std::string_view request_id);
    std::string next_id();
    std::string head(std::string_view line, std::string_view id, std::string_view more = "");
    std::string with_body(std::string_view line, std::string_view id, std::string const& body,
                          std::string_view more);

    void ask_next();
    void heard(std::string_view bytes) override;
    void answered(possibility how);
    void ended(bool broken) override;
    bool may_end() const;

    crowd& crowd_;
    std::deque<exchange> plan_, asked_;
    bool all_at_once_ = false;
    bool closed_ = false;  // an answer said that it is the last
    bool stays_idle_ = false;
    bool hung_up_ = false;
    base::mono_ns last_heard_ = 0;
    std::string heard_so_far_;  // of the answer that is coming
};

}  // namespace latchkey::fake
