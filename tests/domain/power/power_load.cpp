#include "power_load.hpp"

namespace latchkey::domain {
namespace {

// Random commands about ids that were assigned, some of them deleted since.
class generator {
  public:
    generator(std::mt19937_64& random, known_content const& content)
        : random_(random), content_(content) {}

    command next() {
        auto command = random_command();
        bool const secret = std::holds_alternative<put_event_secret>(command.action);
        if (!secret && chance(20))
            command.idempotency = once_number(static_cast<unsigned>(below(once_max)));
        return command;
    }

  private:
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    bool chance(unsigned percent) { return below(100) < percent; }
    // Recent ids more often.
    model::id some_id(std::size_t kind) {
        auto const last = content_.last[kind];
        if (last == 0) return 1;
        auto const back = static_cast<model::id>(below(chance(70) ? 20 : 200));
        return std::max<model::id>(1, last - back);
    }
    std::string text(std::size_t size_max) {
        return std::string(1 + below(size_max), static_cast<char>('a' + below(26)));
    }
    // Some bodies take pages of their own, some many in a row.
    std::string body() { return text(chance(10) ? 30'000 : chance(30) ? 3000 : 200); }
    std::string source() { return chance(50) ? "shop" : "till"; }
    unsigned random_number() { return static_cast<unsigned>(random_()); }

    command random_command() {
        auto const choice = below(100);
        if (choice < 15) return new_user(text(40), std::to_string(random_()) + "@example.org");
        if (choice < 40)
            return new_post(some_id(0), text(20), static_cast<model::post_status>(below(3)),
                            body());
        if (choice < 48) return {.action = change_post{.id = some_id(1), .body = body()}};
        if (choice < 54) return {.action = change_user{.id = some_id(0), .name = text(40)}};
        if (choice < 66) return {.action = delete_post{some_id(1)}};
        if (choice < 72) return {.action = delete_user{some_id(0)}};
        if (choice < 85) return about_key();
        if (choice < 95) return about_event();
        return use();
    }
    command about_key() {
        auto const choice = below(10);
        if (choice < 4) return new_key(key_number(random_number(), {"users:read"}));
        if (choice < 6) return {.action = change_key{.id = some_id(2), .name = text(30)}};
        if (choice < 7)
            return {.action = rotate_key{.id = some_id(2),
                                         .digest = key_number(random_number()).digest,
                                         .start = "lkeyEFGH",
                                         .last4 = "zzzz",
                                         .overlap_ms = 3'600'000}};
        if (choice < 9) return {.action = deactivate_key{.id = some_id(2)}};
        return {.action = reactivate_key{.id = some_id(2)}};
    }
    command about_event() {
        auto const choice = below(10);
        if (choice < 2)
            return {.action = put_event_secret{.source = source(),
                                               .secret = base::secret(text(40) + "12345678")}};
        if (choice < 3) return {.action = delete_event_secret{source()}};
        auto const number = below(1000);  // some are repeated
        auto const delivery = "msg_" + std::to_string(number);
        return {.action = receive_event{.source = source(),
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
        return {.action = note_key_uses{{one}}};
    }

    std::mt19937_64& random_;
    known_content const& content_;
};

// Records each answer, on the thread that also writes.
class recording_waiter : public ticket_waiter {
  public:
    explicit recording_waiter(disk_recording& recording) : recording_(recording) {}
    void post(coro::resumption& node) noexcept override {
        recording_.record({});
        ticket_waiter::post(node);
    }

  private:
    disk_recording& recording_;
};

}  // namespace

environment_options power_options(std::string const& directory, bool sync) {
    return {.directory = directory, .map_bytes = 12 << 20, .for_server = true, .sync = sync};
}

life live(std::string const& directory, known_content const& start, std::mt19937_64& random,
          std::size_t groups, bool sync) {
    life result{.content = start};
    disk_recording recording(directory, result.events);
    auto const store = environment::open(power_options(directory, sync));
    if (!store) {
        ADD_FAILURE() << store.error().message;
        return result;
    }
    domain::writer writer(**store);
    recording_waiter waiter(recording);
    for (std::size_t i = 0; i < groups; ++i) {
        // Outcomes under an Idempotency-Key belong to key 1.
        bool const first = result.content.last[2] == 0;
        std::vector<ticket> tickets(first ? 1 : 1 + random() % 24);
        for (auto& each : tickets) {
            each.command =
                first ? new_key(key_number(1)) : generator(random, result.content).next();
            each.executor = &waiter;
            EXPECT_TRUE(writer.submit(each));
        }
        waiter.wait_for(tickets.size());
        for (auto& each : tickets) {
            result.content.note(each.command, each.outcome);
            result.steps.push_back({std::move(each.command), std::move(each.outcome)});
        }
    }
    writer.stop();
    return result;
}

}  // namespace latchkey::domain
