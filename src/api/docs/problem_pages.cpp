// A page is made of three tables by code: title and status, advice, and a remedy to copy.
// Operations that answer with a code are found by a search over all of them; codes that every
// operation shares, or a class of them, are listed once.
#include "api/docs/problem_pages.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <utility>
#include <vector>

#include "api/docs/html.hpp"
#include "api/docs/json_text.hpp"
#include "api/frame/problem_document.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;
using base::problem;
using base::problem_entry;
using json::object;
using std::string;
using std::string_view;

constexpr string_view example_id = "req_0000000000000000000001";

// One error of a document: where it is, and the sentence that the detail repeats.
void add_error(object& document, string_view kind, string_view place, base::field_code code,
               string_view detail) {
    document["errors"] =
        json::array{object{{kind, place}, {"code", base::name_of(code)}, {"detail", detail}}};
}

// Adds the members that only documents of some codes have.
void add_members(problem code, object& document) {
    using enum base::field_code;
    if (code == problem::validation_failed) {
        add_error(document, "pointer", "/email", invalid_format,
                  "`email` must be an email address.");
        document["detail"] = "`email` must be an email address.";
    }
    if (code == problem::email_taken)
        add_error(document, "pointer", "/email", not_unique, "`email` belongs to another user.");
    if (code == problem::invalid_parameter) {
        add_error(document, "parameter", "limit", invalid_format,
                  "`limit` must be a whole number from 1.");
        document["detail"] = "`limit` must be a whole number from 1.";
    }
    if (code == problem::rate_limited)
        document["violated_policies"] = document["violated-policies"] = json::array{"minute"};
    if (code == problem::changes_expired) document["oldest"] = 40211;
}

object example_of(problem_entry const& entry, string_view base_url) {
    object document{{"type", string(base_url) + "/problems/" + string(entry.name)},
                    {"title", entry.title},
                    {"status", entry.status},
                    {"detail", advice_for(entry.code)},
                    {"instance", "urn:request:" + string(example_id)},
                    {"code", entry.name},
                    {"request_id", example_id}};
    add_members(entry.code, document);
    return document;
}

// The header fields that tell how to go on.
string_view fields_of(problem_entry const& entry) {
    switch (entry.status) {
        case 401:
            return "WWW-Authenticate: Bearer realm=\"api\"\n";
        case 405:
            return "Allow: GET, HEAD, POST, OPTIONS\n";
        case 415:
            return "Accept: application/json\n";
        case 429:
        case 503:
            return "Retry-After: 12\n";
        default:
            return entry.code == problem::insufficient_scope
                       ? "WWW-Authenticate: Bearer realm=\"api\", error=\"insufficient_scope\", "
                         "scope=\"users:write\"\n"
                       : "";
    }
}

void append_operations(html& output, reference const& reference, problem_entry const& entry) {
    output.heading("h2", "operations", "Where it is answered");
    if (reference.shared_problems().contains(entry.name)) {
        output.raw("<p>By every operation that needs a key.</p>\n");
        return;
    }
    output.raw("<ul>\n");
    bool is_empty = true;
    for (auto const& each : reference.operations())
        if (each.problems.contains(entry.name)) {
            is_empty = false;
            output.raw("<li>").link(each.link(), each.summary()).raw("</li>\n");
        }
    if (is_empty) output.raw("<li>Before the operation is known: by any path or method.</li>\n");
    output.raw("</ul>\n");
}

void append_row(html& output, problem_entry const& entry) {
    output.raw("<div><dt><a href=\"/problems/").text(entry.name).raw("\">").code(entry.name);
    output.raw("</a></dt><dd>").text(entry.title).raw("</dd></div>\n");
}

}  // namespace

string problem_content(reference const& reference, problem_entry const& entry,
                       string_view base_url) {
    string markup;
    html output(markup);
    auto const status = std::to_string(entry.status);
    output.raw("<p class=\"trail\">").link("/problems", "Problems").raw("</p>\n<h1>");
    output.text(entry.title).raw("</h1>\n<p class=\"lead\">").code(entry.name);
    output.raw(", status ").raw(status).raw("</p>\n");
    output.heading("h2", "meaning", "What it means, and what to do");
    output.marked(advice_for(entry.code));
    output.block("sh", string(remedy_for(entry.code)) + "\n");
    output.heading("h2", "example", "Example");
    output.block("http", "HTTP/1.1 " + status + "\nContent-Type: application/problem+json\n" +
                             string(fields_of(entry)) + "\n" +
                             indented(example_of(entry, base_url)) + "\n");
    append_operations(output, reference, entry);
    output.raw("<p>").link("/docs/errors", "How to treat problems in a program").raw("</p>\n");
    return markup;
}

string problem_list_content() {
    std::vector<problem_entry> all(base::problems.begin() + 1, base::problems.end());
    std::ranges::sort(
        all, {}, [](problem_entry const& entry) { return std::pair(entry.status, entry.code); });
    string markup;
    html output(markup);
    output.raw(
        "<h1>Problems</h1>\n<p class=\"lead\">Every error is a problem document (RFC 9457). Its "
        "<code>code</code> is the stable part; its <code>type</code> leads to one of these "
        "pages.</p>\n");
    std::uint16_t status = 0;
    for (auto const& entry : all) {
        if (entry.status != status) {
            if (status != 0) output.raw("</dl>\n");
            status = entry.status;
            auto const number = std::to_string(status);
            output.heading("h2", "status-" + number, number).raw("<dl class=\"members\">\n");
        }
        append_row(output, entry);
    }
    output.raw("</dl>\n");
    return markup;
}

string shared_problems_content(reference const& reference) {
    string markup;
    html output(markup);
    output.heading("h2", "shared", "Problems of all operations");
    output.raw(
        "<p>Every operation that needs a key may answer with these, so that the pages of "
        "operations name the others only.</p>\n<dl class=\"members\">\n");
    for (auto const& entry : base::problems)
        if (reference.shared_problems().contains(entry.name)) append_row(output, entry);
    output.raw("</dl>\n");
    for (auto const& kind : problem_classes()) {
        output.heading("h3", kind.anchor, "Problems " + string(kind.title));
        output.raw("<dl class=\"members\">\n");
        for (auto const code : kind.codes)
            if (code != problem::none) append_row(output, base::describe(code));
        output.raw("</dl>\n");
    }
    return markup;
}

std::span<problem_class const> problem_classes() {
    using enum problem;
    static constexpr problem_class classes[] = {
        {"requests", "of most operations", {not_acceptable, expectation_failed}},
        {"bodies",
         "with a body",
         {invalid_json, body_too_large, unsupported_media_type, validation_failed}},
        {"writes", "of writes", {storage_full, store_busy}},
        {"repeats",
         "with an Idempotency-Key",
         {idempotency_key_invalid, idempotency_in_progress, idempotency_key_reused}},
        {"conditions", "with a condition", {precondition_failed, precondition_required}},
        {"lists", "of lists", {conflicting_parameters, invalid_cursor}},
    };
    return classes;
}

bool contains(problem_class const& kind, string_view code) {
    return std::ranges::any_of(kind.codes, [&](problem each) {
        return each != problem::none && base::describe(each).name == code;
    });
}

}  // namespace latchkey::api
