// External events, and the secrets of their sources, as kinds of records: what may be done with
// them, and what the store as a whole does. Values, any thread.
#pragma once

#include <string>
#include <vector>

#include "base/secret.hpp"
#include "domain/frame/action.hpp"
#include "domain/frame/kept_record.hpp"
#include "domain/frame/kind.hpp"
#include "model/event.hpp"

namespace latchkey::domain {

// Stores an event of an external service. If one of its marks came from that source within the last
// 24 hours, nothing is written and the outcome names the event that has the mark.
struct receive_event {
    std::string source;
    std::string delivery_id;  // empty: none
    bool verified = false;
    std::vector<model::event_mark> marks;  // at most event_marks_max
    std::string payload;                   // a JSON object
};
// The record of its outcome.
struct received_event {
    model::id id = 0;
};
// Sets or replaces the secret of a source of events; the replaced one stays valid until the overlap
// ends.
struct put_event_secret {
    std::string source;
    model::event_format format = model::event_format::standard;
    base::secret secret;
    bool reveal = false;  // the outcome contains the secret, which the service generated
    std::int64_t overlap_ms = 0;
};
struct delete_event_secret {
    std::string source;
};
struct secret_result {
    std::string source;
    model::event_format format = model::event_format::standard;
    base::secret secret;  // empty: not revealed
};

outcome run(transaction& txn, receive_event const& action, command const& command);
outcome run(transaction& txn, put_event_secret const& action, command const& command);
outcome run(transaction& txn, delete_event_secret const& action, command const& command);

std::size_t bytes_of(receive_event const& action);
std::size_t bytes_of(put_event_secret const& action);
std::size_t bytes_of(delete_event_secret const& action);
using event_actions = types<receive_event, put_event_secret, delete_event_secret>;
using event_outcomes = types<received_event, secret_result>;
template <>
struct kept_record<received_event> {
    static constexpr std::uint8_t number = 4;
    static void append(std::string& output, received_event const& record);
    static std::optional<received_event> read(base::reader& reader);
};
// Secrets are set by PUT, which takes no Idempotency-Key.
template <>
struct kept_record<secret_result> : kept_never {};

void check_events(consistency_check& check);
extern kind const event_kind;

}  // namespace latchkey::domain
