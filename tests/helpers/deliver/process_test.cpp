#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/nid.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "../../wire/tls/certificates.hpp"
#include "base/check.hpp"
#include "base/time_units.hpp"
#include "fake_service.hpp"
#include "receiver.hpp"
#include "wire/tls/self_signed.hpp"

namespace latchkey::deliver {
namespace {

// Of this process; the certificate is its own authority, for localhost and 127.0.0.1.
class certificate {
  public:
    certificate() {
        std::string name = std::filesystem::temp_directory_path() / "latchkey-deliver-XXXXXX";
        base::check(::mkdtemp(name.data()) != nullptr, "no folder for a test");
        folder_ = name;
        base::check(tls::make_self_signed(file(), folder_ + "/key.pem").has_value(),
                    "no certificate for a test");
        identity_ = *tls::identity::load(file(), folder_ + "/key.pem");
    }
    ~certificate() { std::filesystem::remove_all(folder_); }
    certificate(certificate const&) = delete;
    certificate& operator=(certificate const&) = delete;

    std::string file() const { return folder_ + "/certificate.pem"; }
    std::shared_ptr<tls::identity const> const& identity() const { return identity_; }

  private:
    std::string folder_;
    std::shared_ptr<tls::identity const> identity_;
};

class deliveries : public ::testing::Test {
  protected:
    deliver::protocol::attempt post(std::string const& path,
                                    std::uint32_t timeout_ms = 20'000) const {
        return {.url = peer.url(path),
                .fields = {{"content-type", "application/json"}, {"user-agent", "latchkey"}},
                .body = "{}",
                .timeout_ms = timeout_ms,
                .allow = loopback()};
    }

    certificate own;
    receiver peer{own.identity()};
    fake_service service{own.file()};
};

TEST_F(deliveries, arrive_as_they_were_given) {
    auto attempt = post("/ok?x=%2F../y");
    std::string const signature =
        "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4= v1a,hnO3f9T8Yt==";
    attempt.fields = {{"content-type", "application/json"},
                      {"webhook-id", "msg_0198"},
                      {"webhook-timestamp", "1674087231"},
                      {"webhook-signature", signature},
                      {"X-Empty", ""},
                      {"user-agent", "latchkey"}};
    attempt.body = std::string("{\"a\":\"\0\xff\"}\r\n\r\n", 15);
    auto const result = service.deliver(attempt);
    EXPECT_EQ(result.status, 200) << result.error;
    EXPECT_EQ(result.response, "ok");
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(result.retry_after_seconds, 0);
    auto const requests = peer.requests();
    ASSERT_EQ(requests.size(), 1);
    EXPECT_EQ(requests[0].body, attempt.body);
    EXPECT_EQ(requests[0].head,
              "POST /ok?x=%2F../y HTTP/1.1\r\n"
              "Host: 127.0.0.1:" +
                  std::to_string(peer.port()) +
                  "\r\n"
                  "content-type: application/json\r\n"
                  "webhook-id: msg_0198\r\n"
                  "webhook-timestamp: 1674087231\r\n"
                  "webhook-signature: " +
                  signature +
                  "\r\n"
                  "X-Empty:\r\n"
                  "user-agent: latchkey\r\n"
                  "Content-Length: 15\r\n");
}

TEST_F(deliveries, keep_their_connections) {
    for (int i = 0; i < 20; ++i) EXPECT_EQ(service.deliver(post("/ok")).status, 200);
    EXPECT_EQ(peer.connections(), 1);
}

TEST_F(deliveries, have_large_bodies) {
    auto attempt = post("/ok");
    attempt.body.assign(3 * base::limits::mib, 'x');
    EXPECT_EQ(service.deliver(attempt).status, 200);
    EXPECT_EQ(peer.requests().at(0).body, attempt.body);
    EXPECT_EQ(peer.requests().at(0).head.find("Expect"), std::string::npos);
}

TEST_F(deliveries, tell_each_status) {
    for (unsigned const status : {200u, 201u, 204u, 400u, 404u, 410u, 429u, 500u, 503u}) {
        auto const result = service.deliver(post("/status/" + std::to_string(status)));
        EXPECT_EQ(result.status, status);
        EXPECT_EQ(result.response, status == 204 ? "" : "told");
    }
    EXPECT_EQ(service.deliver(post("/interim")).status, 204);
}

TEST_F(deliveries, follow_no_redirect) {
    EXPECT_EQ(service.deliver(post("/location")).status, 302);
    EXPECT_EQ(peer.requests().size(), 1);
}

TEST_F(deliveries, tell_when_to_come_again) {
    for (std::uint32_t const seconds : {120, 99'999}) {
        peer.set_retry_after(std::to_string(seconds));
        auto const result = service.deliver(post("/retry"));
        EXPECT_EQ(result.status, 503);
        EXPECT_EQ(result.retry_after_seconds, seconds);
    }
    // More than a number holds is still a long time.
    for (std::string const seconds :
         {std::string("4294967295"), std::string("9999999999"), std::string(30, '9')}) {
        peer.set_retry_after(seconds);
        EXPECT_EQ(service.deliver(post("/retry")).retry_after_seconds, UINT32_MAX) << seconds;
    }
    auto const later = ::time(nullptr) + 600;
    tm parts{};
    char date[64];
    std::strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", ::gmtime_r(&later, &parts));
    peer.set_retry_after(date);
    auto const seconds = service.deliver(post("/retry")).retry_after_seconds;
    EXPECT_GT(seconds, 500);
    EXPECT_LE(seconds, 600);
    for (auto const* text : {"soon", "-5", "", "Thu, 01 Jan 1970 00:00:10 GMT"}) {
        peer.set_retry_after(text);
        EXPECT_EQ(service.deliver(post("/retry")).retry_after_seconds, 0) << text;
    }
}

TEST_F(deliveries, keep_the_first_kib_of_an_answer) {
    auto const result = service.deliver(post("/big/40000"));
    EXPECT_EQ(result.status, 200);
    EXPECT_EQ(result.response, std::string(deliver::protocol::response_bytes_max, 'x'));
    EXPECT_EQ(peer.connections(), 1);
    // Beyond 64 KiB the connection ends, and the status stands.
    auto const more = service.deliver(post("/big/20000000"));
    EXPECT_EQ(more.status, 200);
    EXPECT_EQ(more.error, "");
    EXPECT_EQ(more.response.size(), deliver::protocol::response_bytes_max);
    EXPECT_EQ(service.deliver(post("/ok")).status, 200);
    EXPECT_EQ(peer.connections(), 2);
}

TEST_F(deliveries, have_a_status_once_the_head_is_there) {
    auto const result = service.deliver(post("/cut/10"));
    EXPECT_EQ(result.status, 200);
    EXPECT_EQ(result.response, "told");
}

TEST_F(deliveries, say_why_there_was_no_answer) {
    auto const error = [&](std::string const& path) {
        auto const result = service.deliver(post(path, 2000));
        EXPECT_EQ(result.status, 0);
        return result.error;
    };
    EXPECT_EQ(error("/hang"), "no answer within 2 s");
    EXPECT_EQ(error("/close"), "the connection ended before an answer");
    EXPECT_EQ(error("/garbage"), "the answer is not HTTP");
    EXPECT_EQ(error("/head/90000"), "the head of the answer is too large");
    auto closed = post("/ok");
    {
        receiver const other(own.identity());
        closed.url = other.url("/ok");
    }
    EXPECT_EQ(service.deliver(closed).error, "connection refused");
    closed.url = "https://no-such-name.invalid/";
    EXPECT_EQ(service.deliver(closed).error, "the name does not resolve");
    closed.url = "https://user@127.0.0.1/";
    EXPECT_NE(service.deliver(closed).error, "");
    for (auto const* text :
         {"file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "x"}) {
        closed.url = text;
        auto const result = service.deliver(closed);
        EXPECT_EQ(result.status, 0) << text;
        EXPECT_NE(result.error, "") << text;
    }
}

TEST_F(deliveries, go_to_public_addresses_only) {
    auto attempt = post("/ok");
    attempt.allow.clear();
    EXPECT_EQ(service.deliver(attempt).error, "the address 127.0.0.1 is not public");
    attempt.allow = {*model::cidr::parse("10.0.0.0/8")};
    EXPECT_EQ(service.deliver(attempt).error, "the address 127.0.0.1 is not public");
    // What a name leads to counts, and other spellings lead to the same addresses.
    auto const port = ":" + std::to_string(peer.port()) + "/ok";
    for (auto const* host :
         {"localhost", "localhost.", "a.localhost", "127.1", "2130706433", "0x7f000001",
          "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "0"}) {
        attempt.url = "https://" + std::string(host) + port;
        auto const result = service.deliver(attempt);
        EXPECT_EQ(result.status, 0) << host;
    }
    EXPECT_EQ(peer.connections(), 0);
    attempt.url = "https://localhost" + port;
    attempt.allow = loopback();
    EXPECT_EQ(service.deliver(attempt).status, 200);
    // Nor does a kept connection go where an attempt may not.
    attempt.allow.clear();
    auto const result = service.deliver(attempt);
    EXPECT_EQ(result.status, 0);
    EXPECT_NE(result.error.find("is not public"), std::string::npos) << result.error;
    EXPECT_EQ(peer.requests().size(), 1);
}

TEST_F(deliveries, go_in_clear_text_to_named_networks) {
    receiver plain(nullptr);
    auto attempt = post("/ok");
    attempt.url = plain.url("/ok");
    EXPECT_EQ(service.deliver(attempt).status, 200);
    attempt.allow.clear();
    EXPECT_EQ(service.deliver(attempt).error,
              "the address 127.0.0.1 is in no network that http may reach");
}

TEST_F(deliveries, need_a_certificate_that_is_known) {
    certificate const other;
    receiver stranger(other.identity());
    auto attempt = post("/ok", 2000);
    attempt.url = stranger.url("/ok");
    EXPECT_TRUE(service.deliver(attempt).error.starts_with("certificate: "));
    receiver plain(nullptr);
    attempt.url = "https://127.0.0.1:" + std::to_string(plain.port()) + "/ok";
    EXPECT_EQ(service.deliver(attempt).error, "no connection within 2 s");
    EXPECT_EQ(stranger.requests().size() + plain.requests().size(), 0);
}

// What a delivery to a receiver with this certificate ends with, although the certificate is known.
std::string error_with(std::string const& name, tls::testing::validity const& period) {
    tls::testing::temp_folder const files;
    auto const key = tls::testing::make_ec_key(NID_X9_62_prime256v1);
    auto const creation = tls::testing::make_certificate(name, key.get(), name, key.get(), period);
    auto const file = files.write("certificate", tls::testing::pem_of(creation.get()));
    auto const loaded =
        tls::identity::load(file, files.write("key", tls::testing::pem_of(key.get())));
    receiver const peer(*loaded);
    fake_service service(file);
    auto const result = service.deliver(
        {.url = "https://localhost:" + std::to_string(peer.port()) + "/ok", .allow = loopback()});
    EXPECT_EQ(peer.requests().size(), result.status == 0 ? 0 : 1);
    return result.error;
}

TEST(certificates, must_be_of_the_name_and_valid) {
    EXPECT_EQ(error_with("localhost", {}), "");
    EXPECT_EQ(error_with("other.test", {}), "certificate: it is of another name");
    for (auto const& period : {tls::testing::validity{.begin_seconds = -7200, .end_seconds = -3600},
                               tls::testing::validity{.begin_seconds = 3600}})
        EXPECT_TRUE(error_with("localhost", period).starts_with("certificate: "));
}

TEST_F(deliveries, to_one_that_hangs_hold_up_no_other) {
    receiver silent(own.identity());
    auto hanging = post("/hang");
    hanging.url = silent.url("/hang");
    for (int i = 0; i < 200; ++i) service.begin(hanging);
    for (int i = 0; i < 100; ++i) {
        service.begin(post("/ok"));
        EXPECT_EQ(service.wait_for(1)[0].status, 200);
    }
    EXPECT_EQ(service.in_flight(), 200);
}

TEST_F(deliveries, wait_for_a_service_that_does_not_read) {
    constexpr std::size_t count = deliver::protocol::attempts_max;
    for (std::size_t i = 0; i < count; ++i) service.begin(post("/big/1024"));
    service.flush();
    // Nobody reads the results, which are more than the sockets hold.
    auto const deadline = base::read_mono() + 30 * base::second;
    while (peer.count() < count && base::read_mono() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(peer.count(), count);
    auto const results = service.wait_for(count);
    EXPECT_TRUE(std::ranges::all_of(results, [](auto const& each) { return each.status == 200; }));
    EXPECT_EQ(service.in_flight(), 0);
}

TEST_F(deliveries, of_a_line_are_sent_one_after_another_and_stop_at_a_failure) {
    std::uint64_t last = 0;
    auto const begin = [&](std::string const& path) {
        auto attempt = post(path);
        attempt.line = 5;
        attempt.predecessor = last;
        return last = service.begin(attempt);
    };
    std::vector<std::uint64_t> numbers;
    for (auto const* path : {"/status/200", "/status/201", "/status/503", "/ok?3", "/ok?4"})
        numbers.push_back(begin(path));
    auto lost_ids = service.wait_for_lost();
    while (lost_ids.size() < 2) std::ranges::copy(service.wait_for_lost(), back_inserter(lost_ids));
    EXPECT_EQ(lost_ids, (std::vector{numbers[3], numbers[4]}));
    auto const results = service.wait_for(3);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(results[i].number, numbers[i]);
    EXPECT_EQ(results[2].status, 503);
    begin("/ok?5");  // after one that was not sent
    EXPECT_EQ(service.wait_for_lost(), std::vector{last});
    last = 0;
    begin("/status/202");
    EXPECT_EQ(service.wait_for(1).at(0).status, 202);
    EXPECT_EQ(peer.requests().size(), 4);
}

TEST_F(deliveries, in_flight_are_lost_with_a_helper_that_is_killed) {
    EXPECT_EQ(service.deliver(post("/ok")).status, 200);
    std::vector<std::uint64_t> numbers;
    for (int i = 0; i < 3; ++i) numbers.push_back(service.begin(post("/hang")));
    EXPECT_EQ(service.deliver(post("/ok")).status, 200);
    service.pause_helper();
    numbers.push_back(service.begin(post("/status/201")));  // it never reads this one
    service.restart_helper();
    auto lost_ids = service.wait_for_lost();
    std::ranges::sort(lost_ids);
    EXPECT_EQ(lost_ids, numbers);
    EXPECT_EQ(service.in_flight(), 0);
    EXPECT_EQ(service.deliver(post("/ok")).status, 200);
    for (auto const& each : peer.requests())
        EXPECT_EQ(each.head.find("/status"), std::string::npos);
}

TEST_F(deliveries, end_with_the_service) {
    service.begin(post("/hang"));
    EXPECT_EQ(service.close(), 0);
}

}  // namespace
}  // namespace latchkey::deliver
