// The addresses of a batch are sorted once: that finds those which occur twice, looks the others up
// along the index, and writes them in its order. A user that gets another id than its line says, or
// is refused, leaves an entry under the old id, by which posts of the load find it.
#include <algorithm>
#include <numeric>

#include "base/limits.hpp"
#include "domain/changes/change_log.hpp"
#include "domain/frame/bulk_write.hpp"
#include "domain/users/user_record.hpp"

namespace latchkey::domain {
namespace {

using base::field_code;
using base::problem;

class user_writer {
  public:
    user_writer(load_context const& context, users_in_order const& batch)
        : context_(context),
          transaction_(context.transaction),
          batch_(batch),
          last_(context.transaction.last_id(table::users)) {}
    void run();

  private:
    void find_owners();
    void write(std::size_t index);
    model::id find_same(std::size_t index) const;
    bool is_same(model::id id, model::user const& user) const;
    model::id assign_id(std::size_t index, bool& is_new);
    void refuse(std::size_t index, problem problem, base::fault fault);
    void note_source_id(model::id source_id, model::id id);

    load_context const& context_;
    transaction& transaction_;
    users_in_order const& batch_;
    std::vector<model::id> owners_;  // of each e-mail address in this store; 0: none
    std::vector<bool> created_;
    // For each user the first one of the batch with the same e-mail address, and by the first one
    // the id of the user of the batch that got that address. Found by sorting: clients choose the
    // addresses, and could choose them to collide in a hash table.
    std::vector<std::uint32_t> first_same_;
    std::vector<model::id> address_users_;
    model::id last_;  // of the table
};

void user_writer::run() {
    auto const count = batch_.users.size();
    owners_.resize(count);
    created_.resize(count);
    first_same_.resize(count);
    address_users_.resize(count);
    find_owners();
    for (std::size_t i = 0; i < count && transaction_.ok(); ++i) write(i);
    for (auto const i : batch_.by_email)
        if (created_[i]) index_user(transaction_, batch_.folded[i], batch_.users[i].id);
}

void user_writer::find_owners() {
    for (std::size_t rank = 0; rank < batch_.by_email.size(); ++rank) {
        auto const i = batch_.by_email[rank];
        auto const previous = batch_.by_email[rank == 0 ? 0 : rank - 1];
        bool const same = rank != 0 && batch_.folded[i] == batch_.folded[previous];
        first_same_[i] = same ? first_same_[previous] : i;
        auto const bytes = transaction_.get(table::index, email_key(batch_.folded[i]));
        if (bytes) owners_[i] = read_id(*bytes).value_or(0);
    }
}

void user_writer::write(std::size_t index) {
    auto& user = batch_.users[index];
    if (auto const same = find_same(index); same != 0) {
        if (user.id != 0 && user.id != same) note_source_id(user.id, same);
        ++context_.state.users.unchanged;
        return;
    }
    bool is_new = false;
    auto const id = assign_id(index, is_new);
    if (id == 0) return;
    auto& address_user = address_users_[first_same_[index]];
    if (owners_[index] != 0 || address_user != 0)
        return refuse(index, problem::email_taken,
                      {.location = "/email",
                       .code = field_code::invalid_format,
                       .detail = "Another user has this email address."});
    address_user = id;
    if (is_new && user.id != 0) {
        note_source_id(user.id, id);
        ++context_.state.users.new_ids;
    }
    user.id = id;
    complete_times(user, transaction_.now());
    insert_user(transaction_, user, id > last_);
    note_change(transaction_, model::change_type::user_created, 0, user);
    last_ = std::max(last_, id);
    auto& counters = transaction_.counters();
    counters.last_user = std::max(counters.last_user, id);
    created_[index] = true;
    ++context_.state.users.created;
}

// The user who is there already as the line says: with its id, or else with its address. 0: none.
model::id user_writer::find_same(std::size_t index) const {
    auto const& user = batch_.users[index];
    auto const owner = owners_[index] != 0 ? owners_[index] : address_users_[first_same_[index]];
    for (auto const id : {user.id, owner})
        if (is_same(id, user)) return id;
    return 0;
}

bool user_writer::is_same(model::id id, model::user const& user) const {
    if (id == 0 || id > last_) return false;
    auto const bytes = transaction_.get(table::users, id_key(id));
    auto const record = bytes ? model::decode_user(id, *bytes) : std::nullopt;
    return record && record->name == user.name && record->email == user.email &&
           same_if_present(user.created_at, record->created_at) &&
           same_if_present(user.updated_at, record->updated_at);
}

// The id of the user in this store; 0: the user was refused.
model::id user_writer::assign_id(std::size_t index, bool& is_new) {
    auto const& user = batch_.users[index];
    auto const next = transaction_.counters().last_user + 1;
    if (user.id == 0) return next;
    bool const reserved = context_.state.keeps_user(user.id);
    bool const duplicate =
        reserved ? user.id <= last_ && transaction_.has(table::users, id_key(user.id))
                 : transaction_.has(table::index, load_moved_key(context_.identity, user.id));
    if (duplicate) {
        context_.refuse(index, problem::validation_failed,
                        {.location = "/id",
                         .code = field_code::out_of_range,
                         .detail = "is that of a line before this one"});
        ++context_.state.users.refusals;
        return 0;
    }
    is_new = !reserved && user.id < next;
    return is_new ? next : user.id;
}

void user_writer::refuse(std::size_t index, problem problem, base::fault fault) {
    note_refused_user(context_, batch_.users[index].id);
    context_.refuse(index, problem, std::move(fault));
    ++context_.state.users.refusals;
}

// Posts that name the first id are of the user with the second.
void user_writer::note_source_id(model::id source_id, model::id id) {
    std::array<char, 8> bytes;
    transaction_.put(table::index, load_moved_key(context_.identity, source_id),
                     id_value(id, bytes));
}

}  // namespace

void note_refused_user(load_context const& context, model::id id) {
    if (id == 0 || context.state.keeps_user(id)) return;  // a reserved id simply has no user
    std::array<char, 8> no_user;
    auto const key = load_moved_key(context.identity, id);
    if (!context.transaction.has(table::index, key))
        context.transaction.put(table::index, key, id_value(0, no_user));
}

users_in_order::users_in_order(std::span<model::user> batch)
    : users(batch), by_email(batch.size()) {
    folded.reserve(batch.size());
    for (auto const& user : batch) folded.push_back(model::folded_email(user.email));
    std::iota(by_email.begin(), by_email.end(), 0u);
    std::ranges::sort(by_email, {},
                      [&](std::uint32_t i) -> std::string const& { return folded[i]; });
}

void write_users(load_context const& context, users_in_order const& batch) {
    user_writer(context, batch).run();
}

}  // namespace latchkey::domain
