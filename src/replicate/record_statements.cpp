#include "replicate/record_statements.hpp"

#include <utility>

#include "replicate/state_times.hpp"

namespace latchkey::replicate {
namespace {

// "($1, $2, $3), ($4, …"
std::string placeholders(std::size_t count, std::size_t width, std::size_t first = 1) {
    std::string text;
    for (std::size_t i = 0; i < count * width; ++i) {
        text += i % width != 0 ? ", " : i == 0 ? "(" : "), (";
        text += "$" + std::to_string(i + first);
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

void record_statements::erase(std::uint8_t table, std::string const& key) {
    if (table != erased_table_) end_erasures();
    if (erasures_ == 0) keys_.small(erased_table_ = table);
    keys_.bytes(key);
    if (++erasures_ == records_per_statement) end_erasures();
}

batch record_statements::finish() {
    end_puts();
    end_erasures();
    return std::exchange(statements_, {});
}

void record_statements::end_puts() {
    if (puts_ == 0) return;
    auto sql = "INSERT INTO latchkey_record (part, key, value) VALUES " + placeholders(puts_, 3) +
               " ON CONFLICT (part, key) DO UPDATE SET value = excluded.value";
    statements_.push_back(
        finished(std::move(sql), std::exchange(values_, statement("")), std::exchange(puts_, 0)));
}

void record_statements::end_erasures() {
    if (erasures_ == 0) return;
    // A list of keys of one part is looked up in the index; for a list of pairs, PostgreSQL would
    // go through the whole part.
    auto sql =
        "DELETE FROM latchkey_record WHERE part = $1 AND key IN " + placeholders(1, erasures_, 2);
    statements_.push_back(
        finished(std::move(sql), std::exchange(keys_, statement("")), std::exchange(erasures_, 0)));
}

}  // namespace latchkey::replicate
