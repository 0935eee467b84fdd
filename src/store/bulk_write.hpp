// The records of a bulk load within its transaction. Private to the store.
#pragma once

#include "store/bulk_load.hpp"
#include "store/commands.hpp"

namespace latchkey::store {

struct load_context {
    transaction& in;
    std::uint64_t identity;
    bulk_load::state& state;
    std::vector<load_refusal>& refusals;

    void refuse(std::size_t at, base::problem problem, base::fault fault) const {
        refusals.push_back({at, problem, std::move(fault)});
    }
};

// Posts that name a user who was refused must not go to whoever has that id here.
void note_refused_user(load_context const& to, model::id id);  // (bulk_users.cpp)

// E-mail addresses folded, and the order in which their index has them; made before the
// transaction, since it takes time.
struct users_in_order {
    explicit users_in_order(std::span<model::user> some);
    std::span<model::user> users;
    std::vector<std::string> folded;
    std::vector<std::uint32_t> by_email;
};
void write_users(load_context const& to, users_in_order const& some);  // (bulk_users.cpp)

// By user and then as they came.
struct posts_in_order {
    explicit posts_in_order(std::span<model::post> some);
    std::span<model::post> posts;
    std::vector<std::uint32_t> by_user;
};
void write_posts(load_context const& to, posts_in_order const& some);  // (bulk_posts.cpp)

// Times that were not given are those that were, or the transaction's.
template <class Record>
void complete_times(Record& record, base::wall_ms now) {
    if (record.created_at == 0)
        record.created_at = record.updated_at == 0 ? now : record.updated_at;
    if (record.updated_at == 0) record.updated_at = record.created_at;
}

// 0 was not given and fits anything.
template <class Value>
bool same_if_given(Value const& given, Value const& has) {
    return given == Value{} || given == has;
}

}  // namespace latchkey::store
