// The record of an outcome is kept as its kind has it (kept_record.hpp), behind a number for its
// type; the reader looks for that number among all types. Problems and field codes are found by a
// search over their names, which is slow and runs on repeats alone. What follows a record's fields
// is the record itself, to the end.
#include "domain/idempotency/kept_outcome.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/limits.hpp"

namespace latchkey::domain {
namespace {

constexpr std::uint8_t kept_outcome_version = 1;

void append_text(std::string& output, std::string_view text) {
    base::append(output, static_cast<std::uint32_t>(text.size()));
    output.append(text);
}
std::string_view read_text(base::reader& reader) {
    return reader.bytes(reader.integer<std::uint32_t>());
}

std::optional<base::problem> find_problem(std::string_view name) {
    for (auto const& each : base::problems)
        if (each.name == name) return each.code;
    return std::nullopt;
}
std::optional<base::field_code> find_field_code(std::string_view name) {
    for (unsigned i = 0; i <= static_cast<unsigned>(base::field_code::not_unique); ++i)
        if (auto const each = static_cast<base::field_code>(i); base::name_of(each) == name)
            return each;
    return std::nullopt;
}

void append_faults(std::string& output, std::vector<base::fault> const& faults) {
    auto const count = std::min(faults.size(), base::limits::faults_max);
    base::append(output, static_cast<std::uint8_t>(count));
    for (std::size_t i = 0; i < count; ++i) {
        base::append(output, static_cast<std::uint8_t>(faults[i].kind));
        append_text(output, faults[i].location);
        append_text(output, base::name_of(faults[i].code));
        append_text(output, faults[i].detail);
    }
}
bool read_faults(base::reader& reader, std::vector<base::fault>& faults) {
    auto const count = reader.integer<std::uint8_t>();
    if (count > base::limits::faults_max) return false;
    for (unsigned i = 0; i < count; ++i) {
        auto const place = reader.integer<std::uint8_t>();
        std::string location(read_text(reader));
        auto const code = find_field_code(read_text(reader));
        if (!code || place > static_cast<std::uint8_t>(base::fault::location_kind::header))
            return false;
        faults.push_back({static_cast<base::fault::location_kind>(place), std::move(location),
                          *code, std::string(read_text(reader))});
    }
    return reader.ok();
}

void append_record(std::string& output, std::monostate) {
    base::append(output, std::uint8_t{0});
}
template <class Record>
void append_record(std::string& output, Record const& record) {
    base::append(output, kept_record<Record>::number);
    kept_record<Record>::append(output, record);
}

// Reads it if that is the number of its type; false: it is another's.
template <class Record>
bool read_as(std::uint8_t number, base::reader& reader, std::optional<any_record>& record) {
    if constexpr (requires { kept_record<Record>::read(reader); }) {
        if (number != kept_record<Record>::number) return false;
        if (auto result = kept_record<Record>::read(reader)) record = std::move(*result);
        return true;
    }
    return false;
}
template <class... Records>
void read_alternative(base::reader& reader, std::optional<std::variant<Records...>>& record) {
    auto const number = reader.integer<std::uint8_t>();
    (void)(read_as<Records>(number, reader, record) || ...);
    if (number == 0 && reader.done()) record.emplace();
}

std::optional<any_record> read_record(base::reader& reader) {
    std::optional<any_record> record;
    read_alternative(reader, record);
    return reader.ok() ? std::move(record) : std::nullopt;
}

}  // namespace

void encode(kept_outcome const& entry, std::string& output) {
    auto const& result = entry.result;
    output.clear();
    base::append(output, kept_outcome_version);
    base::append(output, entry.expires_at);
    output.append(reinterpret_cast<char const*>(entry.request.data()), entry.request.size());
    base::append(output, result.time);
    base::append(output, result.last_used_at);
    append_text(output, base::describe(result.problem).name);
    append_text(output, result.detail);
    append_faults(output, result.faults);
    std::visit([&](auto const& record) { append_record(output, record); }, result.record);
}

std::optional<kept_outcome> decode_kept_outcome(std::string_view bytes) {
    base::reader reader(bytes);
    if (reader.integer<std::uint8_t>() != kept_outcome_version) return std::nullopt;
    kept_outcome entry;
    auto& result = entry.result;
    entry.expires_at = reader.integer<base::wall_ms>();
    std::ranges::copy(reader.bytes(entry.request.size()), entry.request.begin());
    result.time = reader.integer<base::wall_ms>();
    result.last_used_at = reader.integer<base::wall_ms>();
    auto const problem = find_problem(read_text(reader));
    result.detail = read_text(reader);
    if (!problem || !read_faults(reader, result.faults)) return std::nullopt;
    auto record = read_record(reader);
    if (!record) return std::nullopt;
    result.problem = *problem;
    result.record = std::move(*record);
    return entry;
}

std::optional<outcome> replay(kept_outcome entry, idempotency const& idempotency,
                              base::wall_ms now) {
    if (now >= entry.expires_at) return std::nullopt;
    if (entry.request != idempotency.request)
        return outcome{.problem = base::problem::idempotency_key_reused};
    entry.result.replayed = true;
    return std::move(entry.result);
}

}  // namespace latchkey::domain
