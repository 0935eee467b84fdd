#include "fault_house.hpp"

#include <cstdlib>

#include "auth/key_form.hpp"
#include "base/check.hpp"
#include "store/writer.hpp"

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

house::house(world& in)
    : world_(in), kernel_(in), listener_(kernel_.listen()), proxied_listener_(kernel_.listen()) {
    auto name = (std::filesystem::temp_directory_path() / "fault-test-XXXXXX").string();
    base::check(mkdtemp(name.data()) != nullptr, "no temporary directory");
    folder_ = name;
    // Whether a commit reaches the disk is not the matter here.
    store_ = store::environment::open(
                 {.directory = folder_, .map_bytes = 64 << 20, .for_server = true, .sync = false})
                 .value();
    fill_store();
    writer_ = std::make_unique<store::writer>(*store_);
    commits_ = std::make_unique<held_commits>(in);
    buckets_ = limit::buckets::make(1024).value();
    failures_ = std::make_unique<limit::failures>(30, 1);
    cursors_ = std::make_unique<auth::seal>(store_->derived_key("cursors").value());
    log_ = server::log_thread::open("").value();
    common_.reset(new server::common{*store_, *writer_, *buckets_, *failures_, *cursors_,
                                     open_by_address_, *log_, signer_});
    server::config settings;
    settings.trusted_proxies = {"127.0.0.1"};
    server::supplies const given{std::make_shared<server::rulebook>(settings), nullptr, nullptr};
    worker_ = std::make_unique<server::worker>(*common_, 0, given);
}

house::~house() {
    worker_.reset();
    writer_->stop();
    commits_.reset();
    log_.reset();
    writer_.reset();
    store_.reset();
    std::filesystem::remove_all(folder_);
}

void house::fill_store() {
    model::key record;
    record.digest = auth::digest_of(key);
    record.name = "a key";
    record.scopes.add("*");
    record.rate_limits.clear();
    std::vector<store::command> commands(1);
    commands[0].what = store::create_key{record};
    for (int id = 1; id <= users; ++id)
        commands.emplace_back().what = store::create_user{user_name(id), user_email(id)};
    for (int id = 1; id <= posts; ++id)
        commands.emplace_back().what =
            store::create_post{1, "Post number " + std::to_string(id), post_body(id)};
    auto const done = store::apply(*store_, std::move(commands)).value();
    for (auto const& each : done)
        world_.expect(each.problem == base::problem::none, "a record was not stored");
}

base::result<void> house::run() {
    return worker_->run({{.fd = listener_}, {.fd = proxied_listener_, .proxy = true}});
}

// As the service does.
void house::stop() {
    stopping_ = true;
    common_->draining.store(true);
    worker_->stop_accepting();
    worker_->drain();
    worker_->finish();
}

void house::expect_settled() const {
    kernel_.expect_settled();
    world_.expect(worker_->connections() == 0, "a connection was left");
    auto const& gauges = worker_->metrics();
    world_.expect(gauges.in_flight.read() == 0, "a request was left in hand");
    world_.expect(gauges.held_bytes.read() == 0, "bytes of connections were left");
    world_.expect(common_->credential_bodies.load() == 0, "a budget was not given back");
}

}  // namespace latchkey::fake
