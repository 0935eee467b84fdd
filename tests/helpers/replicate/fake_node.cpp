#include "fake_node.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/check.hpp"
#include "postgres.hpp"

namespace latchkey::replicate {
namespace {

constexpr std::uint32_t test_schema = 1;

std::string program() {
    auto const self = std::filesystem::read_symlink("/proc/self/exe");
    return (self.parent_path() / "../../../src/helpers/replicate/latchkey-replicate").string();
}

}  // namespace

replicate::protocol::identity identity_from(std::string_view text) {
    replicate::protocol::identity value{};
    text.substr(0, value.size()).copy(value.data(), value.size());
    return value;
}

fake_node::fake_node(std::string conninfo, node_options options)
    : conninfo_(std::move(conninfo)), options_(std::move(options)) {
    auto ends = kit::make_socket_pair();
    channel_.emplace(std::move(ends->first));
    helper_end_ = std::move(ends->second);
    if (options_.instance == replicate::protocol::identity{})
        options_.instance = identity_from("instance " + options_.name);
    start_helper();
}

fake_node::~fake_node() {
    if (channel_) (void)close();
}

void fake_node::start_helper() {
    process_ = ::fork();
    base::check(process_ >= 0, "cannot fork");
    if (process_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        int const inherited = ::dup(helper_end_.get());
        auto const path = program(), number = std::to_string(inherited);
        ::execl(path.c_str(), path.c_str(), "--descriptor", number.c_str(), nullptr);
        ::_exit(127);
    }
    auto const greeting = wait_for<replicate::protocol::hello>();
    EXPECT_EQ(greeting.version, replicate::protocol::protocol_version);
    replicate::protocol::configure settings{.session = greeting.session,
                                            .conninfo = conninfo_,
                                            .node = options_.name,
                                            .instance = options_.instance,
                                            .cluster = options_.cluster,
                                            .version = "1.2.3",
                                            .schema = test_schema,
                                            .lease_ms = options_.lease_ms};
    std::ranges::fill(settings.key_check, options_.key_byte);
    send(settings);
}

void fake_node::restart_helper() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    arrivals_.clear();
    start_helper();
}

void fake_node::stop_helper() {
    ::kill(process_, SIGSTOP);
}

void fake_node::continue_helper() {
    ::kill(process_, SIGCONT);
}

int fake_node::close() {
    channel_.reset();
    helper_end_.close();
    int status = 0;
    ::kill(process_, SIGCONT);
    ::waitpid(process_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::uint32_t fake_node::send(replicate::protocol::message content) {
    auto const bytes =
        replicate::protocol::encode({.request = ++requests_, .content = std::move(content)});
    EXPECT_TRUE(channel_->send(bytes, base::read_mono() + 20 * base::second));
    return requests_;
}

bool fake_node::receive(base::mono_ns deadline) {
    auto bytes = channel_->receive_until(deadline);
    if (!bytes || !*bytes) return false;
    auto parcel = replicate::protocol::decode(**bytes);
    EXPECT_TRUE(parcel) << parcel.error().message;
    if (parcel) arrivals_.push_back(std::move(*parcel));
    return parcel.has_value();
}

replicate::protocol::message fake_node::next(std::uint32_t request) {
    for (auto const deadline = base::read_mono() + 20 * base::second;;) {
        for (auto each = arrivals_.begin(); each != arrivals_.end(); ++each) {
            if (each->request != request) continue;
            auto content = std::move(each->content);
            arrivals_.erase(each);
            return content;
        }
        if (receive(deadline)) continue;
        ADD_FAILURE() << "no answer in time" << describe();
        return {};
    }
}

std::string fake_node::describe() const {
    std::string text;
    for (auto const& each : arrivals_) {
        text += "\n  type " + std::to_string(each.content.index());
        if (auto const* failure = std::get_if<replicate::protocol::failed>(&each.content))
            text += ": " + failure->text;
        if (auto const* state = std::get_if<replicate::protocol::engine>(&each.content))
            text += ": " + state->text;
    }
    return text;
}

void fake_node::init(std::uint64_t position,
                     std::vector<replicate::protocol::state_record> records) {
    wait_for<replicate::protocol::completion>({},
                                              send(replicate::protocol::init_begin{test_cluster}));
    if (!records.empty())
        wait_for<replicate::protocol::completion>(
            {}, send(replicate::protocol::state_chunk{std::move(records)}));
    wait_for<replicate::protocol::completion>(
        {}, send(replicate::protocol::init_end{position, test_schema}));
    wait_for<replicate::protocol::ready>();
}

replicate::protocol::log_row fake_node::make_row(std::uint64_t position,
                                                 std::string effects) const {
    return {.position = position,
            .nonce = identity_from(options_.name + " " + std::to_string(position)),
            .schema = test_schema,
            .effects = std::move(effects)};
}

replicate::protocol::appended fake_node::append(replicate::protocol::log_row const& row) {
    return wait_for<replicate::protocol::appended>({}, send(replicate::protocol::append{row}));
}

replicate::protocol::appended fake_node::append(std::uint64_t position, std::string effects) {
    return append(make_row(position, std::move(effects)));
}

replicate::protocol::appended fake_node::resolve(replicate::protocol::log_row const& row) {
    return wait_for<replicate::protocol::appended>(
        {}, send(replicate::protocol::resolve{row.position, row.nonce, row.schema}));
}

std::vector<replicate::protocol::log_row> fake_node::rows_until(std::uint64_t position) {
    std::vector<replicate::protocol::log_row> all;
    while (!testing::Test::HasFailure() && (all.empty() || all.back().position < position))
        for (auto& each : wait_for<replicate::protocol::rows>().list)
            all.push_back(std::move(each));
    return all;
}

void engine_test::SetUp() {
    if (!postgres::installed()) GTEST_SKIP() << "PostgreSQL is not installed (postgresql-15)";
    conninfo_ = postgres::shared().make_database();
}

}  // namespace latchkey::replicate
