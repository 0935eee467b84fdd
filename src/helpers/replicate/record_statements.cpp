#include "helpers/replicate/record_statements.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "helpers/replicate/state_times.hpp"

namespace latchkey::replicate {
namespace {

// "($1, $2, $3), ($4, …"
std::string placeholders(std::size_t count, std::size_t width) {
    std::string text;
    for (std::size_t i = 0; i < count * width; ++i) {
        text += i % width != 0 ? ", " : i == 0 ? "(" : "), (";
        text += "$" + std::to_string(i + 1);
    }
    return text + ")";
}

// A full statement always has the same text, and is kept by the server.
statement finished(std::string sql, statement&& values, std::size_t count) {
    auto full = std::move(values).with_text(std::move(sql));
    if (count != records_per_statement) full.once();
    return full;
}

}  // namespace

void record_statements::put(std::uint8_t table, std::string const& key, std::string const& value) {
    values_.small(table).bytes(key).bytes(value);
    if (++puts_ == records_per_statement) end_puts();
}

// One by one: a list of keys, like one of pairs, is looked up by a scan of the whole part where
// PostgreSQL knows nothing yet of how many records that has. None waits for the one before it.
void record_statements::erase(std::uint8_t table, std::string const& key) {
    erasures_.push_back(
        std::move(statement("DELETE FROM latchkey_record WHERE part = $1 AND key = $2")
                      .small(table)
                      .bytes(key)));
}

batch record_statements::finish() {
    end_puts();
    std::ranges::move(std::exchange(erasures_, {}), std::back_inserter(statements_));
    return std::exchange(statements_, {});
}

void record_statements::end_puts() {
    if (puts_ == 0) return;
    auto sql = "INSERT INTO latchkey_record (part, key, value) VALUES " + placeholders(puts_, 3) +
               " ON CONFLICT (part, key) DO UPDATE SET value = excluded.value";
    statements_.push_back(
        finished(std::move(sql), std::exchange(values_, statement("")), std::exchange(puts_, 0)));
}

}  // namespace latchkey::replicate
