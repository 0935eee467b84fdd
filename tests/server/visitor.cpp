#include "visitor.hpp"

#include <algorithm>
#include <utility>

#include "store/snapshot.hpp"

namespace latchkey::fake {

// ---- all of them

void crowd::send_one() {
    all_.push_back(std::make_unique<visitor>(*this));
    all_.back()->begin();
}

// Whoever was not answered, or was told to wait.
void crowd::ask_again(std::shared_ptr<creation> what) {
    if (what->once.empty() || house_.stopping()) return;
    world_.after(static_cast<base::mono_ns>(world_.below(2 * second)), [this, what] {
        all_.push_back(std::make_unique<visitor>(*this));
        all_.back()->begin_again(what);
    });
}

void crowd::excuse_all() {
    excused_ = true;
}

void crowd::expect_ended() const {
    for (auto const& each : all_) world_.expect(each->has_ended(), "a client was left waiting");
}

void crowd::expect_satisfied() {
    expect_ended();
    std::map<std::string, std::string> stored;
    store::snapshot now(house_.store());
    now.renew();
    std::uint64_t seen = 0;
    now.users({.limit = 1'000'000}, [&](model::user_view const& user) {
        ++seen;
        stored[std::string(user.email)] = std::to_string(user.id);
    });
    world_.expect(seen == stored.size(), "a user was stored twice");
    for (auto const& each : creations_)
        world_.expect(each->id.empty() || stored[each->email] == each->id,
                      "a write that was acknowledged is not in the store");
}

// ---- one of them

visitor::visitor(crowd& with) : talker(with.world_, with.house_.machine()), crowd_(with) {}

void visitor::begin() {
    slow_ = world_.chance(80);
    deaf_ = world_.chance(20);
    all_at_once_ = world_.chance(500);
    if (world_.chance(30))
        plan_flood();
    else
        plan(1 + static_cast<int>(world_.below(8)));
    stays_idle_ = world_.chance(50);
    bool const proxied = world_.chance(200);
    connect(proxied ? crowd_.house_.proxied_listener() : crowd_.house_.listener());
    if (proxied) say(proxy_header());
    ask_next();
    if (deaf_) spoil();
    if (world_.chance(60))
        world_.after(static_cast<base::mono_ns>(world_.below(20 * ms)), [this] {
            if (!has_ended()) reset();
        });
}

void visitor::begin_again(std::shared_ptr<creation> what) {
    plan_.push_back(creation_of(std::move(what), true));
    connect(crowd_.house_.listener());
    ask_next();
}

void visitor::plan(int count) {
    while (count-- > 0) {
        plan_.push_back(make());
        if (plan_.back().last) return;
    }
}

// More at once than a connection keeps unread, or more answers than it keeps unsent.
void visitor::plan_flood() {
    all_at_once_ = true;
    bool const writes = world_.chance(500);
    for (int i = 0; i < 10; ++i) plan_.push_back(writes ? make_post(50'000) : read_posts());
}

// Version 2, from 198.51.100.9.
std::string visitor::proxy_header() {
    using namespace std::string_literals;
    return "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc6\x33\x64\x09\x0a\0\0\x01\x12\x34\x01\xbb"s;
}

void visitor::ask_next() {
    if (has_ended() || closed_) return;
    do {
        say(plan_.front().request);
        asked_.push_back(std::move(plan_.front()));
        plan_.pop_front();
    } while (all_at_once_ && !plan_.empty());
    // Some say at once that this was all, and are still to be answered.
    if (plan_.empty() && !asked_.back().cut_short && !stays_idle_ && world_.chance(150)) {
        hung_up_ = true;
        hang_up();
    }
}

void visitor::heard(std::string_view bytes) {
    last_heard_ = world_.now();
    for (char const byte : bytes) {
        if (asked_.empty()) world_.fail("an answer that nobody asked for");
        auto& now = asked_.front();
        heard_so_far_ += byte;
        if (!now.expected.take(byte))
            world_.fail("a wrong byte at the end of this answer:\n" + heard_so_far_ + "\nto\n" +
                        now.request.substr(0, 1000) + "\nexpected:\n" + now.expected.texts());
        auto const which = now.expected.which();
        if (which >= 0) answered(now.possibilities[static_cast<std::size_t>(which)]);
    }
}

void visitor::answered(possibility how) {
    auto const done = std::move(asked_.front());
    asked_.pop_front();
    heard_so_far_.clear();
    auto const& found = done.expected.found();
    if (done.creates && how.what == turn_out::as_asked) {
        auto const& id = found.front();
        world_.expect(found[2] == id, "a location of something else");
        world_.expect(done.creates->id.empty() || done.creates->id == id, "made twice");
        done.creates->id = id;
    }
    if (done.creates && how.what != turn_out::as_asked) crowd_.ask_again(done.creates);
    if (how.close) {
        closed_ = true;
        world_.expect(done.last || crowd_.house_.stopping(), "closed without a reason");
        return;
    }
    auto const pause = static_cast<base::mono_ns>(world_.below(2 * ms));
    if (!plan_.empty() && asked_.empty())
        world_.after(pause, [this] { ask_next(); });
    else if (asked_.empty() && !stays_idle_ && !std::exchange(hung_up_, true))
        world_.after(pause, [this] { hang_up(); });
}

bool visitor::may_end() const {
    if (crowd_.house_.stopping()) return heard_so_far_.empty();
    if (closed_) return true;
    if (!asked_.empty() || !plan_.empty()) return false;
    // Who has said that nothing more comes need not wait.
    auto const silent = world_.now() - last_heard_;
    return hung_up_ ? silent < 10 * second : silent >= (slow_ ? 20 : 59) * second;
}

void visitor::ended(bool broken) {
    if (!broken && world_.chance(700)) kernel_.end(line_);
    if (crowd_.excused_) return;
    if (is_spoiled()) {
        for (auto const& each : asked_)
            if (each.creates) crowd_.ask_again(each.creates);
        return;
    }
    if (broken && !closed_) world_.fail("reset without a reason, after: " + heard_so_far_);
    if (!may_end())
        world_.fail("the end came too early, after: " + heard_so_far_ + " with a request of: " +
                    (asked_.empty() ? std::string("none") : asked_.front().request.substr(0, 300)));
}

}  // namespace latchkey::fake
