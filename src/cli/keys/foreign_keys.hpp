// Keys in the exports of other systems, as lines of `keys import` (api.md §4). What has no
// counterpart here becomes a remark. Plain keys are hashed where they are read. Values; any thread.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.hpp"
#include "cli/frame/body.hpp"
#include "cli/frame/json.hpp"
#include "model/key.hpp"

namespace latchkey::cli {

struct foreign_key {
    std::string title;  // what the export calls it, for messages
    std::string line;   // as `keys import` reads it
};

struct foreign_export {
    std::vector<foreign_key> keys;
    std::vector<std::string> remarks;  // what could not be taken over, a sentence each
    std::size_t refusals = 0;          // keys among that
};

// Settings that the user chose for all keys, since other systems have no counterpart of them.
struct foreign_choice {
    std::vector<std::string> scopes;  // empty: those of a new key
    std::string project, environment;
};

enum class foreign_system : std::uint8_t { unkey, kong, apisix };

// `text` is the export, in JSON. The error is a sentence.
base::result<foreign_export> read_foreign_keys(foreign_system system, std::string_view text,
                                               foreign_choice const& choice);

// ---- for the readers of each system

// The key that is being read, and what is said about it.
class foreign_reader {
  public:
    foreign_reader(foreign_export& result, foreign_choice const& choice)
        : result_(result), choice_(choice) {}

    struct limit {
        std::string name;
        std::int64_t count = 0, window_seconds = 0;
    };
    struct record {
        std::string title, name;
        std::optional<model::digest> digest;
        std::string expires_at;  // a timestamp; empty: never
        std::vector<limit> limits;
        std::vector<std::pair<std::string, std::string>> metadata;
    };
    // Takes it over, with the limits of a new key where it has none.
    void add(record const& record);
    void remark(std::string const& title, std::string const& sentence);
    // The key itself is not taken over.
    void refuse(std::string const& title, std::string const& sentence);
    // The digest of a plain key; nullopt: no client can present such a key here (refused).
    std::optional<model::digest> digest_of(std::string const& title, std::string_view key);

  private:
    foreign_export& result_;
    foreign_choice const& choice_;
    std::unordered_set<std::string> sentences_;
};

// `place`: where in the file it is, for messages ("line 3").
void read_unkey(json_object const& source, std::string const& place, foreign_reader& reader);
void read_kong(json_object const& document, foreign_reader& reader);
void read_apisix(json_object const& document, foreign_reader& reader);

}  // namespace latchkey::cli
