#include "domain/users/user_record.hpp"

namespace latchkey::domain {

void insert_user(transaction& txn, model::user const& user, bool appended) {
    encode(user, txn.scratch);
    if (appended)
        txn.append(table::users, id_key(user.id), txn.scratch);
    else
        txn.put(table::users, id_key(user.id), txn.scratch);
    ++txn.counters().users;
}

void index_user(transaction& txn, std::string_view folded_email, model::id id) {
    std::array<char, 8> bytes;
    txn.put(table::index, email_key(folded_email), id_value(id, bytes));
}

}  // namespace latchkey::domain
