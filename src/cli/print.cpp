#include "cli/print.hpp"

#include <algorithm>
#include <cstdio>

#include "api/resources/key_json.hpp"
#include "base/visible.hpp"
#include "model/utf8.hpp"

namespace latchkey::cli {

std::string format_time(base::wall_ms time, char const* none) {
    if (time == 0) return none;
    char text[base::timestamp_bytes];
    base::format_timestamp(time, text);
    text[10] = ' ';
    return std::string(text, 19) + "Z";
}

void print_table(std::vector<std::vector<std::string>> rows) {
    for (auto& row : rows)
        for (auto& text : row) text = base::visible(text);
    std::vector<std::size_t> widths;
    for (auto const& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (widths.size() == i) widths.push_back(0);
            widths[i] = std::max(widths[i], model::code_point_count(row[i]));
        }
    for (auto const& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += row[i];
            if (i + 1 < row.size())
                line.append(widths[i] - model::code_point_count(row[i]) + 2, ' ');
        }
        std::printf("%s\n", line.c_str());
    }
}

void print_page(std::vector<std::string> const& records) {
    std::string document = "{\"data\":[";
    for (auto const& each : records)
        document.append(&each == records.data() ? "" : ",").append(each);
    auto const count = std::to_string(records.size());
    document += "],\"pagination\":{\"page\":1,\"limit\":" + count + ",\"total\":" + count +
                ",\"total_pages\":1,\"has_more\":false,\"next_cursor\":null}}";
    std::printf("%s\n", document.c_str());
}

void print_key(store::outcome const& outcome, std::string_view secret, bool json) {
    auto const& key = std::get<model::key>(outcome.record);
    if (json) {
        std::string document;
        auto const optional_secret = secret.empty() ? std::nullopt : std::optional(secret);
        api::append_key(document, key, outcome.time, optional_secret, outcome.last_used_at);
        std::printf("%s\n", document.c_str());
        return;
    }
    std::string scopes;
    for (auto const& name : key.scopes.names()) scopes += (scopes.empty() ? "" : " ") + name;
    auto const state = model::name_of(key.state_at(outcome.time));
    std::fprintf(stderr, "Key %lld '%s' in project %s, %.*s, scopes: %s\n",
                 static_cast<long long>(key.id), base::visible(key.name).c_str(),
                 key.project.c_str(), static_cast<int>(state.size()), state.data(), scopes.c_str());
    if (key.kind == model::key_kind::jwt)
        std::fprintf(stderr, "It has no secret: it is for tokens of %s for %s\n",
                     base::visible(key.issuer).c_str(), base::visible(key.subject).c_str());
    if (secret.empty()) return;
    std::fprintf(stderr,
                 "This is the only time the key is shown; the service stores only its hash:\n");
    std::printf("%.*s\n", static_cast<int>(secret.size()), secret.data());
}

}  // namespace latchkey::cli
