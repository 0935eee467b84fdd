#include "store/verify_events.hpp"

#include <map>

#include "store/event_record.hpp"
#include "store/event_secret_record.hpp"

namespace latchkey::store {
namespace {

constexpr std::size_t mark_bytes = std::tuple_size_v<model::event_mark>;

class event_inspection {
  public:
    event_inspection(environment::state& store, MDB_txn* txn, store::heads const& heads,
                     base::function_ref<void(std::string)> say)
        : store_(store), txn_(txn), heads_(heads), say_(say) {}

    void run() {
        look_at_events();
        look_at_lists();
        look_at_marks();
        look_at_secrets();
    }

  private:
    void look_at_events();
    void look_at_event(model::id id, model::event_view const& event);
    void look_at_lists();
    void look_at_marks();
    void look_at_secrets();

    std::optional<std::string_view> get(table where, std::string_view key);
    template <class Each>  // (key without the prefix, value)
    void walk(table where, std::string_view prefix, Each each);
    void compare(std::string_view what, std::uint64_t recorded, std::uint64_t there) {
        if (recorded != there)
            say_(std::string(what) + ": " + std::to_string(recorded) + " are recorded, " +
                 std::to_string(there) + " are there");
    }

    environment::state& store_;
    MDB_txn* txn_;
    store::heads const& heads_;
    base::function_ref<void(std::string)> say_;
    std::map<std::string, std::uint64_t, std::less<>> sources_;  // how many events each has
};

std::string name(model::id id) {
    return "event " + std::to_string(id);
}

std::optional<std::string_view> event_inspection::get(table where, std::string_view key) {
    auto wanted = val_of(key);
    MDB_val value;
    int const code = ::mdb_get(txn_, store_.dbi(where), &wanted, &value);
    if (code == 0) return view_of(value);
    if (code != MDB_NOTFOUND) say_(lmdb_error("a page cannot be read", code).message);
    return std::nullopt;
}

template <class Each>
void event_inspection::walk(table where, std::string_view prefix, Each each) {
    MDB_cursor* cursor = nullptr;
    if (int const code = ::mdb_cursor_open(txn_, store_.dbi(where), &cursor); code != 0)
        return say_(lmdb_error("a table cannot be read", code).message);
    auto key = val_of(prefix);
    MDB_val value;
    int code = ::mdb_cursor_get(cursor, &key, &value, prefix.empty() ? MDB_FIRST : MDB_SET_RANGE);
    for (; code == 0; code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        auto const whole = view_of(key);
        if (!whole.starts_with(prefix)) break;
        each(whole.substr(prefix.size()), view_of(value));
    }
    ::mdb_cursor_close(cursor);
    if (code != 0 && code != MDB_NOTFOUND) say_(lmdb_error("a table cannot be read", code).message);
}

void event_inspection::look_at_events() {
    auto const head = decode_event_head(get(table::index, key_bytes{tag::event_head}));
    if (!head) return say_("the count of events cannot be read");
    std::uint64_t count = 0;
    base::wall_ms before = 0;
    walk(table::events, {}, [&](std::string_view key, std::string_view value) {
        ++count;
        auto const id = read_id(key);
        if (!id || *id < 1) return say_("an event has a key that is no id");
        if (*id > head->last) say_(name(*id) + " is beyond the sequence");
        auto const event = model::decode_event(*id, value);
        if (!event) return say_(name(*id) + " cannot be read");
        if (event->received_at < before) say_(name(*id) + " is older than the one before it");
        if (event->received_at > heads_.written_at)
            say_(name(*id) + " is of a time after the last write");
        before = event->received_at;
        look_at_event(*id, *event);
    });
    compare("events", head->count, count);
}

void event_inspection::look_at_event(model::id id, model::event_view const& event) {
    if (!model::is_event_source(event.source)) return say_(name(id) + " is of no source");
    ++sources_[std::string(event.source)];
    if (!get(table::index, events_of(event.source).add(id)))
        say_(name(id) + " is missing in the list of its source");
    for (auto rest = event.marks; !rest.empty(); rest.remove_prefix(mark_bytes)) {
        auto const bytes =
            get(table::index, event_mark_key(event.source, rest.substr(0, mark_bytes)));
        auto const leads = bytes ? decode_marked_event(*bytes) : std::nullopt;
        // A later event may have taken the mark over.
        if (!leads || leads->id < id) say_(name(id) + " is not known again by its mark");
    }
}

void event_inspection::look_at_lists() {
    std::uint64_t listed = 0, all = 0;
    walk(table::index, key_bytes{tag::event_by_source},
         [&](std::string_view, std::string_view) { ++listed; });
    for (auto const& [source, count] : sources_) {
        all += count;
        compare("events of " + source, event_count(get(table::index, event_count_key(source))),
                count);
    }
    compare("events by source", all, listed);
    walk(table::index, key_bytes{tag::event_count}, [&](std::string_view source, std::string_view) {
        if (sources_.find(source) == sources_.end())
            say_("events of " + std::string(source) + " are counted, and there are none");
    });
}

void event_inspection::look_at_marks() {
    walk(table::index, key_bytes{tag::event_mark},
         [&](std::string_view key, std::string_view value) {
             auto const end = key.find('\0');
             auto const leads = decode_marked_event(value);
             if (end == key.npos || key.size() != end + 1 + mark_bytes || !leads)
                 return say_("a mark of an event has another form");
             auto const bytes = get(table::events, id_key(leads->id));
             auto const event = bytes ? model::decode_event(leads->id, *bytes) : std::nullopt;
             bool has = false;
             auto rest = event ? event->marks : std::string_view();
             for (; !rest.empty(); rest.remove_prefix(mark_bytes))
                 has |= rest.substr(0, mark_bytes) == key.substr(end + 1);
             if (!has || event->source != key.substr(0, end) || event->received_at != leads->at)
                 say_("a mark leads to " + name(leads->id) + ", which does not have it");
         });
}

// Whether they can be unsealed is asked only where the master key is.
void event_inspection::look_at_secrets() {
    walk(table::index, key_bytes{tag::event_secret},
         [&](std::string_view source, std::string_view value) {
             auto const all = decode_event_secrets(value);
             if (!all || !model::is_event_source(source))
                 return say_("the secret of a source cannot be read");
             if (store_.has_master_key && !unsealed(store_, source, *all, 0))
                 say_("the secret of the source " + std::string(source) +
                      " was sealed under another master key, or is damaged");
         });
}

}  // namespace

void verify_events(environment::state& store, MDB_txn* txn, heads const& heads,
                   base::function_ref<void(std::string)> say) {
    event_inspection(store, txn, heads, say).run();
}

}  // namespace latchkey::store
