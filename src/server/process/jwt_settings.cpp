// Issuers are read from their files anew at each load and compared with those before. Where the
// text of a file has changed, the new settings with the old keys become a former issuer for a time,
// so tokens signed just before a rotation stay valid. If nothing differs the old object itself is
// returned, and workers keep their caches.
#include "server/process/jwt_settings.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/system/log.hpp"
#include "base/system/read_within.hpp"
#include "model/key.hpp"
#include "wire/jwt/algorithm.hpp"
#include "wire/jwt/key_set.hpp"

namespace latchkey::server {
namespace {

constexpr std::string_view subject_claims[] = {"sub", "azp", "client_id"};
constexpr std::size_t audiences_max = 16;
constexpr std::size_t claim_bytes_max = 64;
constexpr std::size_t errors_shown_max = 8;

std::string about(jwt_settings const& table, std::string const& text) {
    return "jwt" + (table.issuer.empty() ? "" : " '" + table.issuer + "'") + ": " + text;
}

// `add(setting, text)` gets what is wrong.
template <class Sink>
void check_claims(jwt_settings const& table, Sink add) {
    if (!model::is_claim_text(table.issuer, model::issuer_bytes_max))
        add("jwt.issuer", "issuer must be the claim iss of its tokens, 1 to 512 bytes");
    bool const has_audience = !table.audience.empty() && table.audience.size() <= audiences_max &&
                              std::ranges::all_of(table.audience, [](auto const& each) {
                                  return model::is_claim_text(each, model::issuer_bytes_max);
                              });
    if (!has_audience)
        add("jwt.audience",
            "audience must be what the claim aud of its tokens has for this "
            "service, one string or up to 16");
    if (std::ranges::find(subject_claims, table.subject) == std::end(subject_claims))
        add("jwt.subject", "subject must be sub, azp or client_id");
    if (!table.scopes.empty() && !model::is_claim_text(table.scopes, claim_bytes_max))
        add("jwt.scopes", "scopes must be the name of a claim, or empty");
    if (!table.type.empty() && !model::is_claim_text(table.type, claim_bytes_max))
        add("jwt.type", "type must be a typ of tokens, such as at+jwt");
}

template <class Sink>
void check_signatures(jwt_settings const& table, Sink add) {
    if (table.jwks.empty()) add("jwt.jwks", "jwks must name the file with its public keys");
    if (table.algorithms.empty()) add("jwt.algorithms", "algorithms names none");
    for (auto const& name : table.algorithms)
        if (!jwt::parse_algorithm(name))
            add("jwt.algorithms",
                "algorithms: '" + name + "' is not one of " + std::string(jwt::algorithm_names()));
    if (table.leeway_seconds > jwt::leeway_seconds_max)
        add("jwt.leeway_seconds", "leeway_seconds must be from 0 to 60");
}

// A file that anyone may write would let anyone sign.
base::result<void> read_keys(jwt_settings const& table, std::string& text) {
    auto const file = base::open_to_read(table.jwks);
    struct stat status{};
    if (!file.is_open() || ::fstat(file.get(), &status) != 0)
        return base::errno_error("cannot open " + table.jwks, errno);
    if (!S_ISREG(status.st_mode)) return base::error{table.jwks + " is not a file"};
    if ((status.st_mode & S_IWOTH) != 0)
        return base::error{table.jwks + " may be written by everyone: run chmod o-w on it"};
    text.assign(jwt::key_set_bytes_max + 1, '\0');
    auto const size = base::read_within(file, table.jwks, text);
    if (!size) return size.error();
    text.resize(*size);
    return {};
}

std::string joined(std::vector<std::string> const& lines) {
    std::string text;
    for (std::size_t i = 0; i < std::min(lines.size(), errors_shown_max); ++i)
        text.append(i == 0 ? "" : "; ").append(lines[i]);
    if (lines.size() > errors_shown_max) text.append("; …");
    return text;
}

base::result<jwt::issuer> make_issuer(jwt_settings const& table, std::string const& text,
                                      std::vector<std::string>& skipped) {
    jwt::issuer result;
    result.name = table.issuer;
    result.audiences = table.audience;
    for (auto const& name : table.algorithms) result.algorithms.insert(*jwt::parse_algorithm(name));
    result.leeway_seconds = static_cast<std::uint32_t>(table.leeway_seconds);
    result.subject_claim = table.subject;
    result.scope_claim = table.scopes;
    if (!table.type.empty()) result.type = table.type;
    auto reading = jwt::read_key_set(text, result.algorithms);
    if (!reading.keys) {
        reading.errors.insert(reading.errors.end(), reading.skipped.begin(), reading.skipped.end());
        return base::error{table.jwks + ": " + joined(reading.errors)};
    }
    skipped = std::move(reading.skipped);
    result.keys = std::move(reading.keys);
    return result;
}

void tell_skipped(jwt_settings const& table, std::vector<std::string> const& skipped) {
    for (auto const& line : skipped)
        base::log(base::severity::warning, table.jwks + ": " + line + "; it is left out");
}

bool is_same(jwt::issuer const& left, jwt::issuer const& right) {
    return left.name == right.name && left.audiences == right.audiences &&
           left.algorithms == right.algorithms && left.leeway_seconds == right.leeway_seconds &&
           left.subject_claim == right.subject_claim && left.scope_claim == right.scope_claim &&
           left.type == right.type;
}

// The issuer's position in `former`; its size: it was not there.
std::size_t position_of(auth::bearer_issuers const& former, std::string const& name) {
    auto const match = std::ranges::find(former.current, name, &jwt::issuer::name);
    return static_cast<std::size_t>(match - former.current.begin());
}

}  // namespace

std::string toml_string(std::string_view text) {
    std::string output = "\"";
    for (char const byte : text) {
        if (byte == '"' || byte == '\\') output += '\\';
        output += byte;
    }
    return output + "\"";
}

std::string to_toml(std::vector<jwt_settings> const& tables) {
    auto const list_of = [](std::vector<std::string> const& words) {
        std::string text;
        for (auto const& each : words) text.append(text.empty() ? "" : ", ") += toml_string(each);
        return "[" + text + "]";
    };
    std::string output;
    for (auto const& table : tables) {
        output += "\n[[jwt]]\nissuer = " + toml_string(table.issuer);
        output += "\naudience = " + list_of(table.audience);
        output += "\njwks = " + toml_string(table.jwks);
        output += "\nalgorithms = " + list_of(table.algorithms);
        output += "\nleeway_seconds = " + std::to_string(table.leeway_seconds);
        output += "\nsubject = " + toml_string(table.subject);
        output += "\nscopes = " + toml_string(table.scopes);
        output += "\ntype = " + toml_string(table.type) + "\n";
    }
    return output;
}

std::vector<setting_error> find_errors(std::vector<jwt_settings> const& tables) {
    std::vector<setting_error> all;
    for (std::size_t i = 0; i < tables.size(); ++i) {
        auto const& table = tables[i];
        auto const add = [&](std::string_view setting, std::string const& text) {
            all.push_back({setting, about(table, text), i});
        };
        check_claims(table, add);
        check_signatures(table, add);
        auto const end = tables.begin() + static_cast<std::ptrdiff_t>(i);
        if (std::find_if(tables.begin(), end,
                         [&](auto const& each) { return each.issuer == table.issuer; }) != end)
            add("jwt.issuer", "the issuer is there twice");
    }
    return all;
}

std::vector<setting_error> find_issuer_errors(std::vector<jwt_settings> const& tables) {
    std::vector<setting_error> all;
    for (std::size_t i = 0; i < tables.size(); ++i) {
        std::string text;
        std::vector<std::string> skipped;
        if (auto const outcome = read_keys(tables[i], text); !outcome)
            all.push_back({"jwt.jwks", outcome.error().message, i});
        else if (auto const issuer = make_issuer(tables[i], text, skipped); !issuer)
            all.push_back({"jwt.jwks", issuer.error().message, i});
        else
            tell_skipped(tables[i], skipped);
    }
    return all;
}

base::result<std::shared_ptr<auth::bearer_issuers const>> load_issuers(
    std::vector<jwt_settings> const& tables,
    std::shared_ptr<auth::bearer_issuers const> const& former, base::wall_ms clock) {
    if (tables.empty()) return std::shared_ptr<auth::bearer_issuers const>();
    auto result = std::make_shared<auth::bearer_issuers>();
    bool differs = former == nullptr || former->current.size() != tables.size();
    for (std::size_t i = 0; i < tables.size(); ++i) {
        std::string text;
        if (auto const outcome = read_keys(tables[i], text); !outcome) return outcome.error();
        std::vector<std::string> skipped;
        auto issuer = make_issuer(tables[i], text, skipped);
        if (!issuer) return issuer.error();
        tell_skipped(tables[i], skipped);
        auto const place = former == nullptr ? 0 : position_of(*former, issuer->name);
        bool const was_there = former != nullptr && place < former->current.size();
        bool const has_other_keys = was_there && former->documents[place] != text;
        if (has_other_keys) {
            auto issuer_of_then = *issuer;
            issuer_of_then.keys = former->current[place].keys;
            result->former.push_back(std::move(issuer_of_then));
        }
        differs |=
            !was_there || has_other_keys || place != i || !is_same(former->current[place], *issuer);
        base::log("tokens of " + issuer->name + " are accepted: " +
                  std::to_string(issuer->keys->size()) + " keys of " + tables[i].jwks);
        result->current.push_back(std::move(*issuer));
        result->documents.push_back(std::move(text));
    }
    if (!differs && former->former.empty()) return former;
    if (!result->former.empty()) result->former_until = clock + auth::former_keys_ms;
    return std::shared_ptr<auth::bearer_issuers const>(std::move(result));
}

}  // namespace latchkey::server
