#include "worker_fixture.hpp"

#include <cstdlib>

#include "auth/key_form.hpp"
#include "base/check.hpp"
#include "domain/writer.hpp"

namespace latchkey::fake {

std::string user_name(int id) {
    return "User number " + std::to_string(id);
}
std::string user_email(int id) {
    return "user" + std::to_string(id) + "@example.com";
}
std::string post_body(int id) {
    return std::string(static_cast<std::size_t>(id) * 100, static_cast<char>('a' + id % 26));
}

worker_fixture::worker_fixture(world& simulation)
    : world_(simulation),
      kernel_(simulation),
      listener_(kernel_.listen()),
      proxied_listener_(kernel_.listen()) {
    auto name = (std::filesystem::temp_directory_path() / "fault-test-XXXXXX").string();
    base::check(mkdtemp(name.data()) != nullptr, "no temporary directory");
    folder_ = name;
    // Without syncs: durability is tested elsewhere.
    store_ = store::environment::open(
                 {.directory = folder_, .map_bytes = 64 << 20, .for_server = true, .sync = false})
                 .value();
    fill_store();
    writer_ = std::make_unique<domain::writer>(*store_);
    commits_ = std::make_unique<delayed_commits>(simulation);
    buckets_ = limit::buckets::make(1024).value();
    failures_ = std::make_unique<limit::auth_failure_limiter>(30, 1);
    cursors_ = std::make_unique<auth::mac>(store_->derived_key("cursors").value());
    log_ = server::log_thread::open("").value();
    common_.reset(new server::common{*store_, *writer_, *buckets_, *failures_, *cursors_,
                                     open_by_address_, *log_, signer_});
    server::config settings;
    settings.trusted_proxies = {"127.0.0.1"};
    server::worker_config const initial{std::make_shared<server::config_snapshot>(settings),
                                        nullptr, nullptr};
    worker_ = std::make_unique<server::worker>(*common_, 0, initial);
}

worker_fixture::~worker_fixture() {
    worker_.reset();
    writer_->stop();
    commits_.reset();
    log_.reset();
    writer_.reset();
    store_.reset();
    std::filesystem::remove_all(folder_);
}

void worker_fixture::fill_store() {
    model::key record;
    record.digest = auth::digest_of(key);
    record.name = "a key";
    record.scopes.add("*");
    record.rate_limits.clear();
    std::vector<domain::command> commands(1);
    commands[0].action = domain::create_key{record};
    for (int id = 1; id <= users; ++id)
        commands.emplace_back().action = domain::create_user{user_name(id), user_email(id)};
    for (int id = 1; id <= posts; ++id)
        commands.emplace_back().action =
            domain::create_post{1, "Post number " + std::to_string(id), post_body(id)};
    auto const outcomes = domain::apply(*store_, std::move(commands)).value();
    for (auto const& each : outcomes)
        world_.expect(each.problem == base::problem::none, "a record was not stored");
}

base::result<void> worker_fixture::run() {
    return worker_->run({{.fd = listener_}, {.fd = proxied_listener_, .proxy = true}});
}

// As the service does.
void worker_fixture::stop() {
    stopping_ = true;
    common_->draining.store(true);
    worker_->stop_accepting();
    worker_->drain();
    worker_->finish();
}

void worker_fixture::expect_settled() const {
    kernel_.expect_settled();
    world_.expect(worker_->connections() == 0, "a connection was left");
    auto const& gauges = worker_->metrics();
    world_.expect(gauges.in_flight.read() == 0, "a request was left");
    world_.expect(gauges.held_bytes.read() == 0, "bytes of connections were left");
    world_.expect(gauges.anonymous.read() == 0, "a request without a key was left");
}

}  // namespace latchkey::fake
