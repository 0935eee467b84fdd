// The records of a bulk load within its transaction. Private to the domain.
#pragma once

#include <span>
#include <vector>

#include "domain/frame/bulk_load_state.hpp"
#include "domain/store_terms.hpp"
#include "model/post.hpp"
#include "model/user.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

struct load_context {
    store::transaction& transaction;
    std::uint64_t identity;
    load_state& state;
    std::vector<load_refusal>& refusals;

    void refuse(std::size_t index, base::problem problem, base::fault fault) const {
        refusals.push_back({index, problem, std::move(fault)});
    }
};

// Remembers a user who was refused, so that their posts do not go to a user who has that id in this
// store. (bulk_users.cpp)
void note_refused_user(load_context const& context, model::id id);

// E-mail addresses folded and sorted as their index has them; made before the transaction, since it
// takes time.
struct users_in_order {
    explicit users_in_order(std::span<model::user> batch);
    std::span<model::user> users;
    std::vector<std::string> folded;
    std::vector<std::uint32_t> by_email;
};
void write_users(load_context const& context, users_in_order const& batch);  // (bulk_users.cpp)

// By user, then in the order of the batch.
struct posts_in_order {
    explicit posts_in_order(std::span<model::post> batch);
    std::span<model::post> posts;
    std::vector<std::uint32_t> by_user;
};
void write_posts(load_context const& context, posts_in_order const& batch);  // (bulk_posts.cpp)

// A time that is missing is that of the other one, or of the transaction.
template <class Record>
void complete_times(Record& record, base::wall_ms now) {
    if (record.created_at == 0)
        record.created_at = record.updated_at == 0 ? now : record.updated_at;
    if (record.updated_at == 0) record.updated_at = record.created_at;
}

// A value that is missing (0) equals anything.
template <class Value>
bool same_if_present(Value const& value, Value const& record_value) {
    return value == Value{} || value == record_value;
}

}  // namespace latchkey::domain
