// The loop of `import` and `seed`: loads records from a source batch by batch and shows the
// progress. SIGINT and SIGTERM end it between two batches; the same command resumes it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/function_ref.hpp"
#include "cli/frame/progress.hpp"
#include "domain/admin/bulk_load.hpp"

namespace latchkey::cli {

template <class Record>
struct batch {
    std::vector<Record> records;
    std::vector<std::uint64_t> lines;  // of each record
    std::size_t bytes = 0;             // of their texts
    domain::load_step step;

    void add(Record record, std::uint64_t line, std::size_t text_bytes) {
        records.push_back(std::move(record));
        lines.push_back(line);
        bytes += text_bytes;
    }
};

// Adds the next record to the batch, or counts its line as refused, and advances the step's
// position; false at the end of the source.
template <class Record>
using record_source = base::function_ref<bool(batch<Record>&)>;
using refusal_sink = base::function_ref<void(std::uint64_t line, domain::load_refusal const&)>;

base::result<void> load_users(domain::bulk_load& load, record_source<model::user> source,
                              refusal_sink refuse, progress& bar);
base::result<void> load_posts(domain::bulk_load& load, record_source<model::post> source,
                              refusal_sink refuse, progress& bar);

// From now on these signals make `load_…` return an error instead of ending the process.
void handle_stop_signals();

// The users and posts that the store has.
struct record_counts {
    std::uint64_t users = 0, posts = 0;
};
record_counts count_records(store::environment& store);

// {"users":{"created":…},"posts":{…}} without the outer braces, for the JSON of both commands.
void append_counts(std::string& output, domain::load_progress const& users,
                   domain::load_progress const& posts);
// The message after a load that succeeded and whose output cannot be written.
inline constexpr std::string_view outcome_of_load =
    "what was loaded is in the store: the same command again loads nothing twice";
std::string summary_of(domain::bulk_load const& load);  // "1,000 users and 5 posts created, …"

}  // namespace latchkey::cli
