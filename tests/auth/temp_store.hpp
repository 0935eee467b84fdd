// A store in a temporary directory, with keys, for tests. The destructor removes it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "auth/key_form.hpp"
#include "base/check.hpp"
#include "domain/writer.hpp"

namespace latchkey::auth {

class temp_store {
  public:
    // `wall`: the clock of written records, as in store::options; null: the machine's.
    explicit temp_store(std::int64_t (*wall)() = nullptr, std::size_t map_bytes = 64u << 20) {
        std::string name = (std::filesystem::temp_directory_path() / "auth-test-XXXXXX").string();
        base::check(mkdtemp(name.data()) != nullptr, "no temporary directory");
        path_ = name;
        store_ = store::environment::open({.directory = path_,
                                           .map_bytes = map_bytes,
                                           .sync = false,
                                           .records_changes = true,
                                           .wall = wall})
                     .value();
    }
    ~temp_store() {
        store_.reset();
        std::filesystem::remove_all(path_);
    }

    // Creates a key with that text.
    model::key add(std::string_view text, model::key record = {}) {
        record.digest = digest_of(text);
        record.name = record.name.empty() ? "a key" : record.name;
        std::vector<domain::command> commands(1);
        commands[0].action = domain::create_key{std::move(record)};
        auto outcomes = domain::apply(*store_, std::move(commands)).value();
        base::check(outcomes[0].problem == base::problem::none, "a key was not stored");
        return std::get<model::key>(outcomes[0].record);
    }
    std::string add_fresh(model::key record = {}) {
        fresh_key const key("lkey");
        record.start = key.text().substr(0, 8);
        record.last4 = key.text().substr(key_bytes - 4);
        add(key.text(), std::move(record));
        return std::string(key.text());
    }
    store::environment& store() { return *store_; }

  private:
    std::string path_;
    std::unique_ptr<store::environment> store_;
};

// A key of the right form that is in no store.
inline std::string unknown_key() {
    return std::string(fresh_key("lkey").text());
}

}  // namespace latchkey::auth
