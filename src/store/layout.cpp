#include "store/layout.hpp"

#include <algorithm>
#include <numeric>

#include "base/check.hpp"

namespace latchkey::store {
namespace {

// Schemas whose counters have this form.
constexpr std::uint8_t counters_schema_min = 2;

}  // namespace

key_bytes& key_bytes::add(std::string_view text) {
    // Addresses, projects, sources and marks are bounded below that before a key is made of them.
    base::check(text.size() <= bytes_.size() - size_, "a key of the store beyond its bound");
    size_ += text.copy(bytes_.data() + size_, text.size());
    return *this;
}

std::string_view id_value(model::id id, std::array<char, 8>& buffer) {
    base::put(buffer.data(), id);
    return {buffer.data(), buffer.size()};
}

std::optional<model::id> read_id(std::string_view value) {
    if (value.size() != sizeof(model::id)) return std::nullopt;
    return base::get<model::id>(value.data());
}

void encode(cluster_position const& position, std::string& output) {
    output.assign(position.cluster.data(), position.cluster.size());
    base::append(output, position.position);
    base::append(output, position.schema);
    output.append(position.nonce.data(), position.nonce.size());
}

std::optional<cluster_position> decode_position(std::string_view bytes) {
    base::reader reader(bytes);
    cluster_position position;
    std::ranges::copy(reader.bytes(position.cluster.size()), position.cluster.begin());
    position.position = reader.integer<std::uint64_t>();
    position.schema = reader.integer<std::uint32_t>();
    // Stores of versions that did not keep it lack the nonce.
    if (!reader.done())
        std::ranges::copy(reader.bytes(position.nonce.size()), position.nonce.begin());
    if (!reader.done()) return std::nullopt;
    return position;
}

void encode(key_change const& entry, std::string& output) {
    output.clear();
    base::append(output, entry.epoch);
    output.append(reinterpret_cast<char const*>(entry.digest.data()), entry.digest.size());
}

std::optional<key_change> decode_key_change(std::string_view bytes) {
    base::reader reader(bytes);
    key_change entry;
    entry.epoch = reader.integer<std::uint64_t>();
    std::ranges::copy(reader.bytes(entry.digest.size()), entry.digest.begin());
    if (!reader.done()) return std::nullopt;
    return entry;
}

std::uint64_t sum_of(tally const& numbers) {
    return std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
}

void encode(tally const& numbers, std::string& output) {
    output.clear();
    for (auto const number : numbers) base::append(output, number);
}

std::optional<tally> decode_tally(std::string_view bytes) {
    base::reader reader(bytes);
    tally numbers{};
    for (auto& number : numbers) number = reader.integer<std::uint64_t>();
    if (!reader.done()) return std::nullopt;
    return numbers;
}

void encode(counters const& counters, std::string& output, std::uint32_t schema) {
    output.clear();
    base::append(output, static_cast<std::uint8_t>(schema));
    base::append(output, counters.written_at);
    for (auto const id : {counters.last_user, counters.last_post, counters.last_key})
        base::append(output, id);
    base::append(output, counters.users);
    for (auto const number : counters.posts) base::append(output, number);
    for (auto const number :
         {counters.keys, counters.imported_keys, counters.key_epoch, counters.purges})
        base::append(output, number);
}

std::optional<counters> decode_counters(std::string_view bytes) {
    base::reader reader(bytes);
    auto const schema = reader.integer<std::uint8_t>();
    if (schema < counters_schema_min || schema > schema_version) return std::nullopt;
    counters counters;
    counters.written_at = reader.integer<base::wall_ms>();
    for (auto* const id : {&counters.last_user, &counters.last_post, &counters.last_key})
        *id = reader.integer<model::id>();
    counters.users = reader.integer<std::uint64_t>();
    for (auto& number : counters.posts) number = reader.integer<std::uint64_t>();
    for (auto* const number :
         {&counters.keys, &counters.imported_keys, &counters.key_epoch, &counters.purges})
        *number = reader.integer<std::uint64_t>();
    if (!reader.done()) return std::nullopt;
    return counters;
}

}  // namespace latchkey::store
