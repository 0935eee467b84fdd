// Secrets of the sources of events: sealed at rest, two for a while, audited.
#include <atomic>
#include <filesystem>
#include <fstream>

#include "store/audit.hpp"
#include "store/commands.hpp"
#include "store/sealed.hpp"
#include "support.hpp"

namespace latchkey::store {
namespace {

using base::problem;
using enum model::event_format;

std::atomic<std::int64_t> wall{1'700'000'000'000};

class event_secrets_of_sources : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open();

    std::unique_ptr<environment> open() {
        return environment::open({.directory = directory_.path(),
                                  .map_bytes = 1u << 30,
                                  .sync = false,
                                  .wall = [] { return wall.load(); }})
            .value();
    }
    outcome put(std::string source, std::string_view text, std::int64_t overlap_ms = 0,
                model::event_format format = standard) {
        return one(*store_, {.what = put_event_secret{.source = std::move(source),
                                                      .format = format,
                                                      .secret = base::secret(text),
                                                      .shown = false,
                                                      .overlap_ms = overlap_ms}});
    }
    // The texts that sign now, the current one first.
    std::vector<std::string> signing(std::string_view source) {
        snapshot seen(*store_);
        seen.renew();
        auto const found = seen.event_secrets(source, wall);
        damaged_ = seen.damaged();
        std::vector<std::string> texts;
        if (found) texts.emplace_back(found->current.text.text());
        if (found && found->previous) texts.emplace_back(found->previous->text.text());
        return texts;
    }
    std::string file(std::string const& name) {
        std::ifstream from(directory_.path() + "/" + name, std::ios::binary);
        return {std::istreambuf_iterator<char>(from), {}};
    }
    bool damaged_ = false;
};

using texts = std::vector<std::string>;

TEST_F(event_secrets_of_sources, are_there_after_a_restart_and_nowhere_in_clear) {
    EXPECT_EQ(signing("shop"), texts{});
    auto const answer = put("shop", "whsec_a-secret-of-the-shop");
    EXPECT_EQ(answer.problem, problem::none);
    auto const& kept = std::get<kept_secret>(answer.record);
    EXPECT_EQ(kept.source, "shop");
    EXPECT_TRUE(kept.shown.empty());
    put("till", "another-secret", 0, github);
    store_.reset();
    store_ = open();
    EXPECT_EQ(signing("shop"), texts{"whsec_a-secret-of-the-shop"});
    EXPECT_EQ(signing("till"), texts{"another-secret"});
    EXPECT_EQ(signing("sho"), texts{});
    EXPECT_EQ(file("store.mdb").find("secret-of-the-shop"), std::string::npos);
    EXPECT_EQ(file("store.mdb").find("another-secret"), std::string::npos);
    EXPECT_NE(file("store.mdb").find("till"), std::string::npos);
    expect_whole(*store_);
}

TEST_F(event_secrets_of_sources, overlap_as_long_as_was_asked) {
    put("shop", "first");
    put("shop", "second", 1000);
    EXPECT_EQ(signing("shop"), (texts{"second", "first"}));
    wall += 999;
    EXPECT_EQ(signing("shop"), (texts{"second", "first"}));
    wall += 1;
    EXPECT_EQ(signing("shop"), texts{"second"});
    put("shop", "third", 1000);
    put("shop", "fourth", 1000);
    EXPECT_EQ(signing("shop"), (texts{"fourth", "third"})) << "never more than two";
    put("shop", "fifth");
    EXPECT_EQ(signing("shop"), texts{"fifth"}) << "at once, unless asked otherwise";
    EXPECT_EQ(one(*store_, {.what = delete_event_secret{"shop"}}).problem, problem::none);
    EXPECT_EQ(signing("shop"), texts{});
    EXPECT_EQ(one(*store_, {.what = delete_event_secret{"shop"}}).problem, problem::not_found);
    expect_whole(*store_);
}

TEST_F(event_secrets_of_sources, are_audited_without_their_text) {
    put("shop", "first-secret");
    put("shop", "second-secret");
    put("shop", "third-secret", 0, stripe);
    one(*store_, {.what = delete_event_secret{"shop"}});
    snapshot seen(*store_);
    seen.renew();
    std::vector<std::string> told;
    seen.audit(std::nullopt, {}, [&](audit_entry const& entry) {
        std::string line = std::string(name_of(entry.action)) + " " + entry.source + entry.project;
        for (auto const& field : entry.fields) line += " " + field;
        told.push_back(line);
        EXPECT_EQ(entry.key, 0);
    });
    seen.reset();
    EXPECT_EQ(told, (texts{"secret.put shop format secret", "secret.put shop secret",
                           "secret.put shop format secret", "secret.delete shop"}));
    EXPECT_TRUE(verify_audit(*store_).wrong.empty());
    EXPECT_EQ(file("store.mdb").find("-secret"), std::string::npos);
}

TEST_F(event_secrets_of_sources, need_the_master_key_that_sealed_them) {
    put("shop", "a-secret");
    store_.reset();
    std::ofstream(directory_.path() + "/master.key", std::ios::binary) << std::string(32, 'k');
    store_ = open();
    EXPECT_EQ(signing("shop"), texts{});
    EXPECT_TRUE(damaged_);
    bool told = false;
    for (auto const& sentence : verify(*store_))
        told |= sentence.find("another master key") != std::string::npos;
    EXPECT_TRUE(told);
    put("shop", "another");
    EXPECT_EQ(signing("shop"), texts{"another"});
    EXPECT_FALSE(damaged_);
    expect_whole(*store_);
}

TEST_F(event_secrets_of_sources, sealed_for_one_are_none_of_another) {
    auto const& native = store_->native();
    base::secret const plain("a secret");
    auto sealed = seal(native, plain, "shop");
    EXPECT_NE(sealed, seal(native, plain, "shop")) << "the nonce is fresh";
    EXPECT_EQ(sealed.find("a secret"), std::string::npos);
    EXPECT_EQ(unseal(native, sealed, "shop").value().text(), "a secret");
    EXPECT_FALSE(unseal(native, sealed, "shop2"));
    for (std::size_t size = 0; size < sealed.size(); ++size)
        EXPECT_FALSE(unseal(native, std::string_view(sealed).substr(0, size), "shop"));
    for (auto& byte : sealed) {
        byte ^= 1;
        EXPECT_FALSE(unseal(native, sealed, "shop"));
        byte ^= 1;
    }
    base::secret const longest(std::string(base::secret::bytes_max, 'x'));
    EXPECT_EQ(unseal(native, seal(native, longest, "shop"), "shop").value().text(), longest.text());
    EXPECT_FALSE(unseal(native, std::string(1000, 'x'), "shop"));
}

// Carried along in an overlap, it would keep the new one from being read.
TEST_F(event_secrets_of_sources, that_cannot_be_read_are_replaced_whatever_the_overlap) {
    ASSERT_EQ(put("shop", "the-first-of-the-shop").problem, problem::none);
    store_.reset();
    std::filesystem::remove(directory_.path() + "/master.key");
    store_ = open();
    EXPECT_EQ(signing("shop"), texts{});
    EXPECT_TRUE(damaged_);
    ASSERT_EQ(put("shop", "the-second-of-the-shop", 60'000).problem, problem::none);
    EXPECT_EQ(signing("shop"), texts{"the-second-of-the-shop"});
    EXPECT_FALSE(damaged_);
}

// A worker judges each request of a turn by itself.
TEST_F(event_secrets_of_sources, that_cannot_be_read_are_forgotten_by_the_next_request) {
    ASSERT_EQ(put("shop", "the-first-of-the-shop").problem, problem::none);
    store_.reset();
    std::filesystem::remove(directory_.path() + "/master.key");
    store_ = open();
    snapshot seen(*store_);
    seen.renew();
    EXPECT_FALSE(seen.event_secrets("shop", wall));
    EXPECT_TRUE(seen.damaged());
    seen.forget_damage();
    EXPECT_FALSE(seen.damaged());
    EXPECT_FALSE(seen.user(1));
    EXPECT_FALSE(seen.damaged());
}

}  // namespace
}  // namespace latchkey::store
