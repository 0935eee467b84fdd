// One bit of the store's file changes, anywhere: every answer is right or an error, and the
// consistency check finds the change. Each change in a child process, which LMDB may end over a
// page that it cannot read; that is no wrong answer.
//
//     ROT_BYTES=20000 build/release/tests/store/store-test --gtest_filter='rot.*'  # how many
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <map>
#include <random>

#include "../domain/admin/schema_1.hpp"
#include "domain/audit/audit_lists.hpp"
#include "domain/audit/verify_audit.hpp"
#include "domain/events/event_lists.hpp"
#include "domain/usage/usage_lists.hpp"
#include "store/checksum.hpp"
#include "store/environment_state.hpp"
#include "store/pages/tree_reader.hpp"

namespace latchkey::store {
using namespace domain;  // whose commands fill the store

namespace {

using answers = std::map<std::string, std::string>;
constexpr std::string_view damaged_answer = "damaged";
constexpr model::id users = 150;

// Asks every question and stores the answers by question.
class questions {
  public:
    explicit questions(environment& store) : snapshot_(store) { snapshot_.renew(); }
    answers all() {
        ask_for_records();
        ask_for_lists();
        ask_for_keys();
        ask_for_other_records();
        return std::move(all_);
    }

  private:
    template <class Ask>
    void ask(std::string question, Ask write_answer) {
        // Damage may end a transaction: each question has a turn of its own.
        snapshot_.renew();
        std::string text;
        write_answer(text);
        all_[std::move(question)] = snapshot_.damaged() ? std::string(damaged_answer) : text;
    }
    static void add(std::string& output, auto const& part) {
        if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(part)>>)
            output += std::to_string(part);
        else
            output += part;
        output += '|';
    }
    static void show(std::string& output, model::user_view const& user) {
        add(output, user.id);
        add(output, user.name);
        add(output, user.email);
        add(output, user.created_at);
    }
    static void show(std::string& output, model::post_view const& post) {
        add(output, post.id);
        add(output, post.user_id);
        add(output, post.title);
        add(output, post.body);
        add(output, static_cast<int>(post.status));
        add(output, post.updated_at);
    }
    static void show(std::string& output, model::event_view const& event) {
        add(output, event.id);
        add(output, event.source);
        add(output, event.payload);
        add(output, event.verified);
    }
    static void show(std::string& output, model::key const& key) {
        std::string bytes;
        encode(key, bytes);
        add(output, key.id);
        add(output, bytes);
    }
    static void show(std::string& output, audit_entry const& entry) {
        add(output, entry.id);
        add(output, static_cast<int>(entry.action));
        add(output, entry.project);
        add(output, entry.key);
        add(output, entry.time);
    }
    template <class List>  // (range, sink)
    void ask_for_list(std::string const& name, List list) {
        for (bool const descending : {false, true})
            for (range const& part : {range{.limit = 20, .descending = descending},
                                      range{.skip = 30, .limit = 7, .descending = descending},
                                      range{.after_id = 40, .limit = 9, .descending = descending}})
                ask(name + std::to_string(part.skip) + std::to_string(part.after_id) +
                        (descending ? "down" : "up"),
                    [&](std::string& text) {
                        list_result const result =
                            list(part, [&](auto const& each) { show(text, each); });
                        add(text, result.total);
                        add(text, result.has_more);
                        add(text, result.last);
                    });
    }
    void ask_for_records();
    void ask_for_lists();
    void ask_for_keys();
    void ask_for_other_records();

    snapshot snapshot_;
    answers all_;
};

void questions::ask_for_records() {
    for (model::id id = 1; id <= users + 3; ++id) {
        ask("user " + std::to_string(id), [&](std::string& text) {
            if (auto const user = snapshot_.user(id)) show(text, *user);
        });
        ask("post " + std::to_string(id), [&](std::string& text) {
            if (auto const post = snapshot_.post(id)) show(text, *post);
        });
        ask("address " + std::to_string(id), [&](std::string& text) {
            auto const email = "user" + std::to_string(id) + "@example.org";
            add(text, snapshot_.user_with_email(email).value_or(0));
        });
        ask("posts of " + std::to_string(id),
            [&](std::string& text) { add(text, snapshot_.posts_of(id)); });
    }
    for (model::id id = 1; id <= 3; ++id)
        ask("event " + std::to_string(id), [&](std::string& text) {
            if (auto const event = find_event(snapshot_, id)) show(text, *event);
        });
}

void questions::ask_for_lists() {
    using model::post_status;
    ask_for_list("users",
                 [&](range const& part, auto sink) { return snapshot_.users(part, sink); });
    for (post_filter const& filter : {post_filter{}, post_filter{.user_id = 3, .status = {}},
                                      post_filter{.user_id = {}, .status = post_status::published},
                                      post_filter{.user_id = 4, .status = post_status::draft}})
        ask_for_list(
            "posts" + std::to_string(filter.user_id.value_or(0)) +
                std::to_string(filter.status ? static_cast<int>(*filter.status) : 9),
            [&](range const& part, auto sink) { return snapshot_.posts(filter, part, sink); });
    ask_for_list("audit", [&](range const& part, auto sink) {
        return audit_entries(snapshot_, {}, part, sink);
    });
    ask_for_list("audit of default", [&](range const& part, auto sink) {
        return audit_entries(snapshot_, {.project = "default"}, part, sink);
    });
    ask_for_list("events", [&](range const& part, auto sink) {
        return list_events(snapshot_, std::nullopt, part, sink);
    });
    ask_for_list("events of shop", [&](range const& part, auto sink) {
        return list_events(snapshot_, "shop", part, sink);
    });
}

void questions::ask_for_keys() {
    for (unsigned number = 1; number <= 4; ++number) {
        ask("key " + std::to_string(number), [&](std::string& text) {
            if (auto const key = snapshot_.key(number)) show(text, *key);
        });
        ask("digest " + std::to_string(number), [&](std::string& text) {
            if (auto const key = snapshot_.key_with_digest(key_number(number).digest))
                show(text, *key);
        });
        ask("use " + std::to_string(number),
            [&](std::string& text) { add(text, snapshot_.last_use(number)); });
    }
    for (key_filter const& filter : {key_filter{}, key_filter{.project = "default",
                                                              .environment = {},
                                                              .state = {},
                                                              .start = {},
                                                              .unused_since = {}}})
        ask_for_list(filter.project ? "keys of default" : "keys", [&](range const& part,
                                                                      auto sink) {
            return snapshot_.keys(filter, part, [&](model::key const& key, auto) { sink(key); });
        });
    ask("epoch", [&](std::string& text) { add(text, snapshot_.key_epoch()); });
    ask("changes", [&](std::string& text) {
        auto const changes = snapshot_.keys_changed_since(0);
        if (changes) add(text, changes->size());
    });
}

void questions::ask_for_other_records() {
    ask("usage", [&](std::string& text) {
        list_usage(snapshot_, 1, model::granularity::day, 0, base::wall_ms{1} << 31,
                   [&](auto, auto const&) {});
        auto const now = base::read_clocks().wall;
        list_usage(snapshot_, 1, model::granularity::day, now - 86'400'000, now + 86'400'000,
                   [&](auto start, auto const& counted) {
                       add(text, start);
                       add(text, counted.requests());
                   });
    });
    ask("outcome", [&](std::string& text) {
        auto const outcome = snapshot_.find_outcome(*new_user_once(1).idempotency, 0);
        if (!outcome) return;
        add(text, static_cast<int>(outcome->problem));
        add(text, outcome->time);
    });
    ask("secret", [&](std::string& text) {
        auto const secrets = find_event_secrets(snapshot_, "shop", 0);
        if (secrets) add(text, secrets->current.text.text());
    });
}

// The report of a child process, in shared memory.
struct child_report {
    bool can_open, detected, read, damaged;
    char wrong[200];
};

class rot : public testing::Test {
  protected:
    temporary_directory directory_;
    std::string bytes_;
    answers expected_;
    child_report* report_ = static_cast<child_report*>(::mmap(
        nullptr, sizeof(child_report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    std::mt19937_64 random_{7};

    void SetUp() override {
        {
            auto const store = open_store(directory_.path());
            fill(*store, static_cast<unsigned>(users));
            one(*store, {.action = put_event_secret{.source = "shop",
                                                    .format = model::event_format::github,
                                                    .secret = base::secret("0123456789abcdef")}});
            expect_sound(*store);
            expected_ = questions(*store).all();
            for (auto const& [question, answer] : expected_)
                ASSERT_NE(answer, damaged_answer) << question;
        }
        std::ifstream file(path(), std::ios::binary);
        bytes_.assign(std::istreambuf_iterator<char>(file), {});
    }
    void TearDown() override { ::munmap(report_, sizeof(child_report)); }
    std::string path() const { return directory_.path() + "/store.mdb"; }

    // Runs a child process over the store with one byte changed. Returns its signal, or 0.
    int check_changed_byte(std::size_t offset, unsigned char change) {
        std::filesystem::remove(path() + "-lock");
        auto copy = bytes_;
        copy[offset] = static_cast<char>(copy[offset] ^ change);
        std::ofstream(path(), std::ios::binary) << copy;
        *report_ = {};
        pid_t const child = ::fork();
        if (child == 0) report_and_exit();
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    }
    [[noreturn]] void report_and_exit() {
        ::close(STDERR_FILENO);
        auto const store = environment::open({.directory = directory_.path(), .read_only = true});
        report_->can_open = store.has_value();
        if (!store) ::_exit(0);
        report_->detected =
            !check_consistency(**store).empty() || !verify_audit(**store).wrong.empty();
        for (auto const& [question, answer] : questions(**store).all()) {
            report_->damaged |= answer == damaged_answer;
            if (answer == damaged_answer || answer == expected_.at(question)) continue;
            auto const text = question + ": " + answer.substr(0, 80);
            text.copy(report_->wrong, sizeof report_->wrong - 1);
        }
        report_->read = true;
        ::_exit(0);
    }
    std::size_t rounds() const {
        auto const* const text = std::getenv("ROT_BYTES");
        return text != nullptr ? std::strtoull(text, nullptr, 10) : 250;
    }
    // The offsets of the bytes of all keys and values.
    std::vector<std::size_t> bytes_of_records();
};

std::vector<std::size_t> rot::bytes_of_records() {
    std::vector<std::size_t> all;
    std::ofstream(path(), std::ios::binary) << bytes_;
    auto const store = open_store(directory_.path());
    auto& native = store->native();
    MDB_txn* txn = nullptr;
    EXPECT_EQ(::mdb_txn_begin(native.env, nullptr, MDB_RDONLY, &txn), 0);
    tree_reader const reader(bytes_, native.page_bytes);
    auto const add = [&](std::string_view part) {
        auto const begin = static_cast<std::size_t>(part.data() - bytes_.data());
        for (std::size_t i = 0; i < part.size(); ++i) all.push_back(begin + i);
    };
    for (std::string const title : table_names) {
        auto key = val_of(title);
        MDB_val value;
        EXPECT_EQ(::mdb_get(txn, native.main, &key, &value), 0);
        reader.read(
            decode_tree_root(view_of(value)).value(),
            [&](auto name, auto content) { add(name), add(content.value_or("")); },
            [](auto page, auto) { ADD_FAILURE() << "page " << page; });
    }
    ::mdb_txn_abort(txn);
    return all;
}

TEST_F(rot, of_a_record_is_detected_and_gives_no_wrong_answer) {
    auto const offsets = bytes_of_records();
    ASSERT_GT(offsets.size(), 30'000u);
    std::size_t killed = 0, damaged = 0;
    for (std::size_t round = 0; round < rounds(); ++round) {
        auto const offset = offsets[random_() % offsets.size()];
        auto const change = static_cast<unsigned char>(1u << random_() % 8);
        int const status = check_changed_byte(offset, change);
        SCOPED_TRACE("byte " + std::to_string(offset) + " ^ " + std::to_string(change));
        if (!report_->can_open) continue;
        EXPECT_TRUE(report_->detected);
        EXPECT_STREQ(report_->wrong, "");
        killed += status != 0;
        damaged += report_->damaged;
    }
    EXPECT_EQ(killed, 0u);
    EXPECT_GT(damaged, rounds() / 2);
}

TEST_F(rot, of_any_byte_gives_no_wrong_answer) {
    std::size_t killed = 0, refused = 0;
    for (std::size_t round = 0; round < rounds(); ++round) {
        // The two meta pages at the beginning are not checked: they tell which of two states is the
        // last.
        auto const offset = 2 * 4096 + random_() % (bytes_.size() - 2 * 4096);
        auto const change = static_cast<unsigned char>(1u << random_() % 8);
        int const status = check_changed_byte(offset, change);
        SCOPED_TRACE("byte " + std::to_string(offset) + " ^ " + std::to_string(change));
        refused += !report_->can_open && status == 0;
        killed += status != 0;
        EXPECT_STREQ(report_->wrong, "");
    }
    std::printf("of %zu bytes %zu kept the store from being opened, %zu ended the process\n",
                rounds(), refused, killed);
}

}  // namespace
}  // namespace latchkey::store
