#include "model/webhook_url.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace latchkey::model {
namespace {

std::string fault(std::string_view text, std::vector<cidr> const& allowed = {}) {
    auto const url = check_webhook_url(text, allowed);
    return url ? "" : url.error().message;
}

TEST(webhook_urls, are_read_into_their_parts) {
    auto const url = check_webhook_url("https://Hooks.example.com:8443/in/a@b?x=1&y=/", {});
    ASSERT_TRUE(url);
    EXPECT_TRUE(url->encrypted);
    EXPECT_EQ(url->host, "Hooks.example.com");
    EXPECT_FALSE(url->address);
    EXPECT_EQ(url->port, 8443);
    EXPECT_EQ(url->target, "/in/a@b?x=1&y=/");
    EXPECT_EQ(check_webhook_url("https://a.example", {})->port, 443);
    EXPECT_EQ(check_webhook_url("https://a.example", {})->target, "/");
    EXPECT_TRUE(check_webhook_url("HTTPS://a.example/x", {})->encrypted);
    EXPECT_EQ(check_webhook_url("HTTPS://a.example/x", {})->target, "/x");
    EXPECT_EQ(check_webhook_url("https://a.example?x", {})->target, "/?x");
    auto const numeric = check_webhook_url("https://8.8.8.8/", {});
    ASSERT_TRUE(numeric && numeric->address);
    EXPECT_EQ(numeric->address->text(), "8.8.8.8");
    auto const bracketed = check_webhook_url("https://[2606:4700:4700::1111]:1/", {});
    ASSERT_TRUE(bracketed && bracketed->address);
    EXPECT_EQ(bracketed->host, "2606:4700:4700::1111");
    EXPECT_EQ(bracketed->port, 1);
}

TEST(webhook_urls, have_names_of_dns) {
    for (auto const* text :
         {"https://a.b", "https://xn--bcher-kva.example/", "https://1.2.3.example",
          "https://a--b.example", "https://0x7f.example", "https://127.0.0.1.example",
          "https://A.EXAMPLE", "https://internal.example", "https://a.internals",
          "https://notlocal.example", "https://a.example:65535", "https://a.example/%00%2f",
          "https://[2A00:1450::A]"})
        EXPECT_EQ(fault(text), "") << text;
    std::string const label(63, 'a');
    auto const name = label + "." + label + "." + label + "." + std::string(61, 'a');
    EXPECT_EQ(fault("https://" + name), "");
    EXPECT_NE(fault("https://" + name + "a"), "");
    EXPECT_NE(fault("https://" + label + "a.example"), "");
}

TEST(webhook_urls, have_no_other_spelling) {
    for (auto const* text :
         {// addresses that inet_aton() and browsers read
          "https://2130706433/", "https://0x7f000001/", "https://017700000001/", "https://127.1/",
          "https://127.0.1/", "https://0x7f.1/", "https://0x7f.0.0.1/", "https://0177.0.0.1/",
          "https://127.0.0.01/", "https://127.0.0.1./", "https://8.8.8.8./", "https://08.8.8.8/",
          "https://8.8.8/", "https://8.8.8.256/", "https://8.8.8.8.8/", "https://0/",
          "https://1.2.3.0x4/", "https://a.1/", "https://a.0x1/", "https://a.0x/",
          "https://134744072/", "https://0x8.0x8.0x8.0x8/", "https://8.8.2056/",
          "https://+8.8.8.8/", "https://-8.8.8.8/",
          // percent-encoding, other digits and dots
          "https://%31%32%37.0.0.1/", "https://127%2e0%2e0%2e1/", "https://a%2eexample/",
          "https://%61.example/", "https://１２７.0.0.1/", "https://127。0。0。1/",
          "https://①②⑦.0.0.1/", "https://ⓔxample.com/",
          "https://b\xc3\xbc"
          "cher.example/",
          "https://a\xc2\xad.example/",
          // IPv6 that is no plain address
          "https://[::ffff:8.8.8.8]/", "https://[::ffff:808:808]/", "https://[::8.8.8.8]/",
          "https://[64:ff9b::808:808]/", "https://[64:ff9b::8.8.8.8]/", "https://[2002:808:808::]/",
          "https://[2a00:1450::1%25eth0]/", "https://[2a00:1450::1%eth0]/",
          "https://[2a00:1450:0::1]/", "https://[2a00:1450:0:0:0:0:0:1]/",
          "https://[02a0:1450::1]/", "https://2a00:1450::1/", "https://[2a00:1450::1/",
          "https://2a00:1450::1]/", "https://[8.8.8.8]/", "https://[a.example]/", "https://[]/",
          "https://[v1.a]/", "https://[2a00:1450::1]a/", "https://[2a00:1450::1].example/",
          "https://[[2a00:1450::1]]/",
          // user names, and authorities that parsers cut differently
          "https://user@a.example/", "https://user:x@a.example/", "https://@a.example/",
          "https://a.example@127.0.0.1/", "https://a.example\\@127.0.0.1/",
          "https://a.example\\.b/", "https://a.example:443@127.0.0.1/", "https:///a.example/",
          "https:////a.example/", "https:/a.example/", "https:a.example/", "https:\\\\a.example/",
          "//a.example/", "https://a.example:/", "https://a.example:0/", "https://a.example:65536/",
          "https://a.example:080/", "https://a.example:+80/", "https://a.example:-1/",
          "https://a.example:80:80/", "https://a.example:80a/", "https://a.example:0x50/",
          "https://:443/", "https://a.example;b/", "https://a.example,b.example/",
          "https://a.example&b/", "https://a.example%00.b/", "https://a.example\t/",
          "https://a.example /", " https://a.example/", "https://a.example/ ",
          "https://a.example/\r\nx: y", "https://a.example/\x7f", "https://a.example/\xff",
          "https://a.example/{x}", "https://a.example/<x>", "https://a.example/#",
          "https://a.example#x",
          // labels
          "https://a..example/", "https://.a.example/", "https://a.example./",
          "https://a.example../", "https://-a.example/", "https://a-.example/",
          "https://a_b.example/", "https://*.example/", "https://a/", "https://./", "https:///",
          "https://", "", "https",
          // schemes
          "http://a.example/", "http://8.8.8.8/", "HTTP://a.example/", "ftp://a.example/",
          "file:///etc/passwd", "gopher://a.example/", "javascript:alert(1)",
          "https+unix://a.example/"})
        EXPECT_NE(fault(text), "") << text;
    EXPECT_NE(fault(std::string_view("https://a.example\0.b/", 21)), "");
}

TEST(webhook_urls, lead_to_no_private_host) {
    for (auto const* text : {"https://localhost/",
                             "https://LOCALHOST/",
                             "https://a.localhost/",
                             "https://a.LocalHost/",
                             "https://printer.local/",
                             "https://vault.internal/",
                             "https://nas.home.arpa/",
                             "https://home.arpa/",
                             "https://metadata.google.internal/",
                             "https://METADATA.google.internal/",
                             "https://metadata.goog/",
                             "https://instance-data.ec2.internal/",
                             "https://router.lan/",
                             "https://localhost.localdomain/",
                             "https://127.0.0.1/",
                             "https://10.0.0.5/",
                             "https://169.254.169.254/latest/",
                             "https://100.100.100.200/",
                             "https://0.0.0.0/",
                             "https://[::1]/",
                             "https://[::]/",
                             "https://[fd00:ec2::254]/",
                             "https://[fe80::1]/"})
        EXPECT_NE(fault(text), "") << text;
}

TEST(webhook_urls, lead_to_named_networks_also_by_http) {
    std::vector const allowed{*cidr::parse("10.1.0.0/16"), *cidr::parse("::1")};
    for (auto const* text : {"https://10.1.0.5/", "http://10.1.0.5:8080/in", "http://[::1]:1/",
                             "http://vault.internal/", "https://vault.internal/",
                             "http://a.example/", "https://8.8.8.8/"})
        EXPECT_EQ(fault(text, allowed), "") << text;
    EXPECT_EQ(check_webhook_url("http://10.1.0.5", allowed)->port, 80);
    EXPECT_FALSE(check_webhook_url("http://10.1.0.5", allowed)->encrypted);
    for (auto const* text : {"https://10.2.0.5/", "http://10.2.0.5/", "http://8.8.8.8/",
                             "http://0xa010005/", "http://metadata.google.internal/",
                             "http://localhost/", "ftp://10.1.0.5/", "http://[::ffff:10.1.0.5]/"})
        EXPECT_NE(fault(text, allowed), "") << text;
}

TEST(webhook_urls, have_at_most_2048_bytes) {
    std::string const begin = "https://a.example/";
    EXPECT_EQ(fault(begin + std::string(webhook_url_bytes_max - begin.size(), 'a')), "");
    EXPECT_EQ(fault(begin + std::string(webhook_url_bytes_max - begin.size() + 1, 'a')),
              "must have at most 2048 bytes");
}

TEST(webhook_urls, say_what_they_must_be) {
    EXPECT_EQ(fault("http://a.example/"), "must begin with https://");
    EXPECT_EQ(fault("https://u@a.example/"), "must not have a user name");
    EXPECT_EQ(fault("https://a.example/#x"), "must not have a fragment");
    EXPECT_EQ(fault("https://10.0.0.5/"), "must have a host of the public Internet");
    EXPECT_EQ(fault("https://a.example:0/"), "must have a port of 1 to 65535");
}

}  // namespace
}  // namespace latchkey::model
