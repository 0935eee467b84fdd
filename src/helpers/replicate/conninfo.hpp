// The connection string of the engine (PostgreSQL's documentation, "Connection Strings"), with what
// latchkey adds where it is silent: TLS with a verified name (unless every host certainly is this
// machine), a session that can write, and signs of a dead server within seconds. Hosts may come
// from libpq's environment or the service that PGSERVICE names. What a service that the string
// names contains is unknown: only a `hostaddr` of the string then says that it is this machine.
//
// Several hosts are tried one after the other, each with a deadline of its own: libpq leaves
// deadlines to the caller who connects without blocking, and one dead host must not hide the next.
// A value; errors never quote the string, since it may hold a password. One thread.
#pragma once

#include <libpq-fe.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace latchkey::replicate {

class conninfo {
  public:
    using setting = std::pair<std::string, std::string>;

    conninfo() = default;
    static base::result<conninfo> parse(std::string const& text);

    std::size_t host_count() const { return hosts_.size(); }
    // "db1.example:5433", for messages.
    std::string host_name(std::size_t index) const;
    // The settings that libpq gets for that host.
    std::vector<setting> settings(std::size_t index) const;
    // PQconnectStartParams; the caller owns it. Resolves names, which may block.
    PGconn* start(std::size_t index) const;

  private:
    struct host {
        std::string name, address, port;
    };

    std::vector<setting> common_;
    std::vector<host> hosts_;
};

}  // namespace latchkey::replicate
