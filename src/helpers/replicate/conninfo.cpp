// libpq parses the string; hosts, addresses and ports are taken out of its settings and paired
// here, so that each host can be tried alone. Additions only fill what neither the string nor
// libpq's defaults set. Whether TLS may be left out is decided for all hosts together: one that is
// elsewhere turns it on.
#include "helpers/replicate/conninfo.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace latchkey::replicate {
namespace {

constexpr char const* system_authorities = "/etc/ssl/certs/ca-certificates.crt";

// Dead servers are noticed by unacknowledged data (tcp_user_timeout, in milliseconds) or, without
// any, by probes; both within about five seconds.
constexpr std::pair<char const*, char const*> additions[] = {
    {"target_session_attrs", "read-write"},
    {"application_name", "latchkey"},
    {"client_encoding", "UTF8"},
    {"connect_timeout", "5"},
    {"keepalives_idle", "2"},
    {"keepalives_interval", "1"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "5000"},
};

std::vector<std::string> split(std::string_view list) {
    std::vector<std::string> parts;
    for (;;) {
        auto const comma = list.find(',');
        parts.emplace_back(list.substr(0, comma));
        if (comma == std::string_view::npos) return parts;
        list.remove_prefix(comma + 1);
    }
}

bool is_named(std::vector<conninfo::setting> const& settings, std::string_view name) {
    return std::ranges::any_of(settings, [&](auto const& each) { return each.first == name; });
}

// A Unix socket (libpq's default without a host) or the loopback interface. Not a list.
bool is_this_machine(std::string const& name, std::string const& address) {
    auto const& place = address.empty() ? name : address;
    if (place.find(',') != std::string::npos) return false;
    return place.empty() || place[0] == '/' || place[0] == '@' || place == "localhost" ||
           place == "::1" ||
           (place.starts_with("127.") &&
            place.find_first_not_of("0123456789.") == std::string::npos);
}

std::string take(std::vector<conninfo::setting>& settings, std::string_view name) {
    auto const place = std::ranges::find(settings, name, &conninfo::setting::first);
    if (place == settings.end()) return {};
    auto value = std::move(place->second);
    settings.erase(place);
    return value;
}

// The values that libpq takes for keywords which the string leaves out: from the service that
// PGSERVICE names, else from the environment. A service that the string names is not read here: its
// settings are unknown, and they precede the environment.
class libpq_defaults {
  public:
    explicit libpq_defaults(bool unknown) : unknown_{unknown} {
        if (unknown) return;
        std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> const options(
            ::PQconndefaults(), ::PQconninfoFree);
        if (!options) return;
        for (auto const* option = options.get(); option->keyword != nullptr; ++option)
            if (option->val != nullptr && *option->val != '\0' &&
                (option->compiled == nullptr || std::string_view{option->val} != option->compiled))
                values_.emplace_back(option->keyword, option->val);
    }

    std::string value(std::string_view name) const {
        auto const place = std::ranges::find(values_, name, &conninfo::setting::first);
        return place == values_.end() ? std::string{} : place->second;
    }

    // Whether libpq connects to this machine; `name` and `address` are those of one host, or empty.
    bool are_this_machine(std::string const& name, std::string const& address) const {
        if (unknown_ && address.empty()) return false;  // a hostaddr of the service precedes a host
        return is_this_machine(name.empty() ? value("host") : name,
                               address.empty() ? value("hostaddr") : address);
    }

    // Whether libpq finds certificates of authorities without being told where.
    bool have_authorities() const {
        char const* const home = ::getenv("HOME");
        return unknown_ || !value("sslrootcert").empty() ||
               (home != nullptr &&
                ::access((std::string{home} + "/.postgresql/root.crt").c_str(), R_OK) == 0);
    }

  private:
    std::vector<conninfo::setting> values_;
    bool unknown_;
};

}  // namespace

base::result<conninfo> conninfo::parse(std::string const& text) {
    char* message = nullptr;
    std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> const options(
        ::PQconninfoParse(text.c_str(), &message), ::PQconninfoFree);
    ::PQfreemem(message);  // it may quote a password
    if (!options || text.find('\0') != std::string::npos)
        return base::error{
            "the connection string of the engine cannot be read: it has the form "
            "postgresql://user@host:port/database, or that of libpq's keywords"};
    conninfo target;
    // Without empty values, since PQconnectStartParams skips them and takes its default.
    for (auto const* option = options.get(); option->keyword != nullptr; ++option)
        if (option->val != nullptr && *option->val != '\0')
            target.common_.emplace_back(option->keyword, option->val);

    libpq_defaults const defaults{is_named(target.common_, "service")};
    auto const listed = [&](std::string_view name) {
        return split(is_named(target.common_, name) ? take(target.common_, name)
                                                    : defaults.value(name));
    };
    auto const names = listed("host"), addresses = listed("hostaddr"), ports = listed("port");
    auto const count = std::max(names.size(), addresses.size());
    if ((names.size() > 1 && addresses.size() > 1 && names.size() != addresses.size()) ||
        (ports.size() > 1 && ports.size() != count))
        return base::error{"the connection string of the engine has not as many ports as hosts"};
    bool this_machine = true;
    for (std::size_t i = 0; i < count; ++i) {
        host each{.name = i < names.size() ? names[i] : "",
                  .address = i < addresses.size() ? addresses[i] : "",
                  .port = ports[ports.size() > 1 ? i : 0]};
        this_machine = this_machine && defaults.are_this_machine(each.name, each.address);
        target.hosts_.push_back(std::move(each));
    }
    for (auto const& [name, value] : additions)
        if (!is_named(target.common_, name)) target.common_.emplace_back(name, value);
    if (!this_machine && !is_named(target.common_, "sslmode"))
        target.common_.emplace_back("sslmode", "verify-full");
    auto const mode = std::ranges::find(target.common_, "sslmode", &setting::first);
    if (mode != target.common_.end() && mode->second.starts_with("verify") &&
        !is_named(target.common_, "sslrootcert") && !defaults.have_authorities())
        target.common_.emplace_back("sslrootcert", system_authorities);
    return target;
}

std::string conninfo::host_name(std::size_t index) const {
    auto const& host = hosts_[index];
    auto text = !host.name.empty() ? host.name : !host.address.empty() ? host.address : "socket";
    return host.port.empty() ? text : text + ":" + host.port;
}

std::vector<conninfo::setting> conninfo::settings(std::size_t index) const {
    auto settings = common_;
    auto const& host = hosts_[index];
    if (!host.name.empty()) settings.emplace_back("host", host.name);
    if (!host.address.empty()) settings.emplace_back("hostaddr", host.address);
    if (!host.port.empty()) settings.emplace_back("port", host.port);
    return settings;
}

PGconn* conninfo::start(std::size_t index) const {
    auto const list = settings(index);
    std::vector<char const*> keywords, values;
    for (auto const& [keyword, value] : list) {
        keywords.push_back(keyword.c_str());
        values.push_back(value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    return ::PQconnectStartParams(keywords.data(), values.data(), 0);
}

}  // namespace latchkey::replicate
