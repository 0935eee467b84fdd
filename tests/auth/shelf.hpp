// A store in a temporary directory, and keys in it, for tests. Gone with its object.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "auth/key_form.hpp"
#include "base/check.hpp"
#include "store/writer.hpp"

namespace latchkey::auth {

class shelf {
  public:
    // `wall`: the clock of what is written, as in store::options; null: the machine's.
    explicit shelf(std::int64_t (*wall)() = nullptr) {
        std::string name = (std::filesystem::temp_directory_path() / "auth-test-XXXXXX").string();
        base::check(mkdtemp(name.data()) != nullptr, "no temporary directory");
        path_ = name;
        store_ = store::environment::open(
                     {.directory = path_, .map_bytes = 64u << 20, .sync = false, .wall = wall})
                     .value();
    }
    ~shelf() {
        store_.reset();
        std::filesystem::remove_all(path_);
    }

    // Puts a key of that text into the store, as another user of it would.
    model::key add(std::string_view text, model::key record = {}) {
        record.digest = digest_of(text);
        record.name = record.name.empty() ? "a key" : record.name;
        std::vector<store::command> commands(1);
        commands[0].what = store::create_key{std::move(record)};
        auto done = store::apply(*store_, std::move(commands)).value();
        base::check(done[0].problem == base::problem::none, "a key was not stored");
        return std::get<model::key>(done[0].record);
    }
    std::string add_fresh(model::key record = {}) {
        fresh_key const made("lkey");
        record.start = made.text().substr(0, 8);
        record.last4 = made.text().substr(key_bytes - 4);
        add(made.text(), std::move(record));
        return std::string(made.text());
    }
    store::environment& store() { return *store_; }

  private:
    std::string path_;
    std::unique_ptr<store::environment> store_;
};

// Of the right form, and nobody has it.
inline std::string unknown_key() {
    return std::string(fresh_key("lkey").text());
}

}  // namespace latchkey::auth
