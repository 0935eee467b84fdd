// The first key of a store, from a file or into one.
#include "server/process/first_key.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "auth/key_form.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::server {
namespace {

struct first_key : ::testing::Test {
    std::string folder = ::testing::TempDir() + "first-key-" + std::to_string(::getpid());
    std::unique_ptr<store::environment> store;
    config configuration;

    void SetUp() override {
        std::filesystem::remove_all(folder);
        std::filesystem::create_directory(folder);
        store = store::environment::open({.directory = folder + "/data", .map_bytes = 64 << 20})
                    .value();
        configuration.keys_first_key_file = folder + "/key";
    }
    void TearDown() override { std::filesystem::remove_all(folder); }

    void put(std::string const& text) const { std::ofstream(folder + "/key") << text; }
    std::string text() const {
        std::ifstream file(folder + "/key");
        return std::string(std::istreambuf_iterator<char>(file), {});
    }
    std::string make() {
        auto const outcome = make_first_key(*store, configuration);
        return outcome ? "" : outcome.error().message;
    }
    std::vector<model::key> keys() const {
        domain::snapshot snapshot(*store);
        snapshot.renew();
        return snapshot.keys();
    }
};

TEST_F(first_key, is_the_text_in_the_file) {
    std::string const key_text = "0123456789abcdef0123456789abcdef";
    put("  " + key_text + "\n");
    EXPECT_EQ(make(), "");
    ASSERT_EQ(keys().size(), 1u);
    EXPECT_EQ(keys()[0].digest, auth::digest_of(key_text));
    EXPECT_TRUE(keys()[0].scopes.has(model::scope::any));
    EXPECT_EQ(keys()[0].start, "") << "not one of ours";
    EXPECT_EQ(make(), "");
    EXPECT_EQ(keys().size(), 1u) << "once";
}

TEST_F(first_key, may_be_one_that_was_generated) {
    auth::fresh_key const key_text("lkey");
    put(std::string(key_text.text()));
    EXPECT_EQ(make(), "");
    EXPECT_EQ(keys()[0].start, key_text.text().substr(0, 8));
    EXPECT_EQ(keys()[0].last4, key_text.text().substr(44));
}

TEST_F(first_key, is_made_and_written_where_there_is_no_file) {
    configuration.keys_prefix = "acme";
    EXPECT_EQ(make(), "");
    auto const content = text();
    ASSERT_EQ(content.size(), 49u);
    EXPECT_TRUE(content.starts_with("acme"));
    EXPECT_EQ(keys()[0].digest, auth::digest_of(content.substr(0, 48)));
    struct stat status{};
    ASSERT_EQ(::stat((folder + "/key").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    EXPECT_EQ(make(), "");
    EXPECT_EQ(text(), content);
}

TEST_F(first_key, that_is_none_is_refused_without_its_text) {
    for (std::string const wrong : {"", "short", "0123456789abcdef 0123456789abcdef"}) {
        put(wrong);
        auto const error = make();
        EXPECT_TRUE(error.starts_with("keys.first_key_file: " + folder + "/key has no key in it"))
            << error;
        if (!wrong.empty()) EXPECT_EQ(error.find(wrong), std::string::npos);
        EXPECT_TRUE(keys().empty());
    }
    configuration.keys_first_key_file = folder + "/none/key";
    EXPECT_NE(make().find("cannot write"), std::string::npos);
    EXPECT_TRUE(keys().empty());
}

TEST_F(first_key, is_not_made_unless_it_is_asked_for_nor_on_a_node) {
    configuration.cluster_postgres = "host=db";
    EXPECT_EQ(make(), "");
    configuration = {};
    EXPECT_EQ(make(), "");
    EXPECT_TRUE(keys().empty());
}

}  // namespace
}  // namespace latchkey::server
