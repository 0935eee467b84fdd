#include "cli/keys/foreign_keys.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "api/frame/json/json_writer.hpp"
#include "auth/key_form.hpp"
#include "base/bytes.hpp"

namespace latchkey::cli {
namespace {

// [a-z][a-z0-9_-]{0,31}
std::string limit_name(std::string const& text) {
    std::string name;
    for (char const byte : text.substr(0, 32)) {
        bool const is_upper = byte >= 'A' && byte <= 'Z';
        bool const is_kept = (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ||
                             byte == '-' || byte == '_';
        name.push_back(is_upper ? static_cast<char>(byte - 'A' + 'a') : is_kept ? byte : '-');
    }
    return model::is_limit_name(name) ? name : "imported";
}

void append_limits(json_members& body, std::vector<foreign_reader::limit> const& limits) {
    auto& output = body.name("rate_limits");
    api::append_array(output, limits, [&](foreign_reader::limit const& limit) {
        output.append("{\"name\":");
        api::append_string(output, limit_name(limit.name));
        api::append_name(output, "limit");
        api::append_number(output, limit.count);
        api::append_name(output, "window_seconds");
        api::append_number(output, limit.window_seconds);
        output.push_back('}');
    });
}

// The objects of an export of Unkey: `{"keys":[…]}` (v1), `{"data":[…]}` (v2), a list, or one
// object.
void read_unkey_document(boost::json::value const& document, foreign_reader& reader) {
    if (auto const* const list = document.if_array()) {
        std::size_t number = 0;
        for (auto const& each : *list) {
            auto const place = "number " + std::to_string(++number);
            if (each.is_object())
                read_unkey(each.get_object(), place, reader);
            else
                reader.refuse(place, "it is not a JSON object");
        }
        return;
    }
    auto const& object = document.as_object();
    for (auto const* const name : {"keys", "data"})
        if (auto const* const inner = object.if_contains(name);
            inner != nullptr && inner->is_array())
            return read_unkey_document(*inner, reader);
    read_unkey(object, "line 1", reader);
}

base::error not_json(foreign_system system) {
    return {system == foreign_system::kong
                ? "the file is not JSON: latchkey reads what deck gateway dump --format json (or "
                  "deck dump --format json) writes, not YAML"
                : "the file is not JSON"};
}

}  // namespace

void foreign_reader::add(record const& record) {
    json_members body;
    body.text("sha256", base::to_hex({reinterpret_cast<char const*>(record.digest->data()),
                                      record.digest->size()}));
    body.text("name", record.name);
    if (!choice_.scopes.empty()) body.texts("scopes", choice_.scopes);
    if (!choice_.project.empty()) body.text("project", choice_.project);
    if (!choice_.environment.empty()) body.text("environment", choice_.environment);
    if (!record.expires_at.empty()) body.text("expires_at", record.expires_at);
    if (!record.limits.empty()) append_limits(body, record.limits);
    if (!record.metadata.empty()) {
        auto& output = body.name("metadata");
        output.push_back('{');
        for (auto const& entry : record.metadata) {
            if (&entry != record.metadata.data()) output.push_back(',');
            api::append_string(output, entry.first);
            output.push_back(':');
            api::append_string(output, entry.second);
        }
        output.push_back('}');
    }
    result_.keys.push_back({record.title, std::string(body.end())});
}

void foreign_reader::remark(std::string const& title, std::string const& sentence) {
    auto const text = title + ": " + sentence;
    if (sentences_.insert(text).second) result_.remarks.push_back(text);
}

void foreign_reader::refuse(std::string const& title, std::string const& sentence) {
    remark(title, sentence + "; this key is not taken over");
    ++result_.refusals;
}

std::optional<model::digest> foreign_reader::digest_of(std::string const& title,
                                                       std::string_view key) {
    if (key.starts_with("$secret://") || key.starts_with("$env://") || key.starts_with("{vault://"))
        return refuse(title, "its key lies in a vault, which the export only names"), std::nullopt;
    if (auth::has_key_form(key) || auth::has_imported_form(key)) return auth::digest_of(key);
    refuse(title, "its key has " + std::to_string(key.size()) +
                      " characters; a key that is presented here has 32 to 256 of "
                      "A-Z a-z 0-9 _ . ~ + / = -");
    return std::nullopt;
}

base::result<foreign_export> read_foreign_keys(foreign_system system, std::string_view text,
                                               foreign_choice const& choice) {
    foreign_export result;
    foreign_reader reader(result, choice);
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    boost::system::error_code failure;
    auto const document = boost::json::parse(text, failure);
    if (!failure && system == foreign_system::unkey &&
        (document.is_array() || document.is_object())) {
        read_unkey_document(document, reader);
        return result;
    }
    if (!failure && system != foreign_system::unkey && document.is_object()) {
        system == foreign_system::kong ? read_kong(document.get_object(), reader)
                                       : read_apisix(document.get_object(), reader);
        return result;
    }
    if (system != foreign_system::unkey) return not_json(system);
    // One object per line.
    for (std::size_t number = 1; !text.empty(); ++number) {
        auto const end = std::min(text.find('\n'), text.size());
        auto const line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.find_first_not_of(" \t\r") == line.npos) continue;
        auto const key = boost::json::parse(line, failure);
        auto const place = "line " + std::to_string(number);
        if (failure || !key.is_object())
            reader.refuse(place, "it is not a JSON object");
        else
            read_unkey(key.get_object(), place, reader);
    }
    return result;
}

}  // namespace latchkey::cli
