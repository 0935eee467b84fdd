// The service where it cannot have what it needs: it ends with a sentence, or it runs.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "../uring/spoilt.hpp"
#include "base/check.hpp"
#include "server/service.hpp"

namespace latchkey::server {
namespace {

using test::make_system_call_fail;
using test::said_after;

constexpr uid_t nobody = 65534;

// A folder for the store of a service that runs as nobody.
struct folder {
    std::filesystem::path path;
    folder() {
        auto name = (std::filesystem::temp_directory_path() / "start-test-XXXXXX").string();
        base::check(mkdtemp(name.data()) != nullptr, "no temporary directory");
        path = name;
        if (geteuid() == 0) base::check(chown(name.c_str(), nobody, nobody) == 0, "no chown");
    }
    ~folder() { std::filesystem::remove_all(path); }
};

bool become_nobody() {
    return geteuid() != 0 || (setgid(nobody) == 0 && setuid(nobody) == 0);
}

bool limit(__rlimit_resource which, rlim_t most) {
    rlimit const low{most, most};
    return setrlimit(which, &low) == 0;
}

// Starts the service and stops it at once.
std::string served() {
    folder const home;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    kill(getpid(), SIGTERM);
    config settings;
    settings.data = (home.path / "store").string();
    settings.listen = {"http://127.0.0.1:0"};
    settings.management = "off";
    settings.access_log = "off";
    settings.confined = false;  // this process goes on
    settings.workers = 2;
    auto const done =
        serve_until_stopped(settings, [] { return base::result<config>(base::error{"no"}); });
    return done ? "it ran" : done.error().message;
}

TEST(service, ends_with_the_sentence_when_there_is_no_io_uring) {
    struct {
        int code;
        char const* part;
    } const ways[] = {{ENOSYS, "there is no io_uring here"},
                      {EPERM, "kernel.io_uring_disabled"},
                      {EINVAL, "Linux 6.1 or newer is needed"},
                      {ENOMEM, "LimitMEMLOCK="},
                      {EMFILE, "LimitNOFILE="}};
    for (auto const& way : ways) {
        auto const said = said_after(
            [&] { return make_system_call_fail(__NR_io_uring_setup, way.code); }, served);
        EXPECT_NE(said.find(way.part), std::string::npos) << said;
    }
}

// A probe's ring may be had where a worker's cannot.
TEST(service, starts_or_says_so_with_any_amount_of_memory_to_lock) {
    for (rlim_t kib = 0; kib <= 1024; kib = kib == 0 ? 8 : kib * 2) {
        auto const said = said_after(
            [&] { return limit(RLIMIT_MEMLOCK, kib * 1024) && become_nobody(); }, served);
        EXPECT_TRUE(said == "it ran" || said.find("LimitMEMLOCK=") != said.npos)
            << kib << " KiB: " << said;
    }
}

}  // namespace
}  // namespace latchkey::server
