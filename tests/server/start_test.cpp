// The service without the resources that it needs: it ends with an error message, or it runs.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "../runtime/uring/syscall_faults.hpp"
#include "base/check.hpp"
#include "server/service.hpp"

namespace latchkey::server {
namespace {

using test::make_system_call_fail;
using test::output_after;

constexpr uid_t unprivileged_uid = 65534;

// A directory for the store of a service that runs unprivileged.
struct folder {
    std::filesystem::path path;
    folder() {
        auto name = (std::filesystem::temp_directory_path() / "start-test-XXXXXX").string();
        base::check(mkdtemp(name.data()) != nullptr, "no temporary directory");
        path = name;
        if (geteuid() == 0)
            base::check(chown(name.c_str(), unprivileged_uid, unprivileged_uid) == 0, "no chown");
    }
    ~folder() { std::filesystem::remove_all(path); }
};

bool drop_root() {
    return geteuid() != 0 || (setgid(unprivileged_uid) == 0 && setuid(unprivileged_uid) == 0);
}

bool set_limit(__rlimit_resource resource, rlim_t value) {
    rlimit const low{value, value};
    return setrlimit(resource, &low) == 0;
}

// Starts the service and stops it at once.
std::string run_service() {
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
    auto const outcome =
        serve_until_stopped(settings, [] { return base::result<config>(base::error{"no"}); });
    return outcome ? "it ran" : outcome.error().message;
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
        auto const message = output_after(
            [&] { return make_system_call_fail(__NR_io_uring_setup, way.code); }, run_service);
        EXPECT_NE(message.find(way.part), std::string::npos) << message;
    }
}

// The probe's ring may succeed where a worker's does not.
TEST(service, starts_or_says_so_with_any_amount_of_memory_to_lock) {
    for (rlim_t kib = 0; kib <= 1024; kib = kib == 0 ? 8 : kib * 2) {
        auto const message = output_after(
            [&] { return set_limit(RLIMIT_MEMLOCK, kib * 1024) && drop_root(); }, run_service);
        EXPECT_TRUE(message == "it ran" || message.find("LimitMEMLOCK=") != message.npos)
            << kib << " KiB: " << message;
    }
}

}  // namespace
}  // namespace latchkey::server
