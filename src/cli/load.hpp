// What `import` and `seed` share: records from a source, batch by batch, into a bulk load, with
// their progress shown. SIGINT and SIGTERM end it between two batches; the same command goes on
// later.
#pragma once

#include <cstdint>
#include <vector>

#include "base/function_ref.hpp"
#include "cli/progress.hpp"
#include "store/bulk_load.hpp"

namespace latchkey::cli {

template <class Record>
struct batch {
    std::vector<Record> records;
    std::vector<std::uint64_t> lines;  // of each
    std::size_t bytes = 0;             // of their texts
    store::load_step step;

    void add(Record record, std::uint64_t line, std::size_t text_bytes) {
        records.push_back(std::move(record));
        lines.push_back(line);
        bytes += text_bytes;
    }
};

// Adds the next record to the batch, or counts its line as refused, and moves the step's position;
// false at the source's end.
template <class Record>
using record_source = base::function_ref<bool(batch<Record>&)>;
using refusal_sink = base::function_ref<void(std::uint64_t line, store::load_refusal const&)>;

base::result<void> load_users(store::bulk_load& into, record_source<model::user> source,
                              refusal_sink refused, progress& shown);
base::result<void> load_posts(store::bulk_load& into, record_source<model::post> source,
                              refusal_sink refused, progress& shown);

// From here on the signals only make `load_…` return an error.
void stop_in_order();

// {"users":{"created":…},"posts":{…}} without its braces, as the JSON of both commands has it.
void append_counts(std::string& to, store::bulk_load const& of);
std::string sentence_of(store::bulk_load const& of);  // "1,000 users and 5 posts created, …"

}  // namespace latchkey::cli
