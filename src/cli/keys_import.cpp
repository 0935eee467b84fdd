// keys import: an installed base of keys moves in by its SHA-256 digests, whatever the form of its
// keys. One JSON object a line; wrong lines are told by number, and the others are kept.
#include <cstdio>
#include <fstream>
#include <iostream>

#include "api/key_body.hpp"
#include "base/log.hpp"
#include "cli/keys.hpp"

namespace latchkey::cli {
namespace {

constexpr std::size_t lines_per_transaction = 64;
constexpr std::size_t line_bytes_max = 64 * 1024;

struct import_options : key_command {
    std::string file;
};

// Lines that are read and checked before a transaction begins, so that none waits for input.
class importer {
  public:
    explicit importer(store::environment& into) : into_(into) {}

    base::result<void> run(std::istream& from);
    std::size_t kept() const { return kept_; }
    std::vector<std::pair<std::size_t, std::string>> const& wrong() const { return wrong_; }

  private:
    void take(std::string const& line, base::wall_ms now);
    base::result<void> flush();

    store::environment& into_;
    std::vector<store::command> commands_;
    std::vector<std::size_t> numbers_;  // the line of each
    std::size_t number_ = 0, kept_ = 0;
    std::vector<std::pair<std::size_t, std::string>> wrong_;
};

base::result<void> importer::run(std::istream& from) {
    auto const now = base::read_clocks().wall;
    for (std::string line; std::getline(from, line);) {
        ++number_;
        if (line.find_first_not_of(" \t\r") != line.npos) take(line, now);
        if (commands_.size() < lines_per_transaction) continue;
        if (auto const kept = flush(); !kept) return kept;
    }
    if (from.bad()) return base::error{"the file cannot be read to its end"};
    return flush();
}

void importer::take(std::string const& line, base::wall_ms now) {
    if (line.size() > line_bytes_max) return wrong_.emplace_back(number_, "it is too long"), void();
    api::key_defaults from{.now = now};
    from.scopes.add(model::scope::users_read);
    from.scopes.add(model::scope::posts_read);
    auto record = api::read_import(line, from);
    if (!record) return wrong_.emplace_back(number_, record.error().message), void();
    commands_.push_back({.what = store::create_key{std::move(*record)}});
    numbers_.push_back(number_);
}

base::result<void> importer::flush() {
    if (commands_.empty()) return {};
    auto const outcomes = store::apply(into_, std::move(commands_));
    commands_.clear();
    if (!outcomes) return outcomes.error();
    for (std::size_t i = 0; i < outcomes->size(); ++i) {
        auto const& each = (*outcomes)[i];
        if (each.problem == base::problem::none)
            ++kept_;
        else
            wrong_.emplace_back(
                numbers_[i], each.faults.empty() ? sentence_of(each) : each.faults.front().detail);
    }
    numbers_.clear();
    return {};
}

int import(import_options const& options) {
    std::ifstream file;
    if (options.file != "-") file.open(options.file);
    if (options.file != "-" && !file) return say_failed("cannot open " + options.file);
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return code;
    importer all(*store);
    auto const read = all.run(options.file == "-" ? std::cin : file);
    for (auto const& [number, why] : all.wrong())
        base::say(base::severity::warning, "line " + std::to_string(number) + ": " + why);
    if (options.json)
        std::printf("{\"imported\":%zu,\"refused\":%zu}\n", all.kept(), all.wrong().size());
    else
        base::say(std::to_string(all.kept()) + " keys imported, " +
                  std::to_string(all.wrong().size()) + " lines refused");
    if (!read) return say_failed(read.error().message);
    return all.wrong().empty() ? done : failed;
}

}  // namespace

void add_keys_import(CLI::App& keys, int& code) {
    auto* const command =
        keys.add_subcommand("import", "Take over existing keys by their SHA-256 digests");
    auto const options = std::make_shared<import_options>();
    options->add_to(*command);
    command->add_option("FILE", options->file, "A JSON object on each line; - is standard input")
        ->required();
    command->footer(
        "A line: {\"sha256\": \"<64 hexadecimal digits>\", \"name\": \"shop\", \"scopes\": "
        "[\"users:read\"]}\nwith what else a body of POST /keys may have. Wrong lines are reported "
        "and the others kept; the exit code is 1 then.\n"
        "Example: latchkey keys import digests.ndjson");
    command->callback([options, &code] { code = import(*options); });
}

}  // namespace latchkey::cli
