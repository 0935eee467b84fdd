#include "postgres.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/time_units.hpp"

namespace latchkey::replicate {
namespace {

// Where Debian puts the newest server; empty: none is installed.
std::string find_programs() {
    std::string newest;
    std::error_code error;
    for (auto const& each : std::filesystem::directory_iterator("/usr/lib/postgresql", error)) {
        auto const folder = each.path().string() + "/bin";
        if (std::filesystem::exists(folder + "/initdb") && folder > newest) newest = folder;
    }
    return newest;
}

// root gives way to a user that has nothing.
void drop_root() {
    if (::geteuid() != 0) return;
    auto const* user = ::getpwnam("nobody");
    base::check(user != nullptr && ::setgid(user->pw_gid) == 0 && ::setuid(user->pw_uid) == 0,
                "cannot become an unprivileged user");
}

pid_t start_program(std::vector<std::string> const& words, std::string const& log) {
    auto const parent = ::getpid();
    auto const child = ::fork();
    base::check(child >= 0, "cannot fork");
    if (child > 0) return child;
    drop_root();
    // A change of the user forgets the signal. The parent may have ended before it was asked for.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    int const output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    std::vector<char*> arguments;
    for (auto const& each : words) arguments.push_back(const_cast<char*>(each.c_str()));
    arguments.push_back(nullptr);
    ::unsetenv("LD_PRELOAD");
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
}

int free_port() {
    int const socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    base::check(::bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                    ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0,
                "cannot bind to the loopback interface");
    ::close(socket);
    return ntohs(address.sin_port);
}

}  // namespace

sql_session::sql_session(std::string const& conninfo) : handle_(::PQconnectdb(conninfo.c_str())) {
    base::check(::PQstatus(handle_.get()) == CONNECTION_OK, ::PQerrorMessage(handle_.get()));
}

void sql_session::run(std::string const& sql) {
    (void)value(sql);
}

std::string sql_session::value(std::string const& sql) {
    std::unique_ptr<PGresult, void (*)(PGresult*)> const result(
        ::PQexec(handle_.get(), sql.c_str()), ::PQclear);
    auto const status = ::PQresultStatus(result.get());
    base::check(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK,
                ::PQresultErrorMessage(result.get()));
    return ::PQntuples(result.get()) > 0 ? ::PQgetvalue(result.get(), 0, 0) : "";
}

bool postgres::installed() {
    return !find_programs().empty();
}

postgres& postgres::shared() {
    static postgres server;
    return server;
}

postgres::postgres() : port_(free_port()) {
    folder_ = (std::filesystem::temp_directory_path() / "latchkey-postgres-XXXXXX").string();
    base::check(::mkdtemp(folder_.data()) != nullptr, "cannot make a temporary folder");
    // The helper, without root's capabilities, has to reach the socket.
    base::check(::chmod(folder_.c_str(), 0755) == 0, "cannot chmod");
    if (::geteuid() == 0) {
        auto const* user = ::getpwnam("nobody");
        base::check(::chown(folder_.c_str(), user->pw_uid, user->pw_gid) == 0, "cannot chown");
    }
    auto const initdb =
        start_program({find_programs() + "/initdb", "-D", folder_ + "/data", "-U", "latchkey", "-A",
                       "trust", "--no-sync", "-E", "UTF8", "--no-locale"},
                      folder_ + "/log");
    int status = 0;
    ::waitpid(initdb, &status, 0);
    base::check(status == 0, "initdb failed");
    start();
}

postgres::~postgres() {
    stop_at_once();
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
}

bool postgres::answers() const {
    auto const text = "host=" + folder_ + " port=" + std::to_string(port_) +
                      " user=latchkey dbname=postgres connect_timeout=2";
    return ::PQping(text.c_str()) == PQPING_OK;
}

void postgres::start() {
    process_ = start_program(
        {find_programs() + "/postgres", "-D", folder_ + "/data", "-k", folder_, "-p",
         std::to_string(port_), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c",
         "max_connections=60", "-c", "shared_buffers=32MB", "-c", "autovacuum=off"},
        folder_ + "/log");
    auto const deadline = base::read_mono() + 60 * base::second;
    while (!answers()) {
        base::check(base::read_mono() < deadline, "PostgreSQL does not start");
        ::usleep(20'000);
    }
}

std::string postgres::take_tls() {
    auto const certificate = folder_ + "/db.test.pem", key = folder_ + "/data/server.key";
    if (std::filesystem::exists(certificate)) return certificate;
    auto const openssl = start_program(
        {"/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "30", "-subj", "/CN=db.test", "-addext", "subjectAltName=DNS:db.test",
         "-keyout", key, "-out", certificate},
        folder_ + "/log");
    int status = 0;
    ::waitpid(openssl, &status, 0);
    base::check(status == 0, "openssl failed");
    sql_session sql("host=" + folder_ + " port=" + std::to_string(port_) +
                    " user=latchkey dbname=postgres");
    sql.run("ALTER SYSTEM SET ssl_cert_file = '" + certificate + "'");
    sql.run("ALTER SYSTEM SET ssl = on");
    sql.run("SELECT pg_reload_conf()");
    return certificate;
}

// The server and its backends, which are its children.
void postgres::signal_all(int number) const {
    for (auto const& each : std::filesystem::directory_iterator("/proc")) {
        std::ifstream file(each.path() / "stat");
        std::string name, state;
        pid_t id = 0, parent = 0;
        if (file >> id >> name >> state >> parent && parent == process_) ::kill(id, number);
    }
    ::kill(process_, number);
}

void postgres::stop_at_once() {
    if (process_ < 0) return;
    ::kill(process_, SIGQUIT);
    thaw();
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
}

void postgres::freeze() {
    signal_all(SIGSTOP);
}

void postgres::thaw() {
    signal_all(SIGCONT);
}

std::string postgres::make_database() {
    auto const base = "host=" + folder_ + " port=" + std::to_string(port_) + " user=latchkey";
    auto const name = "test" + std::to_string(++databases_);
    sql_session(base + " dbname=postgres").run("CREATE DATABASE " + name);
    return base + " dbname=" + name;
}

std::string postgres::over_tcp(std::string const& conninfo, int port) const {
    auto const name = conninfo.substr(conninfo.find("dbname="));
    return "host=127.0.0.1 port=" + std::to_string(port) + " user=latchkey " + name;
}

}  // namespace latchkey::replicate
