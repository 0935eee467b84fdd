// The services of a worker without a worker, for benchmarks of whole requests. One thread.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "api/exchange/exchange.hpp"
#include "auth/key_form.hpp"
#include "base/check.hpp"
#include "domain/writer.hpp"

namespace latchkey {

inline std::string temporary_directory() {
    auto name = (std::filesystem::temp_directory_path() / "latchkey-bench-XXXXXX").string();
    base::check(mkdtemp(name.data()) != nullptr, "no temporary directory");
    return name;
}

// Over a small store with one key, which has the default limits, and one user.
class request_fixture {
  public:
    request_fixture() {
        auth::fresh_key const key("lkey");
        model::key record{.digest = auth::digest_of(key.text()), .name = "bench"};
        record.scopes.add("*");
        record.rate_limits = {{.name = "minute", .limit = 600'000'000, .window_seconds = 60},
                              {.name = "hour", .limit = 2'000'000'000, .window_seconds = 3600}};
        std::vector<domain::command> commands(2);
        commands[0].action = domain::create_key{std::move(record)};
        commands[1].action = domain::create_user{"Ada Lovelace", "ada@example.com"};
        for (auto const& outcome : domain::apply(*store_, std::move(commands)).value())
            base::check(outcome.problem == base::problem::none, "the store was not filled");
        key_text = key.text();
        text = "GET /api/v1/users/1 HTTP/1.1\r\nHost: localhost\r\nX-API-Key: " +
               std::string(key.text()) + "\r\n\r\n";
        snapshot_ = std::make_unique<domain::snapshot>(*store_);
        snapshot_->renew();
        keys_.follow(*snapshot_);
        services_ = std::make_unique<api::request_services>(
            api::request_services{settings_, *snapshot_, keys_, leases_, *failures_, cursors_,
                                  random_, running_, &uses_});
    }
    ~request_fixture() {
        snapshot_.reset();
        store_.reset();
        std::filesystem::remove_all(path_);
    }

    std::string text;  // the bytes of a GET of the user
    std::string key_text;
    base::instant now = base::read_clocks();
    api::request_services& services() { return *services_; }

  private:
    std::string path_ = temporary_directory();
    std::unique_ptr<store::environment> store_ =
        store::environment::open({.directory = path_, .map_bytes = 1 << 26, .sync = false}).value();
    api::settings settings_;
    std::unique_ptr<domain::snapshot> snapshot_;
    auth::cache keys_;
    std::unique_ptr<limit::buckets> buckets_ = limit::buckets::make(1024).value();
    limit::leases leases_{*buckets_, {}};
    std::unique_ptr<limit::auth_failure_limiter> failures_ =
        std::make_unique<limit::auth_failure_limiter>(30, 1);
    auth::mac cursors_{store_->derived_key("cursors").value()};
    std::uint64_t random_ = 42;
    api::in_progress running_;
    auth::usage_counter uses_;
    std::unique_ptr<api::request_services> services_;
};

}  // namespace latchkey
