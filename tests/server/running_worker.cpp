#include "running_worker.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <future>

#include "auth/key_form.hpp"
#include "base/check.hpp"
#include "wire/tls/certificate_chain.hpp"
#include "wire/tls/self_signed.hpp"
#include "wire/tls/ticket_keys.hpp"

namespace latchkey::server {

running_worker::running_worker(config const& settings, std::size_t posts, std::size_t post_bytes,
                               worker_options options, bool speaks_tls) {
    auto name = (std::filesystem::temp_directory_path() / "worker-XXXXXX").string();
    base::check(mkdtemp(name.data()) != nullptr, "no temporary directory");
    folder_ = name;
    store_ = store::environment::open({.directory = folder_, .map_bytes = 64 << 20}).value();
    fill_store(posts, post_bytes);
    writer_ = std::make_unique<domain::writer>(*store_);
    buckets_ = limit::buckets::make(1024).value();
    failures_ = std::make_unique<limit::auth_failure_limiter>(30, 1);
    cursors_ = std::make_unique<auth::mac>(store_->derived_key("cursors").value());
    log_ = log_thread::open(folder_ / "access.log").value();
    common_.reset(new common{*store_, *writer_, *buckets_, *failures_, *cursors_, open_by_address_,
                             *log_, signer_});
    config_.rules = std::make_shared<config_snapshot>(settings);
    if (speaks_tls) {
        auto const certificate = folder_ / "certificate.pem", secret = folder_ / "key.pem";
        EXPECT_TRUE(tls::make_self_signed(certificate, secret));
        config_.identity = tls::identity::load(certificate, secret).value();
        config_.tickets = tls::ticket_keys::make();
    }
    worker_ = std::make_unique<worker>(*common_, 0, config_, options);
    socket_.emplace(
        listen_sockets::open(parse_listen_address("http://127.0.0.1:0").value(), 1).value());
    auto const started = worker_->start({{socket_->descriptor_of(0), speaks_tls}});
    EXPECT_TRUE(started) << started.error().message;
}

running_worker::~running_worker() {
    worker_->stop_accepting();
    worker_->drain();
    worker_->finish();
    writer_->stop();
    worker_.reset();
    log_.reset();
    store_.reset();
    std::filesystem::remove_all(folder_);
}

void running_worker::fill_store(std::size_t posts, std::size_t post_bytes) {
    std::vector<domain::command> commands;
    for (auto& key : keys_) {
        auth::fresh_key const fresh("test");
        key = fresh.text();
        model::key record;
        record.digest = auth::digest_of(fresh.text());
        record.scopes.add("*");
        record.rate_limits = {{"minute", 1'000'000, 60, 0}};
        commands.emplace_back().action = domain::create_key{record};
    }
    commands.emplace_back().action = domain::create_user{"Ada Lovelace", "ada@example.com"};
    for (std::size_t i = 0; i < posts; ++i)
        commands.emplace_back().action =
            domain::create_post{1, "Post", std::string(post_bytes, 'x')};
    auto const outcomes = domain::apply(*store_, std::move(commands));
    ASSERT_TRUE(outcomes);
    for (auto const& each : *outcomes) ASSERT_EQ(each.problem, base::problem::none);
}

void running_worker::use(config const& settings) {
    std::promise<void> adoption;
    config_.rules = std::make_shared<config_snapshot>(settings);
    worker_->use(config_, [&adoption] { adoption.set_value(); });
    adoption.get_future().wait();
}

std::string running_worker::get(std::string_view path, std::size_t key) const {
    std::string request("GET /api/v1");
    return request.append(path)
        .append(" HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ")
        .append(keys_[key])
        .append("\r\n\r\n");
}

}  // namespace latchkey::server
