#include "api_client.hpp"

#include <algorithm>
#include <utility>

#include "domain/snapshot.hpp"
#include "http2_api_client.hpp"

namespace latchkey::fake {

// ---- all clients

void api_clients::start_client() {
    auto const start = [this](auto client) {
        auto& started = *client;
        all_.push_back(std::move(client));
        started.begin();
    };
    if (world_.chance(300))
        start(std::make_unique<http2_api_client>(*this));
    else
        start(std::make_unique<api_client>(*this));
}

std::shared_ptr<user_creation> api_clients::plan_creation() {
    auto user = std::make_shared<user_creation>();
    auto const number = std::to_string(++names_);
    user->name = "Newcomer " + number;
    user->email = "new" + number + "@example.com";
    if (world_.chance(500)) user->idempotency_key = "once-" + number;
    creations_.push_back(user);
    return user;
}

// After a refusal, or where no response came.
void api_clients::repeat_creation(std::shared_ptr<user_creation> user) {
    if (user->idempotency_key.empty() || fixture_.stopping()) return;
    world_.after(static_cast<base::mono_ns>(world_.below(2 * second)), [this, user] {
        auto client = std::make_unique<api_client>(*this);
        auto& started = *client;
        all_.push_back(std::move(client));
        started.begin_creation(user);
    });
}

void api_clients::allow_any_end() {
    any_end_allowed_ = true;
    for (auto const& each : all_) each->allow_break();
}

void api_clients::expect_ended() const {
    for (auto const& each : all_) world_.expect(each->has_ended(), "a client is still waiting");
}

void api_clients::expect_store_matches() {
    expect_ended();
    std::map<std::string, std::string> ids_by_email;
    domain::snapshot snapshot(fixture_.store());
    snapshot.renew();
    std::uint64_t count = 0;
    snapshot.users({.limit = 1'000'000}, [&](model::user_view const& user) {
        ++count;
        ids_by_email[std::string(user.email)] = std::to_string(user.id);
    });
    world_.expect(count == ids_by_email.size(), "a user was stored twice");
    for (auto const& each : creations_)
        world_.expect(each->id.empty() || ids_by_email[each->email] == each->id,
                      "a write that was acknowledged is not in the store");
}

// ---- one client

api_client::api_client(api_clients& clients)
    : sim_client(clients.world_, clients.fixture_.simulated_kernel()), clients_(clients) {}

void api_client::begin() {
    reads_slowly_ = world_.chance(80);
    reads_nothing_ = world_.chance(20);
    pipelines_ = world_.chance(500);
    if (world_.chance(30))
        plan_flood();
    else
        plan_requests(1 + static_cast<int>(world_.below(8)));
    stays_idle_ = world_.chance(50);
    bool const proxied = world_.chance(200);
    connect(proxied ? clients_.fixture_.proxied_listener() : clients_.fixture_.listener());
    if (proxied) send(proxy_header());
    send_next();
    if (reads_nothing_) allow_break();
    if (world_.chance(60))
        world_.after(static_cast<base::mono_ns>(world_.below(20 * ms)), [this] {
            if (!has_ended()) reset();
        });
}

void api_client::begin_creation(std::shared_ptr<user_creation> user) {
    planned_.push_back(create_user(std::move(user), true));
    connect(clients_.fixture_.listener());
    send_next();
}

void api_client::plan_requests(int count) {
    while (count-- > 0) {
        planned_.push_back(choose_request());
        if (planned_.back().last) return;
    }
}

// More at once than a connection keeps unread, or more responses than it keeps unsent.
void api_client::plan_flood() {
    pipelines_ = true;
    bool const writes = world_.chance(500);
    for (int i = 0; i < 10; ++i) planned_.push_back(writes ? create_post(50'000) : read_posts());
}

// Version 2, from 198.51.100.9.
std::string api_client::proxy_header() {
    using namespace std::string_literals;
    return "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc6\x33\x64\x09\x0a\0\0\x01\x12\x34\x01\xbb"s;
}

void api_client::send_next() {
    if (has_ended() || closed_) return;
    do {
        send(planned_.front().text);
        sent_.push_back(std::move(planned_.front()));
        planned_.pop_front();
    } while (pipelines_ && !planned_.empty());
    // Some end their input at once, and must still be answered.
    if (planned_.empty() && !sent_.back().cut_short && !stays_idle_ && world_.chance(150)) {
        input_ended_ = true;
        end_input();
    }
}

void api_client::on_data(std::string_view bytes) {
    last_data_time_ = world_.now();
    for (char const byte : bytes) {
        if (sent_.empty()) world_.fail("a response without a request");
        auto& request = sent_.front();
        partial_response_ += byte;
        if (!request.expected.take(byte))
            world_.fail("a wrong byte at the end of this response:\n" + partial_response_ +
                        "\nto\n" + request.text.substr(0, 1000) + "\nexpected:\n" +
                        request.expected.texts());
        auto const index = request.expected.index();
        if (index >= 0) answered(request.alternatives[static_cast<std::size_t>(index)]);
    }
}

void api_client::answered(alternative response) {
    auto const answered = std::move(sent_.front());
    sent_.pop_front();
    partial_response_.clear();
    auto const& parts = answered.expected.parts();
    if (answered.creation && response.outcome == result::success) {
        auto const& id = parts.front();
        world_.expect(parts[2] == id, "the location names something else");
        world_.expect(answered.creation->id.empty() || answered.creation->id == id,
                      "created twice");
        answered.creation->id = id;
    }
    if (answered.creation && response.outcome != result::success)
        clients_.repeat_creation(answered.creation);
    if (response.close) {
        closed_ = true;
        world_.expect(answered.last || clients_.fixture_.stopping(), "closed without a reason");
        return;
    }
    auto const pause = static_cast<base::mono_ns>(world_.below(2 * ms));
    if (!planned_.empty() && sent_.empty())
        world_.after(pause, [this] { send_next(); });
    else if (sent_.empty() && !stays_idle_ && !std::exchange(input_ended_, true))
        world_.after(pause, [this] { end_input(); });
}

bool api_client::may_close() const {
    if (clients_.fixture_.stopping()) return partial_response_.empty();
    if (closed_) return true;
    if (!sent_.empty() || !planned_.empty()) return false;
    // A client that has ended its input need not wait.
    auto const silence = world_.now() - last_data_time_;
    return input_ended_ ? silence < 10 * second : silence >= (reads_slowly_ ? 20 : 59) * second;
}

void api_client::on_end(bool broken) {
    if (!broken && world_.chance(700)) kernel_.end(connection_);
    if (clients_.any_end_allowed_) return;
    if (may_break()) {
        for (auto const& each : sent_)
            if (each.creation) clients_.repeat_creation(each.creation);
        return;
    }
    if (broken && !closed_) world_.fail("reset without a reason, after: " + partial_response_);
    if (!may_close())
        world_.fail("the end came too early, after: " + partial_response_ + " with a request of: " +
                    (sent_.empty() ? std::string("none") : sent_.front().text.substr(0, 300)));
}

}  // namespace latchkey::fake
