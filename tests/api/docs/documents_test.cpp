// The pages for people. How browsers show them is tested end to end (tests/e2e/docs/docs.test.mjs).
#include "api/docs/documents.hpp"

#include <zlib.h>

#include <boost/json/parse.hpp>
#include <map>
#include <regex>
#include <set>

#include "../harness.hpp"
#include "api/docs/client_packages.hpp"
#include "api/docs/page_frame.hpp"
#include "api/docs/problem_pages.hpp"
#include "api/exchange/openapi.hpp"
#include "api/frame/route.hpp"
#include "web/guides.hpp"

namespace latchkey::api {
namespace {

documents const& all_documents() {
    static auto const result = make_documents(settings{});
    return *result;
}

std::string unzipped(std::string_view bytes) {
    z_stream stream{};
    constexpr int gzip_framing = 16;
    EXPECT_EQ(inflateInit2(&stream, MAX_WBITS + gzip_framing), Z_OK);
    std::string result(1 << 20, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(result.data());
    stream.avail_out = static_cast<uInt>(result.size());
    EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
    result.resize(stream.total_out);
    inflateEnd(&stream);
    return result;
}

std::set<std::string> matches(std::string const& text, char const* pattern) {
    std::set<std::string> result;
    std::regex const expression(pattern);
    for (std::sregex_iterator i(text.begin(), text.end(), expression), end; i != end; ++i)
        result.insert((*i)[1]);
    return result;
}

TEST(documents, have_a_page_for_each_guide_group_and_problem) {
    auto const& pages = all_documents();
    for (auto const* const path :
         {"/docs", "/docs/schemas", "/docs/clients", "/docs/search.json", "/problems"})
        EXPECT_NE(pages.find(path), nullptr) << path;
    for (auto const& guide : web::guides()) {
        EXPECT_NE(pages.find("/docs/" + std::string(guide.name)), nullptr) << guide.name;
        EXPECT_FALSE(guide.headings.empty()) << guide.name;
    }
    auto const& list = pages.find("/docs/schemas")->plain;
    for (auto const* const schema : {"User", "UserList", "Problem"}) {
        auto const* const page = pages.find("/docs/schemas/" + std::string(schema));
        ASSERT_NE(page, nullptr) << schema;
        EXPECT_NE(page->plain.find("<h1>" + std::string(schema) + "</h1>"), std::string::npos);
        EXPECT_NE(list.find("<li id=\"" + std::string(schema) + "\"><a href=\"/docs/schemas/"),
                  list.npos);
    }
    std::set<std::string> paths;
    for (auto const& page : pages.pages) EXPECT_TRUE(paths.insert(page.path).second) << page.path;
    EXPECT_EQ(pages.find("/docs/"), nullptr);
    EXPECT_EQ(pages.find("/docs/nothing"), nullptr);
    EXPECT_EQ(pages.find(""), nullptr);
}

TEST(documents, say_where_a_schema_is_used) {
    auto const& page = all_documents().find("/docs/schemas/User")->plain;
    auto const uses = page.substr(page.find("id=\"uses\""));
    for (auto const* const place : {"/docs/users#createUser", "/docs/schemas/UserList"})
        EXPECT_NE(uses.find("href=\"" + std::string(place) + "\""), uses.npos) << place;
    EXPECT_EQ(uses.substr(0, uses.find("</ul>")).find("#listPosts"), uses.npos);
}

// The index has each page and each section once, and the words of their texts.
TEST(documents, are_searched_by_their_full_text) {
    auto const index = boost::json::parse(all_documents().find("/docs/search.json")->plain);
    std::map<std::string, std::string> words;
    std::vector<std::string> kinds;
    for (auto const& each : index.as_array()) {
        auto const& entry = each.as_object();
        std::string const path(entry.at("path").get_string());
        EXPECT_TRUE(
            words.emplace(path, " " + std::string(entry.at("words").get_string()) + " ").second)
            << path;
        EXPECT_NE(all_documents().find(path.substr(0, path.find('#'))), nullptr) << path;
        std::string const kind(entry.at("kind").get_string());
        if (kinds.empty() || kinds.back() != kind) kinds.push_back(kind);
    }
    EXPECT_EQ(kinds, (std::vector<std::string>{"Guide", "Operation", "Problem", "Schema"}));
    std::pair<std::string, std::string> const texts[] = {
        {"/docs/limits#token-buckets", "refills"},
        {"/docs/protect-your-own-api", "auth"},
        {"/docs/protect-your-own-api#ask-in-a-gateway", "traefik"},
        {"/docs/users#createUser", "email"},
        {"/problems/key_expired", "key"},
        {"/docs/schemas/User", "email"}};
    for (auto const& [path, word] : texts) {
        auto const& all = words[path];
        auto const first = all.find(" " + word + " ");
        ASSERT_NE(first, all.npos) << path << ": " << all;
        EXPECT_EQ(all.find(" " + word + " ", first + 1), all.npos) << path;
    }
}

TEST(documents, have_a_heading_for_each_operation) {
    for (auto const& each : routes()) {
        auto const* const part = std::get_if<public_route>(&each.run);
        if (part != nullptr && part->is_part) continue;
        std::string group(each.operation.group);
        group[0] = static_cast<char>(group[0] | 0x20);
        auto const* const page = all_documents().find("/docs/" + group);
        ASSERT_NE(page, nullptr) << group;
        EXPECT_NE(page->plain.find("<h2 id=\"" + std::string(each.operation.id) + '"'),
                  std::string::npos);
        EXPECT_NE(page->plain.find("<code>" + std::string(each.pattern) + "</code>"),
                  std::string::npos);
    }
}

// Each link leads to a page and, where it names one, to an anchor of it, and no anchor is there twice.
TEST(documents, lead_somewhere) {
    auto const& documents = all_documents();
    std::map<std::string, std::set<std::string>> anchors;
    for (auto const& page : documents.pages) {
        anchors[page.path] = matches(page.plain, " id=\"([^\"]*)\"");
        std::size_t count = 0;
        for (auto i = page.plain.find(" id=\""); i != page.plain.npos;
             i = page.plain.find(" id=\"", i + 1))
            ++count;
        if (page.type == http::content::html)
            EXPECT_EQ(anchors[page.path].size(), count) << page.path;
    }
    std::set<std::string> const others{"/console", "/openapi.json"};
    for (auto const& page : documents.pages)
        for (auto const& link : matches(page.plain, "<a [^>]*href=\"([^\"]*)\"")) {
            if (link.starts_with("https://") || others.contains(link)) continue;
            auto const hash = link.find('#');
            auto const path = hash == 0 ? page.path : link.substr(0, hash);
            ASSERT_NE(documents.find(path), nullptr) << page.path << " → " << link;
            if (hash != link.npos)
                EXPECT_TRUE(anchors[path].contains(link.substr(hash + 1)))
                    << page.path << " → " << link;
        }
}

TEST(documents, load_only_files_of_this_service_and_have_nothing_inline) {
    for (auto const& page : all_documents().pages) {
        if (page.type != http::content::html) continue;
        auto const head = page.plain.substr(0, page.plain.find("</head>"));
        for (auto const& source : matches(page.plain, " src=\"([^\"]*)\""))
            EXPECT_TRUE(source.starts_with("/assets/")) << source;
        for (auto const& target : matches(head, " href=\"([^\"]*)\""))
            EXPECT_TRUE(target.starts_with("/assets/")) << target;
        for (auto const* const word : {"<style", " style=\"", " onclick", "javascript:", "url("})
            EXPECT_EQ(page.plain.find(word), std::string::npos) << page.path << ": " << word;
    }
}

TEST(documents, are_compressed_and_small) {
    constexpr std::size_t page_bytes_max = 80'000;  // beside the script and the style sheet
    for (auto const& page : all_documents().pages) {
        EXPECT_LT(page.gzip.size(), page_bytes_max) << page.path;
        EXPECT_EQ(unzipped(page.gzip), page.plain) << page.path;
    }
}

TEST(documents, say_what_to_do_about_each_problem) {
    std::set<std::string_view> remedies;
    for (auto const& entry : base::problems) {
        if (entry.code == base::problem::none) continue;
        EXPECT_FALSE(remedy_for(entry.code).empty()) << entry.name;
        auto const& page = *all_documents().find("/problems/" + std::string(entry.name));
        EXPECT_NE(page.plain.find("&quot;code&quot;: &quot;" + std::string(entry.name)),
                  std::string::npos);
    }
}

TEST(documents, have_the_client_packages_that_are_given) {
    settings settings;
    settings.base_url = "https://api.example.com";
    std::vector<client_package> const packages{{&client_kinds[0], "npm's"},
                                               {&client_kinds[1], "pip's"}};
    auto const documents = make_documents(settings, packages);
    auto const& page = documents->find("/docs/clients")->plain;
    for (auto const& [kind, bytes] : packages) {
        auto const path = "/docs/clients/" + std::string(kind->name);
        EXPECT_NE(page.find(std::string(kind->command) + " https://api.example.com" + path + "\n"),
                  page.npos);
        auto const* const file = documents->find(path);
        ASSERT_NE(file, nullptr) << path;
        EXPECT_EQ(file->plain, bytes);
        EXPECT_EQ(file->type, kind->type);
        EXPECT_TRUE(file->gzip.empty()) << "it is compressed already";
        EXPECT_EQ(all_documents().find(path), nullptr);
    }
    auto const& empty_page = all_documents().find("/docs/clients")->plain;
    EXPECT_NE(empty_page.find("<code>latchkey-clients</code>"), empty_page.npos);
    EXPECT_EQ(page.find("<code>latchkey-clients</code>"), page.npos);
}

TEST(documents, depend_on_the_settings) {
    settings settings;
    settings.base_url = "https://api.example.com";
    settings.console = false;
    auto const documents = make_documents(settings);
    auto const& start = documents->find("/docs")->plain;
    EXPECT_NE(start.find("LATCHKEY_URL=https://api.example.com\n"), start.npos);
    EXPECT_EQ(start.find("href=\"/console\""), start.npos);
    EXPECT_NE(all_documents().find("/docs")->plain.find("href=\"/console\""), start.npos);
    EXPECT_NE(documents->find("/problems/not_found")
                  ->plain.find("https://api.example.com/problems/not_found"),
              start.npos);
}

TEST_F(api_test, an_unknown_page_is_a_page_for_people_and_a_problem_for_programs) {
    for (auto const* const path :
         {"/docs/nothing", "/docs/", "/docs/users/1", "/docs/a/b/c", "/docs/schemas/NoSuchSchema",
          "/problems/nothing", "/problems/", "/problems/not_found/more", "/foo", "/docsx",
          "/login/index.php", "/users/", "/api", "/api/v2/users"}) {
        auto const line = "GET " + std::string(path);
        auto const page = service.request_anonymous(
            line, {}, {"Accept: text/html,*/*;q=0.8", "If-None-Match: *"});
        EXPECT_EQ(page.status, 404) << path;
        EXPECT_EQ(page.field("Content-Type"), "text/html; charset=utf-8");
        EXPECT_EQ(page.field("Content-Security-Policy"), page_policy);
        EXPECT_EQ(page.field("Cache-Control"), "no-store");
        EXPECT_EQ(page.field("ETag"), "");
        for (auto const* const part :
             {"<h1>There is no such page</h1>", "id=\"search\"", "<a href=\"/docs\"><strong>",
              "<a href=\"/console\"><strong>", "<a href=\"/docs/first-request\"><strong>",
              "<a href=\"/problems\"><strong>"})
            EXPECT_NE(page.body.find(part), page.body.npos) << part;
        auto const packed =
            service.request_anonymous(line, {}, {"Accept: text/html", "Accept-Encoding: gzip"});
        EXPECT_EQ(unzipped(packed.body), page.body);
        for (auto const* const accept : {"Accept: */*", "Accept: text/html;q=0"})
            EXPECT_EQ(service.request(line, {}, {accept}).code(), "route_not_found");
        EXPECT_EQ(service.request(line).code(), "route_not_found");
    }
    EXPECT_EQ(service.request_anonymous("POST /docs/nothing").status, 405);
}

TEST_F(api_test, no_page_is_shown_where_a_browser_asks_for_what_needs_a_key) {
    for (auto const* const line : {"GET /users", "GET /api/v1/nothing", "GET /api/v1", "POST /foo"})
        EXPECT_EQ(service.request_anonymous(line, {}, {"Accept: text/html"}).code(), "key_missing")
            << line;
    for (auto const* const line : {"GET /docsx", "GET /foo"})
        EXPECT_EQ(service.request_anonymous(line).code(), "key_missing") << line;
}

TEST_F(api_test, an_unknown_page_leads_to_no_console_that_is_off) {
    service.settings.console = false;
    service.settings.documents = make_documents(service.settings);
    for (auto const* const line : {"GET /foo", "GET /console"}) {
        auto const page = service.request_anonymous(line, {}, {"Accept: text/html"});
        EXPECT_EQ(page.status, 404) << line;
        EXPECT_NE(page.body.find("<a href=\"/docs\"><strong>"), page.body.npos);
        EXPECT_EQ(page.body.find("/console"), page.body.npos);
    }
    EXPECT_EQ(service.request_anonymous("GET /console").code(), "route_not_found");
}

TEST_F(api_test, pages_take_any_query) {
    for (std::string const path : {"/docs", "/docs/keys", "/problems/not_found", "/docs/nope"}) {
        auto const plain = service.request_anonymous("GET " + path);
        auto const linked = service.request_anonymous("GET " + path + "?utm_source=a&utm_source=b");
        EXPECT_EQ(linked.status, plain.status) << path;
        EXPECT_EQ(linked.code(), plain.code()) << path;
    }
}

TEST_F(api_test, the_root_leads_browsers_to_the_documents) {
    auto const people = service.request_anonymous("GET /", {}, {"Accept: text/html,*/*;q=0.8"});
    EXPECT_EQ(people.status, 302);
    EXPECT_EQ(people.field("Location"), "/docs");
    EXPECT_EQ(people.field("Vary"), "Accept");
    EXPECT_EQ(service.request_anonymous("GET /").code(), "route_not_found");
    EXPECT_EQ(service.request_anonymous("GET /", {}, {"Accept: */*"}).code(), "route_not_found");
    EXPECT_EQ(service.request_anonymous("GET /favicon.ico").field("Content-Type"), "image/svg+xml");
}

TEST_F(api_test, pages_are_answered_in_the_coding_that_the_client_accepts) {
    for (auto const* const path : {"/docs", "/docs/users", "/problems", "/problems/not_found"}) {
        auto const line = "GET " + std::string(path);
        auto const plain = service.request_anonymous(line, {}, {"Accept: text/html"});
        EXPECT_EQ(plain.status, 200) << path;
        EXPECT_EQ(plain.field("Content-Type"), "text/html; charset=utf-8");
        EXPECT_EQ(plain.field("Content-Security-Policy"), page_policy);
        EXPECT_EQ(plain.field("Vary"), "Accept-Encoding");
        EXPECT_EQ(plain.field("Content-Encoding"), "");
        auto const packed = service.request_anonymous(line, {}, {"Accept-Encoding: gzip, br"});
        EXPECT_EQ(packed.field("Content-Encoding"), "gzip");
        EXPECT_EQ(unzipped(packed.body), plain.body);
        EXPECT_NE(packed.field("ETag"), plain.field("ETag"));
        auto const same = service.request_anonymous(
            line, {}, {"Accept-Encoding: gzip", "If-None-Match: " + packed.field("ETag")});
        EXPECT_EQ(same.status, 304);
        EXPECT_EQ(service.request_anonymous("HEAD " + std::string(path)).field("Content-Length"),
                  plain.field("Content-Length"));
    }
    EXPECT_EQ(service.request_anonymous("GET /docs/search.json").field("Content-Type"),
              "application/json; charset=utf-8");
}

}  // namespace
}  // namespace latchkey::api
