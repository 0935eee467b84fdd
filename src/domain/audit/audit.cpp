#include "domain/audit/audit.hpp"

#include <openssl/sha.h>

#include <algorithm>

#include "base/bytes.hpp"
#include "base/check.hpp"

namespace latchkey::domain {
namespace {

constexpr std::uint8_t audit_version = 1;
constexpr std::size_t fields_max = 32;

std::string_view digest_text(model::digest const& digest) {
    return {reinterpret_cast<char const*>(digest.data()), digest.size()};
}
model::digest digest_from(std::string_view bytes) {
    model::digest digest{};
    std::ranges::copy(bytes, digest.begin());
    return digest;
}

std::optional<audit_entry> read_beginning(model::id id, base::reader& input) {
    if (input.integer<std::uint8_t>() != audit_version) return std::nullopt;
    audit_entry entry;
    entry.id = id;
    entry.time = input.integer<base::wall_ms>();
    entry.previous = digest_from(input.bytes(entry.previous.size()));
    entry.actor = input.integer<model::id>();
    bool const has_address = input.integer<std::uint8_t>() == 1;
    model::address address;
    std::ranges::copy(input.bytes(address.bytes.size()), address.bytes.begin());
    if (has_address) entry.address = address;
    auto const action = input.integer<std::uint8_t>();
    entry.key = input.integer<model::id>();
    if (!input.ok() || action >= audit_names().size()) return std::nullopt;
    entry.action = static_cast<audit_action>(action);
    return entry;
}

}  // namespace

model::digest hash_of(model::id id, std::string_view record) {
    std::string canonical;
    base::append(canonical, id);
    canonical.append(record);
    model::digest digest;
    ::SHA256(reinterpret_cast<unsigned char const*>(canonical.data()), canonical.size(),
             digest.data());
    return digest;
}

void encode(audit_entry const& entry, std::string& output) {
    // Fields are names of members of a record, each once, in tables of the program.
    base::check(entry.fields.size() <= fields_max, "an audit entry beyond its bound");
    output.clear();
    base::append(output, audit_version);
    base::append(output, entry.time);
    output.append(digest_text(entry.previous));
    base::append(output, entry.actor);
    auto const address = entry.address.value_or(model::address{});
    base::append(output, static_cast<std::uint8_t>(entry.address ? 1 : 0));
    output.append(reinterpret_cast<char const*>(address.bytes.data()), address.bytes.size());
    base::append(output, static_cast<std::uint8_t>(entry.action));
    base::append(output, entry.key);
    base::append_text(output, entry.project);
    base::append_text(output, entry.source);
    base::append(output, static_cast<std::uint8_t>(entry.fields.size()));
    for (auto const& field : entry.fields) base::append_text(output, field);
}

std::optional<audit_entry> decode_audit(model::id id, std::string_view bytes) {
    base::reader input(bytes);
    auto entry = read_beginning(id, input);
    if (!entry) return std::nullopt;
    entry->project = input.text();
    entry->source = input.text();
    auto const count = input.integer<std::uint8_t>();
    for (unsigned i = 0; i < count && input.ok(); ++i) entry->fields.emplace_back(input.text());
    if (!input.done()) return std::nullopt;
    entry->hash = hash_of(id, bytes);
    return entry;
}

std::optional<audit_entry> decode_audit_beginning(model::id id, std::string_view bytes) {
    base::reader input(bytes);
    return read_beginning(id, input);
}

void encode(audit_head const& head, std::string& output) {
    output.clear();
    base::append(output, head.last);
    output.append(digest_text(head.hash));
}

std::optional<audit_head> decode_audit_head(std::string_view bytes) {
    base::reader input(bytes);
    audit_head head;
    head.last = input.integer<model::id>();
    head.hash = digest_from(input.bytes(head.hash.size()));
    if (!input.done()) return std::nullopt;
    return head;
}

}  // namespace latchkey::domain
