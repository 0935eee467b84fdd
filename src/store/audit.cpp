#include "store/audit.hpp"

#include <openssl/sha.h>

#include <algorithm>

#include "base/check.hpp"
#include "store/audit_log.hpp"

namespace latchkey::store {
namespace {

constexpr std::uint8_t audit_version = 1;
constexpr std::size_t fields_max = 32;
constexpr std::size_t wrong_max = 100;

std::string_view view_of(model::digest const& digest) {
    return {reinterpret_cast<char const*>(digest.data()), digest.size()};
}
model::digest digest_from(std::string_view bytes) {
    model::digest digest{};
    std::ranges::copy(bytes, digest.begin());
    return digest;
}

model::digest hash_of(model::id id, std::string_view record) {
    std::string canonical;
    base::append(canonical, id);
    canonical.append(record);
    model::digest digest;
    ::SHA256(reinterpret_cast<unsigned char const*>(canonical.data()), canonical.size(),
             digest.data());
    return digest;
}

void encode(audit_entry const& entry, std::string& to) {
    base::check(entry.fields.size() <= fields_max, "an audit entry beyond its bound");
    to.clear();
    base::append(to, audit_version);
    base::append(to, entry.at);
    to.append(view_of(entry.previous));
    base::append(to, entry.actor);
    auto const address = entry.from.value_or(model::address{});
    base::append(to, static_cast<std::uint8_t>(entry.from ? 1 : 0));
    to.append(reinterpret_cast<char const*>(address.bytes.data()), address.bytes.size());
    base::append(to, static_cast<std::uint8_t>(entry.action));
    base::append(to, entry.key);
    base::append_text(to, entry.project);
    base::append_text(to, entry.source);
    base::append(to, static_cast<std::uint8_t>(entry.fields.size()));
    for (auto const& field : entry.fields) base::append_text(to, field);
}

void add_to_project(transaction& in, std::string_view project, model::id entry) {
    if (project.empty()) return;
    in.put(table::index, audit_of_project(project).add(entry), {});
    auto const bytes = in.get(table::index, audit_count_key(project));
    auto const count = (bytes ? read_id(*bytes).value_or(0) : 0) + 1;
    std::array<char, 8> value;
    in.put(table::index, audit_count_key(project), id_value(count, value));
}

// Who did it and from where, and the link to the entry before, are added here.
void append_entry(transaction& in, command const& whole, audit_entry entry) {
    auto const bytes = in.get(table::index, key_bytes{tag::audit_head});
    auto const head = bytes ? decode_audit_head(*bytes) : audit_head{};
    if (!head) return in.fail(MDB_CORRUPTED);
    entry.id = head->last + 1;
    entry.at = in.now();
    entry.actor = whole.caller;
    entry.from = whole.from;
    entry.previous = head->hash;
    encode(entry, in.scratch);
    auto const hash = hash_of(entry.id, in.scratch);
    in.append(table::audit, id_key(entry.id), in.scratch);
    encode(audit_head{entry.id, hash}, in.scratch);
    in.put(table::index, key_bytes{tag::audit_head}, in.scratch);
    add_to_project(in, entry.project, entry.id);
}

// A snapshot of its own, walked from end to end.
class chain {
  public:
    explicit chain(environment::state& store) : store_(store) {
        base::check(::mdb_txn_begin(store_.env, nullptr, MDB_RDONLY, &txn_) == 0,
                    "a snapshot that cannot begin");
    }
    ~chain() { ::mdb_txn_abort(txn_); }
    chain(chain const&) = delete;
    chain& operator=(chain const&) = delete;

    audit_report inspect();

  private:
    void look_at(std::string_view key, std::string_view record);
    void look_at_end();
    void say(std::string sentence) {
        if (report_.wrong.size() < wrong_max) report_.wrong.push_back(std::move(sentence));
    }

    environment::state& store_;
    MDB_txn* txn_ = nullptr;
    model::id last_ = 0;
    audit_report report_;
};

void chain::look_at(std::string_view key, std::string_view record) {
    auto const id = read_id(key);
    if (!id) return say("an entry of the audit log has a key that is no id");
    auto const name = "entry " + std::to_string(*id);
    if (*id != last_ + 1)
        say(name + " follows entry " + std::to_string(last_) + ": entries are missing");
    auto const entry = decode_audit(*id, record);
    if (!entry)
        say(name + " cannot be read");
    else if (entry->previous != report_.last)
        say(name + " does not carry the hash of the entry before it");
    last_ = *id;
    report_.last = hash_of(*id, record);
    ++report_.entries;
}

void chain::look_at_end() {
    auto const at = key_bytes{tag::audit_head};
    auto key = val_of(at);
    MDB_val value;
    int const code = ::mdb_get(txn_, store_.dbi(table::index), &key, &value);
    auto const head =
        code == 0 ? decode_audit_head(store::view_of(value)).value_or(audit_head{}) : audit_head{};
    if (head.last != last_ || head.hash != report_.last)
        say("the log does not end with the entry " + std::to_string(head.last) +
            " that was written last");
}

audit_report chain::inspect() {
    MDB_cursor* cursor = nullptr;
    base::check(::mdb_cursor_open(txn_, store_.dbi(table::audit), &cursor) == 0,
                "a cursor that cannot be opened");
    MDB_val key, value;
    int code = ::mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    for (; code == 0; code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT))
        look_at(store::view_of(key), store::view_of(value));
    ::mdb_cursor_close(cursor);
    if (code != MDB_NOTFOUND) say(lmdb_error("the audit log cannot be read", code).message);
    look_at_end();
    return std::move(report_);
}

}  // namespace

std::string_view name_of(audit_action action) {
    static constexpr std::string_view names[] = {"key.create", "key.import",     "key.change",
                                                 "key.rotate", "key.deactivate", "key.reactivate",
                                                 "secret.put", "secret.delete"};
    return names[static_cast<std::size_t>(action)];
}

void note(transaction& in, command const& whole, audit_action action, model::key const& key,
          std::vector<std::string> fields) {
    append_entry(in, whole,
                 {.action = action,
                  .key = key.id,
                  .project = key.project,
                  .source = {},
                  .fields = std::move(fields)});
}

void note(transaction& in, command const& whole, audit_action action, std::string_view source,
          std::vector<std::string> fields) {
    append_entry(in, whole,
                 {.action = action,
                  .project = {},
                  .source = std::string(source),
                  .fields = std::move(fields)});
}

std::optional<audit_entry> decode_audit(model::id id, std::string_view bytes) {
    base::reader from(bytes);
    if (from.integer<std::uint8_t>() != audit_version) return std::nullopt;
    audit_entry entry;
    entry.id = id;
    entry.at = from.integer<base::wall_ms>();
    entry.previous = digest_from(from.bytes(entry.previous.size()));
    entry.actor = from.integer<model::id>();
    bool const has_address = from.integer<std::uint8_t>() == 1;
    model::address address;
    std::ranges::copy(from.bytes(address.bytes.size()), address.bytes.begin());
    if (has_address) entry.from = address;
    auto const action = from.integer<std::uint8_t>();
    entry.key = from.integer<model::id>();
    entry.project = from.text();
    entry.source = from.text();
    auto const count = from.integer<std::uint8_t>();
    for (unsigned i = 0; i < count && from.ok(); ++i) entry.fields.emplace_back(from.text());
    if (!from.done() || action >= static_cast<std::uint8_t>(audit_action::count_))
        return std::nullopt;
    entry.action = static_cast<audit_action>(action);
    entry.hash = hash_of(id, bytes);
    return entry;
}

void encode(audit_head const& head, std::string& to) {
    to.clear();
    base::append(to, head.last);
    to.append(view_of(head.hash));
}

std::optional<audit_head> decode_audit_head(std::string_view bytes) {
    base::reader from(bytes);
    audit_head head;
    head.last = from.integer<model::id>();
    head.hash = digest_from(from.bytes(head.hash.size()));
    if (!from.done()) return std::nullopt;
    return head;
}

audit_report verify_audit(environment& store) {
    return chain(store.native()).inspect();
}

}  // namespace latchkey::store
