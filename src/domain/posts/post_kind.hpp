// Posts as a kind of record: what may be done with them, and what the store as a whole does.
// Values, any thread.
#pragma once

#include <optional>
#include <string>

#include "domain/frame/action.hpp"
#include "domain/frame/expected_members.hpp"
#include "domain/frame/kept_record.hpp"
#include "domain/frame/kind.hpp"
#include "model/post.hpp"

namespace latchkey::domain {

struct create_post {
    std::optional<model::id> user_id;  // nullopt: the body has no valid id (a fault says so)
    std::string title;
    std::string body;
    model::post_status status = model::post_status::draft;
};
struct change_post {
    model::id id = 0;
    std::optional<std::string> title;
    std::optional<std::string> body;
    std::optional<model::post_status> status;
    expected_members expected;
};
struct delete_post {
    model::id id = 0;
};

outcome run(transaction& txn, create_post const& action, command const& command);
outcome run(transaction& txn, change_post const& action, command const& command);
outcome run(transaction& txn, delete_post const& action, command const& command);

std::size_t bytes_of(create_post const& action);
std::size_t bytes_of(change_post const& action);
using post_actions = types<create_post, change_post, delete_post>;
using post_outcomes = types<model::post>;
template <>
struct kept_record<model::post> : kept_whole<2, model::decode_post> {};

void check_posts(consistency_check& check);
extern kind const post_kind;

}  // namespace latchkey::domain
