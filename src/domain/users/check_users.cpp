// Users, their e-mail addresses, and deleted users whose posts are being removed.
#include "domain/frame/consistency_check.hpp"

namespace latchkey::domain {
namespace {

void check_purges(consistency_check& check) {
    check.walk(table::index, key_bytes{tag::purge}, [&](std::string_view key, std::string_view) {
        auto const user = read_id(key);
        if (!user) return check.report("an entry of the purge list has a key that is no id");
        check.purged_users.insert(*user);
        if (check.has(table::users, id_key(*user)))
            check.report(name("user", *user) + " exists and is on the purge list");
        if (check.has(table::index, tally_key(*user)))
            check.report(name("user", *user) + " is on the purge list and has counts");
    });
    check.compare("deleted users to purge", check.counters.purges, check.purged_users.size());
}

void check_user_records(consistency_check& check) {
    auto const visit = [&](model::id id, model::user_view const& user) {
        check.check_time(user.updated_at, name("user", id));
        if (user.email.size() > model::email_bytes_max)
            return check.report(name("user", id) + " has an e-mail address beyond its bound");
        auto const entry = check.get(table::index, email_key(model::folded_email(user.email)));
        if (!entry || read_id(*entry) != id)
            check.report(name("user", id) + " is not found by its e-mail address");
    };
    auto const count = walk_records(check, table::users, {}, "user", check.counters.last_user,
                                    model::decode_user, visit);
    check.compare("users", check.counters.users, count);
}

void check_emails(consistency_check& check) {
    std::uint64_t count = 0;
    auto const visit = [&](std::string_view email, std::string_view content) {
        ++count;
        auto const user = check.user(read_id(content));
        if (!user || model::folded_email(user->email) != email)
            check.report("an e-mail address of the index is of no user");
    };
    check.walk(table::index, key_bytes{tag::email}, visit);
    check.compare("e-mail addresses", check.counters.users, count);
}

}  // namespace

void check_users(consistency_check& check) {
    check_purges(check);
    check_user_records(check);
    check_emails(check);
}

}  // namespace latchkey::domain
