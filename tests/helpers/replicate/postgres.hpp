// A PostgreSQL of Debian, with a fresh data directory below a temporary one: started once for all
// tests of the program, as an unprivileged user (it refuses root), on a Unix socket and a free port
// of the loopback interface. Without the packages `installed()` is false, and tests are skipped.
//
//     auto& server = postgres::shared();
//     auto const url = server.make_database();       // of its own for each test
#pragma once

#include <libpq-fe.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

namespace latchkey::replicate {

// A connection of the test itself, with answers as text.
class sql_session {
  public:
    explicit sql_session(std::string const& conninfo);
    // Ends the test program if the statement fails.
    void run(std::string const& sql);
    // The first column of the first row; "" without one.
    std::string value(std::string const& sql);

  private:
    struct deleter {
        void operator()(PGconn* handle) const { ::PQfinish(handle); }
    };
    std::unique_ptr<PGconn, deleter> handle_;
};

class postgres {
  public:
    static bool installed();
    static postgres& shared();

    postgres();
    ~postgres();
    postgres(postgres const&) = delete;
    postgres& operator=(postgres const&) = delete;

    // Conninfo over the Unix socket; `over_tcp` over the loopback interface.
    std::string make_database();
    std::string over_tcp(std::string const& conninfo, int port) const;
    int port() const { return port_; }
    // From then on it takes TLS over TCP, with a certificate that it has issued to itself for the
    // host db.test; the path of that.
    std::string take_tls();

    void stop_at_once();  // as a crash: no transaction ends, no client is told
    void start();
    void freeze();
    void thaw();

  private:
    bool answers() const;
    void signal_all(int number) const;

    std::string folder_;
    int port_ = 0;
    pid_t process_ = -1;
    int databases_ = 0;
};

}  // namespace latchkey::replicate
