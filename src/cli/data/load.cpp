#include "cli/data/load.hpp"

#include <signal.h>

#include "api/frame/json/json_writer.hpp"
#include "cli/frame/print.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::cli {
namespace {

sig_atomic_t volatile stop_requested = 0;

template <class Record>
base::result<void> load_all(domain::bulk_load& load, domain::load_progress const& position,
                            record_source<Record> source, refusal_sink refuse, progress& bar) {
    while (!position.complete) {
        if (stop_requested != 0)
            return base::error{
                "interrupted, nothing is lost: run the same command again to continue from here"};
        batch<Record> next_batch;
        next_batch.step.offset = position.offset;
        next_batch.step.line = position.line;
        while (
            !next_batch.step.complete &&
            !load.is_full(next_batch.records.size() + next_batch.step.refusals, next_batch.bytes))
            next_batch.step.complete = !source(next_batch);
        auto const refusals = load.add(next_batch.records, next_batch.step);
        if (!refusals) return refusals.error();
        for (auto const& each : *refusals) refuse(next_batch.lines[each.index], each);
        bar.update(position.offset, position.line);
    }
    bar.end(position.offset, position.line);
    return {};
}

void append_count(std::string& output, std::string_view name,
                  domain::load_progress const& progress) {
    output.append("\"").append(name).append("\":{\"created\":");
    api::append_number(output, progress.created);
    output.append(",\"moved\":");
    api::append_number(output, progress.new_ids);
    output.append(",\"unchanged\":");
    api::append_number(output, progress.unchanged);
    output.append(",\"refused\":");
    api::append_number(output, progress.refusals);
    output.append("}");
}

}  // namespace

base::result<void> load_users(domain::bulk_load& load, record_source<model::user> source,
                              refusal_sink refuse, progress& bar) {
    return load_all(load, load.users(), source, refuse, bar);
}

base::result<void> load_posts(domain::bulk_load& load, record_source<model::post> source,
                              refusal_sink refuse, progress& bar) {
    return load_all(load, load.posts(), source, refuse, bar);
}

void handle_stop_signals() {
    struct sigaction action{};
    action.sa_handler = [](int) { stop_requested = 1; };
    action.sa_flags =
        SA_RESTART | static_cast<int>(SA_RESETHAND);  // a second signal ends the process
    for (int const number : {SIGINT, SIGTERM}) ::sigaction(number, &action, nullptr);
}

record_counts count_records(store::environment& store) {
    domain::snapshot snapshot(store);
    snapshot.renew();
    domain::range const none{.limit = 0};
    return {.users = snapshot.users(none, [](auto const&) {}).total,
            .posts = snapshot.posts({}, none, [](auto const&) {}).total};
}

void append_counts(std::string& output, domain::load_progress const& users,
                   domain::load_progress const& posts) {
    append_count(output, "users", users);
    output.append(",");
    append_count(output, "posts", posts);
}

std::string summary_of(domain::bulk_load const& load) {
    auto const& users = load.users();
    auto const& posts = load.posts();
    auto sentence =
        counted(users.created, "user") + " and " + counted(posts.created, "post") + " created";
    if (auto const new_ids = users.new_ids + posts.new_ids; new_ids != 0)
        sentence += ", " + with_commas(new_ids) + " of them with a new id";
    if (auto const same = users.unchanged + posts.unchanged; same != 0)
        sentence += ", " + with_commas(same) + " existed already";
    if (auto const bad = users.refusals + posts.refusals; bad != 0)
        sentence += ", " + counted(bad, "line") + " refused";
    return sentence;
}

}  // namespace latchkey::cli
