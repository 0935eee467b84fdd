// JSON Schemas and parameters that operations of several capabilities have.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "api/frame/schema.hpp"
#include "base/limits.hpp"
#include "base/problem.hpp"

namespace latchkey::api::schema {
namespace {

namespace json = boost::json;

namespace limits = base::limits;

object pagination_schema() {
    auto const count = integer(0, base::limits::id_max);
    return response_object(
        {{"page", with_description(nullable(integer(1, base::limits::page_reach_max)),
                                   "Null when a cursor was sent.")},
         {"limit", integer(1, base::limits::page_limit_max)},
         {"total", with_description(nullable(count),
                                    "How many there are in all, exact; null "
                                    "where counting would cost too much.")},
         {"total_pages", with_description(nullable(count),
                                          "Null when a cursor was sent, and "
                                          "without a total.")},
         {"has_more", boolean()},
         {"next_cursor",
          with_description(nullable(matching("^[A-Za-z0-9_-]{1,256}$")), "Null at the end.")}},
        json::parse(R"({"page": 1, "limit": 20, "total": 1, "total_pages": 1, "has_more": false,
            "next_cursor": null})"));
}

object field_error_schema() {
    json::array codes;
    for (auto i = 0u; i <= static_cast<unsigned>(base::field_code::not_unique); ++i)
        codes.push_back(json::value(base::name_of(static_cast<base::field_code>(i))));
    return response_object(
        {{"pointer?", with_description(object{{"type", "string"}},
                                       "JSON pointer (RFC 6901) to the member of the body.")},
         {"parameter?", with_description(object{{"type", "string"}}, "The query parameter.")},
         {"header?", with_description(object{{"type", "string"}}, "The header field.")},
         {"code", object{{"type", "string"}, {"enum", std::move(codes)}}},
         {"detail", object{{"type", "string"}}}},
        json::parse(R"({"pointer": "/email", "code": "invalid_format",
            "detail": "`email` must be an email address."})"));
}

object problem_schema() {
    json::array codes;
    for (auto const& entry : base::problems)
        if (entry.code != base::problem::none) codes.push_back(json::value(entry.name));
    object const text{{"type", "string"}};
    return with_description(
        response_object(
            {{"type", object{{"type", "string"}, {"format", "uri-reference"}}},
             {"title", text},
             {"status", integer(400, 599)},
             {"detail", text},
             {"instance", matching("^urn:request:[A-Za-z0-9_-]{8,64}$")},
             {"code", with_description(object{{"type", "string"}, {"enum", std::move(codes)}},
                                       "The stable part, for programs.")},
             {"request_id", matching("^[A-Za-z0-9_-]{8,64}$")},
             {"errors?", list_of(ref("FieldError"), base::limits::faults_max)},
             {"violated_policies?",
              with_description(list_of(text, 8), "With `rate_limited`: the names of the limits.")},
             {"violated-policies?",
              with_description(list_of(text, 8),
                               "The same, as the draft of RateLimit spells it.")}},
            nullptr),
        "RFC 9457. The codes are explained at `/problems/{code}`.");
}

object page_number() {
    return with_default(integer(1, limits::page_reach_max), 1);
}
object cursor() {
    return matching("^[A-Za-z0-9_-]{1,256}$");
}
object sort() {
    return with_default(one_of({"id", "-id"}), "id");
}
// Bare or quoted.
object idempotency_key() {
    return matching("^[!-~]+$");
}
object traceparent() {
    return word();
}

}  // namespace

object count() {
    return {{"type", "integer"}, {"minimum", 0}};
}
object count_by_status() {
    return response_object({{"2xx", count()}, {"3xx", count()}, {"4xx", count()}, {"5xx", count()}},
                           nullptr);
}

object list_schema(std::string_view element) {
    return response_object({{"data", list_of(ref(element), base::limits::page_limit_max)},
                            {"pagination", ref("Pagination")}},
                           nullptr);
}

object change_schema(std::string_view type, object data, json::value example) {
    auto const type_schema =
        type.empty() ? with_description(matching("^[a-z_]+\\.[a-z]+$"), "More may come with time.")
                     : one_of({type});
    return response_object({{"sequence", id()},
                            {"type", type_schema},
                            {"occurred_at", time()},
                            {"key_id", with_description(nullable(id()),
                                                        "The key of the caller; null: the command "
                                                        "line, or the service by itself.")},
                            {"data", std::move(data)}},
                           std::move(example));
}

object unchanged(object schema) {
    return with_description(std::move(schema), "May be sent back as it is.");
}

object page_limit() {
    return with_default(object{{"type", "integer"}, {"minimum", 1}}, limits::page_limit_default);
}
object request_id() {
    return matching("^[A-Za-z0-9_-]{8,64}$");
}
// A decimal number, up to 2^64 - 1.
object position() {
    return matching("^[0-9]{1,20}$");
}
object project_name() {
    return matching("^[a-z0-9-]{1,64}$");
}
object source_name() {
    return matching("^[a-z][a-z0-9-]{0,31}$");
}
object search() {
    auto result =
        with_description(text(1, limits::search_bytes_max), "At most 100 bytes in UTF-8.");
    result["examples"] = json::array{"ada"};
    return result;
}
object word() {
    return {{"type", "string"}};
}

object common_schemas() {
    return {{"Pagination", pagination_schema()},
            {"FieldError", field_error_schema()},
            {"Problem", problem_schema()}};
}

std::span<parameter const> common_parameters() {
    static constexpr parameter rows[] = {
        {"id", "path", id, "An integer from 1."},
        {"page", "query", page_number,
         "From 1. Page times limit reaches to 100000; `cursor` goes further. Not together with "
         "it."},
        {"limit", "query", page_limit, "Above 100 counts as 100."},
        {"cursor", "query", cursor, "The `next_cursor` of the page before."},
        {"sort", "query", sort, "`-id`: descending."},
        {"project", "query", project_name, "Keys, or entries, of this project."},
        {"X-Request-Id", "header", request_id,
         "Returned in the response; generated if it is absent or malformed."},
        {"Idempotency-Key", "header", idempotency_key,
         "1 to 255 visible characters of your own, quoted or not, such as a random UUID: the "
         "request is carried out once, and for 24 hours a repeat gets the same answer."},
        {"Consistency-Token", "header", position,
         "The largest that an answer to a write had, of any node: the request waits, for a second "
         "at most, until this node has that write."},
        {"traceparent", "header", traceparent, "W3C trace context; logged."},
        {"If-Match", "header", word,
         "Entity tags, or `*`: 412 where the resource has none of these. `store.require_if_match` "
         "makes it mandatory on PUT, PATCH and DELETE (428)."},
        {"If-None-Match", "header", word,
         "Entity tags, or `*`: where the resource has one of these, a read is answered 304 and a "
         "write 412."},
    };
    return rows;
}

}  // namespace latchkey::api::schema
