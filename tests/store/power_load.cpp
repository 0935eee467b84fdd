#include "power_load.hpp"

namespace latchkey::store {
namespace {

// Of the ids that were given out, some gone.
class generator {
  public:
    generator(std::mt19937_64& random, known_content const& known)
        : random_(random), known_(known) {}

    command next() {
        auto what = whatever();
        bool const secret = std::holds_alternative<put_event_secret>(what.what);
        if (!secret && chance(20)) what.once = once_number(static_cast<unsigned>(below(once_max)));
        return what;
    }

  private:
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    bool chance(unsigned percent) { return below(100) < percent; }
    // The younger ones more often.
    model::id some_id(std::size_t kind) {
        auto const last = known_.last[kind];
        if (last == 0) return 1;
        auto const back = static_cast<model::id>(below(chance(70) ? 20 : 200));
        return std::max<model::id>(1, last - back);
    }
    std::string text(std::size_t most) {
        return std::string(1 + below(most), static_cast<char>('a' + below(26)));
    }
    // Some take pages of their own, some many in a row.
    std::string body() { return text(chance(10) ? 30'000 : chance(30) ? 3000 : 200); }
    std::string source() { return chance(50) ? "shop" : "till"; }
    unsigned fresh() { return static_cast<unsigned>(random_()); }

    command whatever() {
        auto const pick = below(100);
        if (pick < 15) return new_user(text(40), std::to_string(random_()) + "@example.org");
        if (pick < 40)
            return new_post(some_id(0), text(20), static_cast<model::post_status>(below(3)),
                            body());
        if (pick < 48) return {.what = change_post{.id = some_id(1), .body = body()}};
        if (pick < 54) return {.what = change_user{.id = some_id(0), .name = text(40)}};
        if (pick < 66) return {.what = delete_post{some_id(1)}};
        if (pick < 72) return {.what = delete_user{some_id(0)}};
        if (pick < 85) return about_key();
        if (pick < 95) return about_event();
        return use();
    }
    command about_key() {
        auto const pick = below(10);
        if (pick < 4) return new_key(key_number(fresh(), {"users:read"}));
        if (pick < 6) return {.what = change_key{.id = some_id(2), .name = text(30)}};
        if (pick < 7)
            return {.what = rotate_key{.id = some_id(2),
                                       .digest = key_number(fresh()).digest,
                                       .start = "lkeyEFGH",
                                       .last4 = "zzzz",
                                       .overlap_ms = 3'600'000}};
        if (pick < 9) return {.what = deactivate_key{.id = some_id(2)}};
        return {.what = reactivate_key{.id = some_id(2)}};
    }
    command about_event() {
        auto const pick = below(10);
        if (pick < 2)
            return {.what = put_event_secret{.source = source(),
                                             .secret = base::secret(text(40) + "12345678")}};
        if (pick < 3) return {.what = delete_event_secret{source()}};
        auto const number = below(1000);  // some come again
        auto const delivery = "msg_" + std::to_string(number);
        return {.what = receive_event{.source = source(),
                                      .delivery_id = delivery,
                                      .verified = chance(50),
                                      .marks = {key_number(static_cast<unsigned>(number)).digest},
                                      .payload = "{\"text\":\"" + text(2000) + "\"}"}};
    }
    command use() {
        auto const now = base::read_clocks().wall;
        auto const minute = model::start_of(model::granularity::minute, now);
        key_use one{.key = some_id(2), .last_used = now, .minute = minute};
        one.counted.count(200, false);
        return {.what = note_key_uses{{one}}};
    }

    std::mt19937_64& random_;
    known_content const& known_;
};

// Tells the recording of each answer, on the thread that also writes.
class noting_waiter : public waiter {
  public:
    explicit noting_waiter(disk_recording& to) : to_(to) {}
    void post(coro::resumption& node) noexcept override {
        to_.note({});
        waiter::post(node);
    }

  private:
    disk_recording& to_;
};

}  // namespace

environment_options power_options(std::string const& directory, bool sync) {
    return {.directory = directory, .map_bytes = 12 << 20, .for_server = true, .sync = sync};
}

life live(std::string const& directory, known_content const& before, std::mt19937_64& random,
          std::size_t groups, bool sync) {
    life whole{.known = before};
    disk_recording noting(directory, whole.events);
    auto const opened = environment::open(power_options(directory, sync));
    if (!opened) {
        ADD_FAILURE() << opened.error().message;
        return whole;
    }
    writer through(**opened);
    noting_waiter home(noting);
    for (std::size_t i = 0; i < groups; ++i) {
        // What is kept under an Idempotency-Key is of key 1.
        bool const first = whole.known.last[2] == 0;
        std::vector<ticket> tickets(first ? 1 : 1 + random() % 24);
        for (auto& each : tickets) {
            each.command = first ? new_key(key_number(1)) : generator(random, whole.known).next();
            each.home = &home;
            EXPECT_TRUE(through.submit(each));
        }
        home.wait_for(tickets.size());
        for (auto& each : tickets) {
            whole.known.note(each.command, each.outcome);
            whole.steps.push_back({std::move(each.command), std::move(each.outcome)});
        }
    }
    through.stop();
    return whole;
}

}  // namespace latchkey::store
