#include "cli/load.hpp"

#include <signal.h>

#include "api/json_writer.hpp"

namespace latchkey::cli {
namespace {

sig_atomic_t volatile stop_asked = 0;

template <class Record>
base::result<void> load_all(store::bulk_load& into, store::load_progress const& so_far,
                            record_source<Record> source, refusal_sink refused, progress& shown) {
    while (!so_far.complete) {
        if (stop_asked != 0)
            return base::error{"interrupted; nothing is lost: the same command goes on from here"};
        batch<Record> some;
        some.step.offset = so_far.offset, some.step.line = so_far.line;
        while (!some.step.complete &&
               !into.is_full(some.records.size() + some.step.refused, some.bytes))
            some.step.complete = !source(some);
        auto const refusals = into.add(some.records, some.step);
        if (!refusals) return refusals.error();
        for (auto const& each : *refusals) refused(some.lines[each.at], each);
        shown.at(so_far.offset, so_far.line);
    }
    shown.end(so_far.offset, so_far.line);
    return {};
}

void append_count(std::string& to, std::string_view what, store::load_progress const& of) {
    to.append("\"").append(what).append("\":{\"created\":");
    api::append_number(to, of.created);
    to.append(",\"moved\":");
    api::append_number(to, of.moved);
    to.append(",\"unchanged\":");
    api::append_number(to, of.unchanged);
    to.append(",\"refused\":");
    api::append_number(to, of.refused);
    to.append("}");
}

}  // namespace

base::result<void> load_users(store::bulk_load& into, record_source<model::user> source,
                              refusal_sink refused, progress& shown) {
    return load_all(into, into.users(), source, refused, shown);
}

base::result<void> load_posts(store::bulk_load& into, record_source<model::post> source,
                              refusal_sink refused, progress& shown) {
    return load_all(into, into.posts(), source, refused, shown);
}

void stop_in_order() {
    struct sigaction action{};
    action.sa_handler = [](int) { stop_asked = 1; };
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);  // the second time it just ends
    for (int const number : {SIGINT, SIGTERM}) ::sigaction(number, &action, nullptr);
}

void append_counts(std::string& to, store::bulk_load const& of) {
    append_count(to, "users", of.users());
    to.append(",");
    append_count(to, "posts", of.posts());
}

std::string sentence_of(store::bulk_load const& of) {
    auto const& users = of.users();
    auto const& posts = of.posts();
    auto sentence =
        with_commas(users.created) + " users and " + with_commas(posts.created) + " posts created";
    if (auto const moved = users.moved + posts.moved; moved != 0)
        sentence += ", " + with_commas(moved) + " of them with another id";
    if (auto const same = users.unchanged + posts.unchanged; same != 0)
        sentence += ", " + with_commas(same) + " were there already";
    if (auto const bad = users.refused + posts.refused; bad != 0)
        sentence += ", " + with_commas(bad) + " lines refused";
    return sentence;
}

}  // namespace latchkey::cli
