// A visitor appends the record of an outcome in its own encoding, behind a number for its kind; the
// reader switches on that number. Problems and field codes are found by a search over their names,
// which is slow and runs on repeats alone. What follows a record's fields is the record itself, to
// the end.
#include "domain/idempotency/kept_outcome.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/limits.hpp"
#include "domain/webhooks/webhook_record.hpp"

namespace latchkey::domain {
namespace {

using record = decltype(outcome::record);

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

// Appends the record of an outcome in its own encoding.
struct record_encoder {
    std::string& output;

    void operator()(std::monostate) const { base::append(output, std::uint8_t{0}); }
    void operator()(model::user const& user) const { put(1, user); }
    void operator()(model::post const& post) const { put(2, post); }
    void operator()(model::key const& key) const { put(3, key); }
    void operator()(received_event const& event) const {
        base::append(output, std::uint8_t{4});
        base::append(output, event.id);
    }
    void operator()(webhook_outcome const& webhook) const {
        std::string bytes;
        encode(webhook.entry, bytes);
        base::append(output, std::uint8_t{5});
        base::append(output, webhook.entry.webhook.id);
        for (auto const each : {webhook.sequence, webhook.caller, webhook.first, webhook.last})
            base::append(output, each);
        output.append(bytes);
    }
    void operator()(revocation const& revocation) const {
        base::append(output, std::uint8_t{6});
        base::append(output, revocation.key.id);
        for (auto const* const list : {&revocation.keys, &revocation.webhooks}) {
            base::append(output, static_cast<std::uint16_t>(list->size()));
            for (auto const id : *list) base::append(output, id);
        }
        base::append(output, static_cast<std::uint8_t>(revocation.is_complete ? 1 : 0));
        std::string bytes;
        encode(revocation.key, bytes);
        output.append(bytes);
    }
    // Only the service itself takes it.
    void operator()(delivery_lease const&) const {
        // A command without a key of idempotency is not kept.
        base::check(false, "a lease is not kept under an Idempotency-Key");
    }
    // Secrets are set by PUT, which takes no Idempotency-Key.
    void operator()(secret_result const&) const {
        base::check(false, "a secret is not kept under an Idempotency-Key");
    }

  private:
    template <class Record>
    void put(std::uint8_t kind, Record const& value) const {
        std::string bytes;
        encode(value, bytes);
        base::append(output, kind);
        base::append(output, value.id);
        output.append(bytes);
    }
};
std::optional<record> read_webhook(model::id id, base::reader& reader) {
    webhook_outcome webhook;
    for (auto* const each : {&webhook.sequence, &webhook.caller, &webhook.first, &webhook.last})
        *each = reader.integer<model::id>();
    auto entry = decode_webhook_entry(id, reader.rest());
    if (!reader.ok() || !entry) return std::nullopt;
    webhook.entry = std::move(*entry);
    return webhook;
}

std::optional<record> read_revocation(model::id id, base::reader& reader) {
    revocation revocation;
    for (auto* const list : {&revocation.keys, &revocation.webhooks})
        for (auto left = reader.integer<std::uint16_t>(); left > 0 && reader.ok(); --left)
            list->push_back(reader.integer<model::id>());
    revocation.is_complete = reader.integer<std::uint8_t>() == 1;
    auto key = model::decode_key(id, reader.rest());
    if (!reader.ok() || !key) return std::nullopt;
    revocation.key = std::move(*key);
    return revocation;
}

std::optional<record> read_record(base::reader& reader) {
    auto const kind = reader.integer<std::uint8_t>();
    if (kind == 0) return reader.done() ? std::optional(record()) : std::nullopt;
    auto const id = reader.integer<model::id>();
    if (kind == 4 && reader.done()) return received_event{id};
    if (kind == 1)
        if (auto const user = model::decode_user(id, reader.rest())) return model::copy_of(*user);
    if (kind == 2)
        if (auto const post = model::decode_post(id, reader.rest())) return model::copy_of(*post);
    if (kind == 5) return read_webhook(id, reader);
    if (kind == 6) return read_revocation(id, reader);
    if (kind == 3)
        if (auto key = model::decode_key(id, reader.rest())) return std::move(*key);
    return std::nullopt;
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
    std::visit(record_encoder{output}, result.record);
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
