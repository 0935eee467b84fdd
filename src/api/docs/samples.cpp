#include "api/docs/samples.hpp"

#include <boost/json/object.hpp>

#include "api/docs/json_text.hpp"
#include "api/docs/reference.hpp"
#include "base/ascii.hpp"
#include "base/check.hpp"

namespace latchkey::api {
namespace {

using std::string;
using std::string_view;

// In single quotes of a shell.
string quoted(string_view text) {
    string result("'");
    for (char const c : text)
        if (c == '\'')
            result.append("'\\''");
        else
            result.push_back(c);
    return result.append("'");
}

}  // namespace

string curl_sample(sample_request const& request) {
    string text("curl -sS ");
    bool const is_default = request.method == (request.body ? "POST" : "GET");
    if (!is_default) text.append("-X ").append(request.method).append(" ");
    text.append("\"$LATCHKEY_URL").append(request.path).append("\"");
    if (request.has_key) text.append(" \\\n  -H \"Authorization: Bearer $LATCHKEY_KEY\"");
    if (request.body) text.append(" \\\n  --json ").append(quoted(indented(*request.body, "  ")));
    return text.append("\n");
}

string typescript_sample(sample_request const& request) {
    string text("const response = await fetch(process.env.LATCHKEY_URL + \"");
    text.append(request.path).append("\"");
    string options;
    if (request.method != "GET")
        options.append("  method: \"").append(request.method).append("\",\n");
    if (request.has_key || request.body) {
        options.append("  headers: {\n");
        if (request.has_key)
            options.append("    Authorization: `Bearer ${process.env.LATCHKEY_KEY}`,\n");
        if (request.body) options.append("    \"Content-Type\": \"application/json\",\n");
        options.append("  },\n");
    }
    if (request.body)
        options.append("  body: JSON.stringify(")
            .append(indented(*request.body, "  "))
            .append("),\n");
    if (!options.empty()) text.append(", {\n").append(options).append("}");
    text.append(");\nif (!response.ok) throw new Error(await response.text());\n");
    return text.append(request.answers_json ? "console.log(await response.json());\n"
                                            : "console.log(response.status);\n");
}

string python_sample(sample_request const& request) {
    string text("import os\n\nimport requests\n\nresponse = requests.");
    text.append(base::to_lower(request.method)).append("(\n    os.environ[\"LATCHKEY_URL\"] + \"");
    text.append(request.path).append("\",\n");
    if (request.has_key)
        text.append(
            "    headers={\"Authorization\": \"Bearer \" + os.environ[\"LATCHKEY_KEY\"]},\n");
    if (request.body)
        text.append("    json=")
            .append(indented(*request.body, "    ", "    ", python_words))
            .append(",\n");
    text.append("    timeout=30,\n)\nresponse.raise_for_status()\n");
    return text.append(request.answers_json ? "print(response.json())\n"
                                            : "print(response.status_code)\n");
}

string go_sample(sample_request const& request) {
    string text("package main\n\nimport (\n\t\"fmt\"\n\t\"io\"\n\t\"net/http\"\n\t\"os\"\n");
    if (request.body) text.append("\t\"strings\"\n");
    text.append(")\n\nfunc main() {\n");
    if (request.body) {
        auto const body = indented(*request.body);
        // Bodies are the examples of the schemas of this program.
        base::check(body.find('`') == body.npos, "Go cannot quote the example of a body");
        text.append("\tbody := strings.NewReader(`").append(body).append("`)\n");
    }
    text.append("\trequest, err := http.NewRequest(\"").append(request.method);
    text.append("\", os.Getenv(\"LATCHKEY_URL\")+\"").append(request.path).append("\", ");
    text.append(request.body ? "body" : "nil").append(")\n");
    text.append("\tif err != nil {\n\t\tpanic(err)\n\t}\n");
    if (request.has_key)
        text.append(
            "\trequest.Header.Set(\"Authorization\", \"Bearer \"+os.Getenv(\"LATCHKEY_KEY\"))\n");
    if (request.body) text.append("\trequest.Header.Set(\"Content-Type\", \"application/json\")\n");
    return text.append(
        "\tresponse, err := http.DefaultClient.Do(request)\n"
        "\tif err != nil {\n\t\tpanic(err)\n\t}\n"
        "\tdefer response.Body.Close()\n"
        "\tanswer, err := io.ReadAll(response.Body)\n"
        "\tif err != nil {\n\t\tpanic(err)\n\t}\n"
        "\tfmt.Println(response.Status, string(answer))\n}\n");
}

}  // namespace latchkey::api
