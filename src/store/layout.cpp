#include "store/layout.hpp"

#include <algorithm>
#include <numeric>

#include "base/check.hpp"

namespace latchkey::store {
namespace {

// A process that runs on after the schema has moved meets heads that it does not know, and writes
// nothing.
constexpr auto heads_version = static_cast<std::uint8_t>(schema_version);

}  // namespace

key_bytes& key_bytes::add(std::string_view text) {
    base::check(text.size() <= bytes_.size() - size_, "a key of the store beyond its bound");
    size_ += text.copy(bytes_.data() + size_, text.size());
    return *this;
}

key_bytes key_list_key(tag which, key_list const& list) {
    auto const environment =
        list.environment ? static_cast<std::uint8_t>(*list.environment) : std::uint8_t{0xff};
    return key_bytes{which}.add(list.project).add(std::uint8_t{0}).add(environment);
}

std::string_view id_value(model::id id, std::array<char, 8>& into) {
    base::put(into.data(), id);
    return {into.data(), into.size()};
}

std::optional<model::id> read_id(std::string_view value) {
    if (value.size() != sizeof(model::id)) return std::nullopt;
    return base::get<model::id>(value.data());
}

void encode(key_change const& entry, std::string& to) {
    to.clear();
    base::append(to, entry.epoch);
    to.append(reinterpret_cast<char const*>(entry.digest.data()), entry.digest.size());
}

std::optional<key_change> decode_key_change(std::string_view bytes) {
    base::reader from(bytes);
    key_change entry;
    entry.epoch = from.integer<std::uint64_t>();
    std::ranges::copy(from.bytes(entry.digest.size()), entry.digest.begin());
    if (!from.done()) return std::nullopt;
    return entry;
}

std::uint64_t sum_of(tally const& numbers) {
    return std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
}

void encode(tally const& numbers, std::string& to) {
    to.clear();
    for (auto const number : numbers) base::append(to, number);
}

std::optional<tally> decode_tally(std::string_view bytes) {
    base::reader from(bytes);
    tally numbers{};
    for (auto& number : numbers) number = from.integer<std::uint64_t>();
    if (!from.done()) return std::nullopt;
    return numbers;
}

void encode(heads const& whole, std::string& to) {
    to.clear();
    base::append(to, heads_version);
    base::append(to, whole.written_at);
    for (auto const id : {whole.last_user, whole.last_post, whole.last_key}) base::append(to, id);
    base::append(to, whole.users);
    for (auto const number : whole.posts) base::append(to, number);
    for (auto const number : {whole.keys, whole.imported_keys, whole.key_epoch, whole.purges})
        base::append(to, number);
}

std::optional<heads> decode_heads(std::string_view bytes) {
    base::reader from(bytes);
    if (from.integer<std::uint8_t>() != heads_version) return std::nullopt;
    heads whole;
    whole.written_at = from.integer<base::wall_ms>();
    for (auto* const id : {&whole.last_user, &whole.last_post, &whole.last_key})
        *id = from.integer<model::id>();
    whole.users = from.integer<std::uint64_t>();
    for (auto& number : whole.posts) number = from.integer<std::uint64_t>();
    for (auto* const number : {&whole.keys, &whole.imported_keys, &whole.key_epoch, &whole.purges})
        *number = from.integer<std::uint64_t>();
    if (!from.done()) return std::nullopt;
    return whole;
}

}  // namespace latchkey::store
