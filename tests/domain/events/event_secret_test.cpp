// Secrets of the sources of events: encrypted at rest, two during an overlap, audited.
#include <atomic>
#include <filesystem>
#include <fstream>

#include "../support.hpp"
#include "domain/audit/audit.hpp"
#include "domain/audit/audit_lists.hpp"
#include "domain/audit/verify_audit.hpp"
#include "domain/events/event_lists.hpp"
#include "domain/events/event_secret_record.hpp"
#include "store/encryption.hpp"
#include "store/environment_state.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {
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
        return one(*store_, {.action = put_event_secret{.source = std::move(source),
                                                        .format = format,
                                                        .secret = base::secret(text),
                                                        .reveal = false,
                                                        .overlap_ms = overlap_ms}});
    }
    // The texts of the valid secrets, the current one first.
    std::vector<std::string> signing(std::string_view source) {
        snapshot view(*store_);
        view.renew();
        auto const secrets = find_event_secrets(view, source, wall);
        damaged_ = view.damaged();
        std::vector<std::string> texts;
        if (secrets) texts.emplace_back(secrets->current.text.text());
        if (secrets && secrets->previous) texts.emplace_back(secrets->previous->text.text());
        return texts;
    }
    std::string file(std::string const& name) {
        std::ifstream from(directory_.path() + "/" + name, std::ios::binary);
        return {std::istreambuf_iterator<char>(from), {}};
    }
    bool damaged_ = false;
};

using texts = std::vector<std::string>;

TEST_F(event_secrets_of_sources, survive_a_restart_and_are_never_in_clear) {
    EXPECT_EQ(signing("shop"), texts{});
    auto const answer = put("shop", "whsec_a-secret-of-the-shop");
    EXPECT_EQ(answer.problem, problem::none);
    auto const& result = std::get<secret_result>(answer.record);
    EXPECT_EQ(result.source, "shop");
    EXPECT_TRUE(result.secret.empty());
    put("till", "another-secret", 0, github);
    store_.reset();
    store_ = open();
    EXPECT_EQ(signing("shop"), texts{"whsec_a-secret-of-the-shop"});
    EXPECT_EQ(signing("till"), texts{"another-secret"});
    EXPECT_EQ(signing("sho"), texts{});
    EXPECT_EQ(file("store.mdb").find("secret-of-the-shop"), std::string::npos);
    EXPECT_EQ(file("store.mdb").find("another-secret"), std::string::npos);
    EXPECT_NE(file("store.mdb").find("till"), std::string::npos);
    expect_sound(*store_);
}

TEST_F(event_secrets_of_sources, end_at_once_without_an_overlap) {
    auto const result = [&] {
        transaction txn(store_->native());
        auto const bytes = txn.get(table::index, event_secret_key("shop"));
        return bytes ? decode_event_secrets(*bytes)->size() : 0;
    };
    put("shop", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    put("shop", "whsec_AAAQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    EXPECT_EQ(result(), 1u);
    put("shop", "whsec_BBBQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 1);
    EXPECT_EQ(result(), 2u);
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
    EXPECT_EQ(one(*store_, {.action = delete_event_secret{"shop"}}).problem, problem::none);
    EXPECT_EQ(signing("shop"), texts{});
    EXPECT_EQ(one(*store_, {.action = delete_event_secret{"shop"}}).problem, problem::not_found);
    expect_sound(*store_);
}

TEST_F(event_secrets_of_sources, are_audited_without_their_text) {
    put("shop", "first-secret");
    put("shop", "second-secret");
    put("shop", "third-secret", 0, stripe);
    one(*store_, {.action = delete_event_secret{"shop"}});
    snapshot view(*store_);
    view.renew();
    std::vector<std::string> reported;
    audit_entries(view, {}, {}, [&](audit_entry const& entry) {
        std::string line = std::string(name_of(entry.action)) + " " + entry.source + entry.project;
        for (auto const& field : entry.fields) line += " " + field;
        reported.push_back(line);
        EXPECT_EQ(entry.key, 0);
    });
    view.reset();
    EXPECT_EQ(reported, (texts{"secret.put shop format secret", "secret.put shop secret",
                               "secret.put shop format secret", "secret.delete shop"}));
    EXPECT_TRUE(verify_audit(*store_).wrong.empty());
    EXPECT_EQ(file("store.mdb").find("-secret"), std::string::npos);
}

TEST_F(event_secrets_of_sources, need_the_master_key_that_encrypted_them) {
    put("shop", "a-secret");
    store_.reset();
    std::ofstream(directory_.path() + "/master.key", std::ios::binary) << std::string(32, 'k');
    store_ = open();
    EXPECT_EQ(signing("shop"), texts{});
    EXPECT_TRUE(damaged_);
    bool reported = false;
    for (auto const& sentence : check_consistency(*store_))
        reported |= sentence.find("another master key") != std::string::npos;
    EXPECT_TRUE(reported);
    put("shop", "another");
    EXPECT_EQ(signing("shop"), texts{"another"});
    EXPECT_FALSE(damaged_);
    expect_sound(*store_);
}

TEST_F(event_secrets_of_sources, of_one_source_cannot_be_used_for_another) {
    auto const& native = store_->native();
    base::secret const plain("a secret");
    auto sealed = encrypt(native, plain, "shop");
    EXPECT_NE(sealed, encrypt(native, plain, "shop")) << "the nonce is fresh";
    EXPECT_EQ(sealed.find("a secret"), std::string::npos);
    EXPECT_EQ(decrypt(native, sealed, "shop").value().text(), "a secret");
    EXPECT_FALSE(decrypt(native, sealed, "shop2"));
    for (std::size_t size = 0; size < sealed.size(); ++size)
        EXPECT_FALSE(decrypt(native, std::string_view(sealed).substr(0, size), "shop"));
    for (auto& byte : sealed) {
        byte ^= 1;
        EXPECT_FALSE(decrypt(native, sealed, "shop"));
        byte ^= 1;
    }
    base::secret const longest(std::string(base::secret::bytes_max, 'x'));
    EXPECT_EQ(decrypt(native, encrypt(native, longest, "shop"), "shop").value().text(),
              longest.text());
    EXPECT_FALSE(decrypt(native, std::string(1000, 'x'), "shop"));
}

// Kept during an overlap, it would make the new one unreadable too.
TEST_F(event_secrets_of_sources, that_are_unreadable_are_replaced_despite_an_overlap) {
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

// `damaged` is evaluated for each request of a turn separately.
TEST_F(event_secrets_of_sources, that_are_unreadable_do_not_affect_the_next_request) {
    ASSERT_EQ(put("shop", "the-first-of-the-shop").problem, problem::none);
    store_.reset();
    std::filesystem::remove(directory_.path() + "/master.key");
    store_ = open();
    snapshot view(*store_);
    view.renew();
    EXPECT_FALSE(find_event_secrets(view, "shop", wall));
    EXPECT_TRUE(view.damaged());
    view.clear_damage();
    EXPECT_FALSE(view.damaged());
    EXPECT_FALSE(view.user(1));
    EXPECT_FALSE(view.damaged());
}

}  // namespace
}  // namespace latchkey::domain
