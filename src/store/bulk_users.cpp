#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "base/limits.hpp"
#include "store/bulk_write.hpp"

namespace latchkey::store {
namespace {

using base::field_code;
using base::problem;

class user_writer {
  public:
    user_writer(load_context const& to, users_in_order const& some)
        : to_(to), in_(to.in), some_(some), last_(to.in.last_id(table::users)) {}
    void run();

  private:
    void look_up_emails();
    void decide(std::size_t at);
    bool is_there_already(model::user const& user);
    model::id free_id(std::size_t at, bool& moved);
    void refuse(std::size_t at, problem why, base::fault what);
    void move(model::id from, model::id to);

    load_context const& to_;
    transaction& in_;
    users_in_order const& some_;
    std::vector<model::id> owners_;  // of each e-mail address; 0: nobody's
    std::vector<bool> created_;
    std::unordered_set<std::string_view> emails_;  // of this batch
    model::id last_;                               // in the table
};

void user_writer::run() {
    auto const count = some_.users.size();
    owners_.resize(count);
    created_.resize(count);
    emails_.reserve(count);
    look_up_emails();
    for (std::size_t i = 0; i < count && in_.failure() == 0; ++i) decide(i);
    for (auto const i : some_.by_email)
        if (created_[i]) index_user(in_, some_.folded[i], some_.users[i].id);
}

void user_writer::look_up_emails() {
    for (auto const i : some_.by_email) {
        auto const bytes = in_.get(table::index, email_key(some_.folded[i]));
        if (bytes) owners_[i] = read_id(*bytes).value_or(0);
    }
}

void user_writer::decide(std::size_t at) {
    auto& user = some_.users[at];
    if (is_there_already(user)) {
        ++to_.state.users.unchanged;
        return;
    }
    bool moved = false;
    auto const id = free_id(at, moved);
    if (id == 0) return;
    if (owners_[at] != 0 || !emails_.insert(some_.folded[at]).second)
        return refuse(at, problem::email_taken,
                      {.at = "/email",
                       .code = field_code::invalid_format,
                       .detail = "another user has this e-mail address"});
    if (moved && user.id != 0) move(user.id, id);
    user.id = id;
    complete_times(user, in_.now());
    insert_user(in_, user, id > last_);
    last_ = std::max(last_, id);
    in_.heads().last_user = std::max(in_.heads().last_user, id);
    created_[at] = true;
    ++to_.state.users.created;
}

bool user_writer::is_there_already(model::user const& user) {
    if (user.id == 0 || user.id > last_) return false;
    auto const bytes = in_.get(table::users, id_key(user.id));
    auto const has = bytes ? model::decode_user(user.id, *bytes) : std::nullopt;
    return has && has->name == user.name && has->email == user.email &&
           same_if_given(user.created_at, has->created_at) &&
           same_if_given(user.updated_at, has->updated_at);
}

// The id that a user gets; 0: it is refused.
model::id user_writer::free_id(std::size_t at, bool& moved) {
    auto const& user = some_.users[at];
    auto const next = in_.heads().last_user + 1;
    if (user.id == 0) return next;
    bool const kept = to_.state.keeps_user(user.id);
    bool const known = kept ? user.id <= last_ && in_.has(table::users, id_key(user.id))
                            : in_.has(table::index, load_moved_key(to_.identity, user.id));
    if (known) {
        to_.refuse(at, problem::validation_failed,
                   {.at = "/id",
                    .code = field_code::out_of_range,
                    .detail = "a line before this one has the same id"});
        ++to_.state.users.refused;
        return 0;
    }
    moved = !kept && user.id < next;
    return moved ? next : user.id;
}

void user_writer::refuse(std::size_t at, problem why, base::fault what) {
    note_refused_user(to_, some_.users[at].id);
    to_.refuse(at, why, std::move(what));
    ++to_.state.users.refused;
}

void user_writer::move(model::id from, model::id to) {
    std::array<char, 8> bytes;
    in_.put(table::index, load_moved_key(to_.identity, from), id_value(to, bytes));
    ++to_.state.users.moved;
}

}  // namespace

void note_refused_user(load_context const& to, model::id id) {
    if (id == 0 || to.state.keeps_user(id)) return;  // of the kept ones there is just no user
    std::array<char, 8> nobody;
    if (auto const name = load_moved_key(to.identity, id); !to.in.has(table::index, name))
        to.in.put(table::index, name, id_value(0, nobody));
}

users_in_order::users_in_order(std::span<model::user> some) : users(some), by_email(some.size()) {
    folded.reserve(some.size());
    for (auto const& user : some) folded.push_back(model::folded_email(user.email));
    std::iota(by_email.begin(), by_email.end(), 0u);
    std::ranges::sort(by_email, {},
                      [&](std::uint32_t i) -> std::string const& { return folded[i]; });
}

void write_users(load_context const& to, users_in_order const& some) {
    user_writer(to, some).run();
}

}  // namespace latchkey::store
