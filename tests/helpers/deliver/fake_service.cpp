#include "fake_service.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/check.hpp"
#include "base/time_units.hpp"

namespace latchkey::deliver {
namespace {

constexpr base::mono_ns patience = 30 * base::second;

std::string program() {
    auto const self = std::filesystem::read_symlink("/proc/self/exe");
    return (self.parent_path() / "../../../src/helpers/deliver/latchkey-deliver").string();
}

}  // namespace

std::vector<model::cidr> loopback() {
    return {*model::cidr::parse("127.0.0.0/8")};
}

fake_service::fake_service(std::string authorities_file)
    : authorities_file_(std::move(authorities_file)), link_([this] {
          auto ends = kit::make_socket_pair();
          helper_end_ = std::move(ends->second);
          return std::move(ends->first);
      }()) {
    start_helper();
}

fake_service::~fake_service() {
    if (!is_closed_) (void)close();
}

void fake_service::start_helper() {
    process_ = ::fork();
    base::check(process_ >= 0, "cannot fork");
    if (process_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!authorities_file_.empty()) ::setenv("SSL_CERT_FILE", authorities_file_.c_str(), 1);
        ::setenv("https_proxy", "http://127.0.0.1:9", 1);  // which must be ignored
        ::setenv("http_proxy", "http://127.0.0.1:9", 1);
        ::setenv("all_proxy", "http://127.0.0.1:9", 1);
        int const inherited = ::dup(helper_end_.get());
        auto const path = program(), number = std::to_string(inherited);
        ::execl(path.c_str(), path.c_str(), "--descriptor", number.c_str(), nullptr);
        ::_exit(127);
    }
}

bool fake_service::turn(base::mono_ns deadline) {
    auto const left = deadline - base::read_mono();
    if (left <= 0) {
        ADD_FAILURE() << "the helper did not do in time what was expected";
        return false;
    }
    pollfd waited{.fd = link_.descriptor(), .events = link_.events(), .revents = 0};
    ::poll(&waited, 1, static_cast<int>(left / base::millisecond) + 1);
    auto arrivals = link_.turn();
    if (!arrivals) {
        ADD_FAILURE() << arrivals.error().message;
        return false;
    }
    for (auto& each : arrivals->results) results_.push_back(std::move(each));
    lost_ids_.insert(lost_ids_.end(), arrivals->lost_ids.begin(), arrivals->lost_ids.end());
    return true;
}

std::uint64_t fake_service::begin(deliver::protocol::attempt attempt) {
    auto const deadline = base::read_mono() + patience;
    attempt.number = ++number_;
    while (link_.capacity() == 0)
        if (!turn(deadline)) return 0;
    link_.begin(attempt);
    return attempt.number;
}

void fake_service::flush() {
    auto const deadline = base::read_mono() + patience;
    while ((link_.events() & POLLOUT) != 0)
        if (!turn(deadline)) break;
}

std::vector<deliver::protocol::result> fake_service::wait_for(std::size_t count) {
    auto const deadline = base::read_mono() + patience;
    while (results_.size() < count)
        if (!turn(deadline)) results_.resize(count);
    std::vector<deliver::protocol::result> const results(
        results_.begin(), results_.begin() + static_cast<long>(count));
    results_.erase(results_.begin(), results_.begin() + static_cast<long>(count));
    return results;
}

deliver::protocol::result fake_service::deliver(deliver::protocol::attempt attempt) {
    auto const number = begin(std::move(attempt));
    auto const result = wait_for(1)[0];
    EXPECT_EQ(result.number, number);
    return result;
}

std::vector<std::uint64_t> fake_service::wait_for_lost() {
    auto const deadline = base::read_mono() + patience;
    while (lost_ids_.empty())
        if (!turn(deadline)) break;
    return std::exchange(lost_ids_, {});
}

void fake_service::restart_helper() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    start_helper();
}

void fake_service::pause_helper() {
    ::kill(process_, SIGSTOP);
}
void fake_service::continue_helper() {
    ::kill(process_, SIGCONT);
}

int fake_service::close() {
    is_closed_ = true;
    helper_end_ = {};
    link_ = deliver::protocol::helper_link(base::descriptor());
    int status = 0;
    ::waitpid(process_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace latchkey::deliver
