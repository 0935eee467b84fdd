#include "server/process/first_key.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "api/keys/key_json.hpp"
#include "auth/key_form.hpp"
#include "base/bytes.hpp"
#include "base/system/log.hpp"
#include "base/system/read_within.hpp"
#include "domain/snapshot.hpp"
#include "domain/writer.hpp"

namespace latchkey::server {
namespace {

constexpr std::string_view white_space = " \t\r\n";

// The text of a key, wiped at the end.
class key_file {
  public:
    ~key_file() { base::wipe(bytes_.data(), bytes_.size()); }

    // ENOENT is no error: then the text is empty.
    base::result<void> read(std::string const& path) {
        auto const file = base::open_to_read(path);
        if (!file.is_open() && errno == ENOENT) return {};
        if (!file.is_open())
            return base::errno_error("keys.first_key_file: cannot read " + path, errno);
        auto const size = base::read_within(file, path, bytes_);
        if (!size) return base::error{"keys.first_key_file: " + size.error().message};
        text_ = {bytes_.data(), *size};
        text_.remove_prefix(std::min(text_.find_first_not_of(white_space), text_.size()));
        text_ = text_.substr(0, text_.find_last_not_of(white_space) + 1);
        if (auth::has_key_form(text_) || auth::has_imported_form(text_)) return {};
        return base::error{
            "keys.first_key_file: " + path +
            " has no key in it: that is 32 to 256 of A-Z, a-z, 0-9 and _.~+/=-, such "
            "as openssl rand -hex 32 makes"};
    }
    std::string_view text() const { return text_; }

  private:
    std::array<char, 1024> bytes_{};
    std::string_view text_;
};

bool has_keys(store::environment& store) {
    domain::snapshot snapshot(store);
    snapshot.renew();
    return snapshot.keys({}, {.limit = 1}, [](model::key const&, base::wall_ms) {}).total != 0;
}

base::result<void> write_key(std::string const& path, std::string_view text) {
    auto const file = base::open_file(path, O_WRONLY | O_CREAT | O_EXCL);
    auto const size = static_cast<ssize_t>(text.size());
    if (!file.is_open() || ::write(file.get(), text.data(), text.size()) != size ||
        ::write(file.get(), "\n", 1) != 1 || ::fsync(file.get()) != 0)
        return base::errno_error("keys.first_key_file: cannot write " + path, errno);
    return {};
}

base::result<void> create(store::environment& store, std::string_view text) {
    model::key record;
    record.name = "first";
    record.scopes.add(model::scope::any);
    record.digest = auth::digest_of(text);
    if (auth::has_key_form(text)) {
        record.start = text.substr(0, api::key_start_bytes);
        record.last4 = text.substr(text.size() - 4);
    }
    std::vector<domain::command> commands(1);
    commands[0].action = domain::create_key{std::move(record)};
    auto const outcomes = domain::apply(store, std::move(commands));
    if (!outcomes) return outcomes.error();
    if (outcomes->front().problem == base::problem::none) return {};
    return base::error{"the first key was not created: " +
                       std::string(base::describe(outcomes->front().problem).title)};
}

}  // namespace

base::result<void> make_first_key(store::environment& store, config const& configuration) {
    auto const& path = configuration.keys_first_key_file;
    if (path.empty() || !configuration.cluster_postgres.empty() || has_keys(store)) return {};
    key_file file;
    if (auto const read = file.read(path); !read) return read;
    if (!file.text().empty()) {
        auto created = create(store, file.text());
        if (created) base::log("created the first key, with all scopes, from " + path);
        return created;
    }
    // Written first: a key that is in the store and nowhere else could never be used.
    auth::fresh_key const key(configuration.keys_prefix);
    if (auto const outcome = write_key(path, key.text()); !outcome) return outcome;
    auto created = create(store, key.text());
    if (created) base::log("created the first key, with all scopes, and wrote it to " + path);
    return created;
}

}  // namespace latchkey::server
