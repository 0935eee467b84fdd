// A page walks the OpenAPI document, which is made from the route table, so it cannot differ from
// what the service does. Each operation is written in the order in which it is read. Header fields
// and problems that most operations share become one line of links, or every page would repeat
// them.
#include "api/docs/operation_pages.hpp"

#include <algorithm>
#include <boost/json/object.hpp>

#include "api/docs/html.hpp"
#include "api/docs/json_text.hpp"
#include "api/docs/problem_pages.hpp"
#include "api/docs/samples.hpp"
#include "api/docs/schema_text.hpp"
#include "base/ascii.hpp"
#include "base/check.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;
using json::object;
using std::string;
using std::string_view;

// Header fields that many requests may have: guides tell of them once.
struct shared_field {
    string_view name, guide;
};
constexpr shared_field shared_fields[] = {
    {"Idempotency-Key", "/docs/idempotency"},
    {"If-Match", "/docs/no-lost-changes"},
    {"If-None-Match", "/docs/no-lost-changes#ask-only-for-news"},
    {"X-Request-Id", "/docs/first-request#read-it-again"},
    {"traceparent", "/docs/first-request#read-it-again"},
    {"Consistency-Token", "/docs/no-lost-changes#in-a-cluster"},
};
shared_field const* find_shared(string_view name) {
    auto const* const field = std::ranges::find(shared_fields, name, &shared_field::name);
    return field == std::end(shared_fields) ? nullptr : field;
}

// The text that stands for a variable of a path in examples.
string_view example_of_variable(string_view name) {
    if (name == "event_source") return "builds";
    return name == "code" ? "rate_limited" : "1";
}

string filled_path(string_view pattern) {
    string path;
    while (!pattern.empty()) {
        auto const open = pattern.find('{');
        path.append(pattern.substr(0, open));
        if (open == pattern.npos) break;
        auto const close = pattern.find('}', open);
        path.append(example_of_variable(pattern.substr(open + 1, close - open - 1)));
        pattern.remove_prefix(close + 1);
    }
    return path;
}

string_view note_of(object const& parameter) {
    auto const place = text_of(parameter, "in");
    if (place == "path") return "in the path, required";
    return place == "query" ? "in the query" : "header field";
}

// One operation, in the order in which it is read.
class section {
  public:
    section(reference const& reference, reference_operation const& operation, string& markup)
        : reference_(reference), operation_(operation), output_(markup) {}

    void append() {
        output_.raw("<section class=\"operation\" data-method=\"").text(operation_.method);
        output_.raw("\" data-path=\"").text(operation_.path).raw("\">\n");
        output_.heading("h2", operation_.id(), operation_.summary());
        output_.raw("<p class=\"endpoint\"><span class=\"method ")
            .raw(base::to_lower(operation_.method))
            .raw("\">")
            .text(operation_.method)
            .raw("</span> ")
            .code(operation_.path)
            .raw("</p>\n<div class=\"columns\">\n<div class=\"text\">\n");
        if (operation_.operation->contains("deprecated"))
            output_.raw("<p class=\"warning\">Deprecated.</p>\n");
        output_.marked(text_of(*operation_.operation, "description"));
        append_parameters();
        append_body();
        append_answers();
        append_problems();
        output_.raw("</div>\n<div class=\"examples\">\n");
        append_samples();
        append_example_answer();
        output_.raw("</div>\n</div>\n</section>\n");
    }

  private:
    void append_parameters() {
        bool is_begun = false;
        for (auto const* const each : operation_.parameters) {
            auto const name = text_of(*each, "name");
            if (find_shared(name) != nullptr) continue;
            if (!std::exchange(is_begun, true))
                output_.raw("<h3>Parameters</h3>\n<dl class=\"parameters\">\n");
            append_entry(output_, name, note_of(*each), each->at("schema").as_object(),
                         text_of(*each, "description"));
        }
        if (is_begun) output_.raw("</dl>\n");
        append_shared_fields();
    }
    // In one line.
    void append_shared_fields() {
        output_.raw("<p class=\"problems fields\">Header fields: ");
        for (auto const* const each : operation_.parameters)
            if (auto const* const field = find_shared(text_of(*each, "name")))
                output_.raw("<a href=\"")
                    .text(field->guide)
                    .raw("\">")
                    .code(field->name)
                    .raw("</a> ");
        output_.raw("</p>\n");
    }

    object const* request_schema() const {
        auto const* const body = operation_.operation->if_contains("requestBody");
        return body == nullptr ? nullptr : reference::json_schema(body->as_object());
    }
    void append_body() {
        auto const* const schema = request_schema();
        if (schema == nullptr) return;
        auto const& body = operation_.operation->at("requestBody").as_object();
        auto const& whole = reference_.resolve(*schema);
        output_.raw("<h3>Body <span class=\"note\">");
        output_.raw(body.at("required").as_bool() ? "JSON" : "JSON, may be absent");
        output_.raw("</span></h3>\n").marked(text_of(whole, "description"));
        if (whole.contains("properties") && !whole.at("properties").as_object().empty()) {
            append_members(output_, whole, true);
        } else {
            output_.raw("<p>");
            append_type(output_, *schema);
            output_.raw("</p>\n");
        }
    }

    // Without refusals, which follow in one line.
    void append_answers() {
        output_.raw("<h3>Answers</h3>\n<dl class=\"answers\">\n");
        for (auto const& [status, value] : operation_.operation->at("responses").as_object()) {
            auto const& response = value.as_object();
            if (!name_in(response).empty()) continue;
            output_.raw("<div><dt><strong>").text(status).raw("</strong></dt><dd>");
            output_.line(text_of(response, "description"));
            if (auto const* const schema = reference::json_schema(response)) {
                output_.raw(": ");
                append_type(output_, *schema);
            }
            append_fields(response);
            output_.raw("</dd></div>\n");
        }
        output_.raw("</dl>\n");
    }
    // Appends the fields of an answer that not every answer has.
    void append_fields(object const& response) {
        auto const* const fields = response.if_contains("headers");
        if (fields == nullptr) return;
        for (bool first = true; auto const* const name :
                                {"ETag", "Location", "Link", "X-Auth-Key-Id", "X-Auth-Project",
                                 "X-Auth-Scopes", "Content-Security-Policy"})
            if (fields->as_object().contains(name))
                output_.raw(std::exchange(first, false) ? ", with " : ", ").code(name);
    }
    void append_problems() {
        output_.raw("<p class=\"problems\">Problems: ");
        bool const has_key = operation_.has_key();
        for (auto const code : operation_.problems) {
            if (has_key && is_told_elsewhere(code)) continue;
            output_.raw("<a href=\"/problems/").text(code).raw("\">").code(code).raw("</a> ");
        }
        if (has_key) append_problem_classes();
        output_.raw("</p>\n");
    }
    bool is_told_elsewhere(string_view code) const {
        return reference_.shared_problems().contains(code) ||
               std::ranges::any_of(problem_classes(),
                                   [&](problem_class const& kind) { return contains(kind, code); });
    }
    void append_problem_classes() {
        output_.raw("and those <a href=\"/docs/errors#shared\">of all operations</a>");
        for (auto const& kind : problem_classes())
            if (operation_.problems.contains(base::describe(kind.codes.front()).name))
                output_.raw(", <a href=\"/docs/errors#")
                    .text(kind.anchor)
                    .raw("\">")
                    .text(kind.title)
                    .raw("</a>");
    }

    void append_samples() {
        sample_request request{.method = operation_.method,
                               .path = filled_path(operation_.path),
                               .has_key = operation_.has_key(),
                               .body = {}};
        if (auto const* const schema = request_schema())
            if (auto body = reference_.example_of(*schema);
                !body.is_object() || !body.get_object().empty())
                request.body = std::move(body);
        request.answers_json = has_json_answer();
        output_.raw("<div class=\"samples\" data-title=\"Request\">\n");
        for (bool first = true; auto const& language : sample_languages) {
            output_.raw(std::exchange(first, false) ? "<details open>" : "<details>");
            output_.raw("<summary>").text(language.title).raw("</summary>\n");
            output_.block(language.name, language.write(request)).raw("</details>\n");
        }
        output_.raw("</div>\n");
        if (request.body)
            output_.raw("<template class=\"body\">")
                .text(indented(*request.body))
                .raw("</template>\n");
    }

    bool has_json_answer() const {
        for (auto const& [status, value] : operation_.operation->at("responses").as_object())
            if (status.starts_with('2'))
                return reference::json_schema(value.as_object()) != nullptr;
        return false;
    }
    void append_example_answer() {
        for (auto const& [status, value] : operation_.operation->at("responses").as_object()) {
            if (!status.starts_with('2')) continue;
            auto const& response = value.as_object();
            auto const* const schema = reference::json_schema(response);
            output_.raw("<div class=\"answer\">\n<p class=\"caption\">Answer <strong>");
            output_.text(status).raw("</strong></p>\n");
            if (schema != nullptr && operation_.id() != "getOpenApi")
                output_.block("json", indented(reference_.example_of(*schema)) + "\n");
            else
                output_.raw("<p class=\"empty\">")
                    .raw(schema != nullptr ? "The document.</p>\n" : "No JSON body.</p>\n");
            output_.raw("</div>\n");
            return;
        }
    }

    reference const& reference_;
    reference_operation const& operation_;
    html output_;
};

}  // namespace

string group_content(reference const& reference, object const& group) {
    string markup;
    html output(markup);
    auto const name = text_of(group, "name");
    auto const page = "/docs/" + base::to_lower(name);
    output.raw("<h1>").text(name).raw("</h1>\n<div class=\"lead\">");
    output.marked(text_of(group, "description")).raw("</div>\n<ul class=\"contents\">\n");
    for (auto const& each : reference.operations())
        if (each.page == page) {
            output.raw("<li><a href=\"#").text(each.id()).raw("\"><span class=\"method ");
            output.raw(base::to_lower(each.method))
                .raw("\">")
                .text(each.method)
                .raw("</span> <code>");
            output.text(each.path).raw("</code> <span class=\"summary\">").text(each.summary());
            output.raw("</span></a></li>\n");
        }
    output.raw("</ul>\n");
    for (auto const& each : reference.operations())
        if (each.page == page) section(reference, each, markup).append();
    if (name == "Webhooks") markup.append(sent_content(reference));
    return markup;
}

string sent_content(reference const& reference) {
    string markup;
    html output(markup);
    auto const& requests = reference.document().at("webhooks").as_object();
    auto const& any = requests.begin()->value().as_object().at("post").as_object();
    output.raw("<section>\n").heading("h2", "sent", "What is sent to a webhook");
    output.marked(text_of(any, "description")).raw("<dl class=\"parameters\">\n");
    for (auto const& each : any.at("parameters").as_array()) {
        auto const& parameter = reference.component("parameters", name_in(each.as_object()));
        append_entry(output, text_of(parameter, "name"), "header field",
                     parameter.at("schema").as_object(), text_of(parameter, "description"));
    }
    output.raw("</dl>\n<h3>Answers</h3>\n<dl class=\"answers\">\n");
    for (auto const& [status, response] : any.at("responses").as_object())
        output.raw("<div><dt><strong>")
            .text(status)
            .raw("</strong></dt><dd>")
            .line(text_of(response.as_object(), "description"))
            .raw("</dd></div>\n");
    output.raw("</dl>\n<h3>Types</h3>\n<dl class=\"members\">\n");
    for (auto const& [type, item] : requests) {
        auto const& operation = item.as_object().at("post").as_object();
        output.raw("<div><dt>").code(type).raw("</dt><dd>");
        append_type(output, *reference::json_schema(operation.at("requestBody").as_object()));
        output.raw(" ").line(text_of(operation, "summary")).raw("</dd></div>\n");
    }
    output.raw("</dl>\n</section>\n");
    return markup;
}

}  // namespace latchkey::api
