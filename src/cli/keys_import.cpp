// keys import: takes over existing keys, of any form, by their SHA-256 digests. One JSON object per
// line; invalid lines are reported by number, and the others are imported.
#include <cstdio>
#include <fstream>
#include <iostream>

#include "api/resources/key_body.hpp"
#include "base/log.hpp"
#include "cli/keys.hpp"
#include "cli/store_command.hpp"

namespace latchkey::cli {
namespace {

constexpr std::size_t lines_per_transaction = 64;
constexpr std::size_t line_bytes_max = 64 * 1024;

struct import_options : store_command {
    std::string file;
};

// Reads and checks lines before a transaction begins, so that no transaction waits for input.
class importer {
  public:
    explicit importer(store::environment& target) : store_(target) {}

    base::result<void> run(std::istream& input);
    std::size_t imported() const { return imported_; }
    std::vector<std::pair<std::size_t, std::string>> const& refused_lines() const {
        return refused_lines_;
    }

  private:
    void take(std::string const& line, base::wall_ms now);
    base::result<void> flush();

    store::environment& store_;
    std::vector<store::command> commands_;
    std::vector<std::size_t> line_numbers_;  // the line of each
    std::size_t line_number_ = 0, imported_ = 0;
    std::vector<std::pair<std::size_t, std::string>> refused_lines_;
};

base::result<void> importer::run(std::istream& input) {
    auto const now = store_.time();
    for (std::string line; std::getline(input, line);) {
        ++line_number_;
        if (line.find_first_not_of(" \t\r") != line.npos) take(line, now);
        if (commands_.size() < lines_per_transaction) continue;
        if (auto const outcome = flush(); !outcome) return outcome;
    }
    if (input.bad()) return base::error{"the file cannot be read to its end"};
    return flush();
}

void importer::take(std::string const& line, base::wall_ms now) {
    if (line.size() > line_bytes_max) {
        refused_lines_.emplace_back(line_number_, "it is too long");
        return;
    }
    api::key_defaults defaults{.now = now};
    defaults.scopes.add(model::scope::users_read);
    defaults.scopes.add(model::scope::posts_read);
    auto record = api::read_import(line, defaults);
    if (!record) {
        refused_lines_.emplace_back(line_number_, record.error().message);
        return;
    }
    commands_.push_back({.action = store::create_key{std::move(*record)}});
    line_numbers_.push_back(line_number_);
}

base::result<void> importer::flush() {
    if (commands_.empty()) return {};
    auto const outcomes = store::apply(store_, std::move(commands_));
    commands_.clear();
    if (!outcomes) return outcomes.error();
    for (std::size_t i = 0; i < outcomes->size(); ++i) {
        auto const& each = (*outcomes)[i];
        if (each.problem == base::problem::none)
            ++imported_;
        else
            refused_lines_.emplace_back(line_numbers_[i], each.faults.empty()
                                                              ? message_of(each)
                                                              : each.faults.front().detail);
    }
    line_numbers_.clear();
    return {};
}

int import(import_options const& options) {
    std::ifstream file;
    if (options.file != "-") file.open(options.file);
    if (options.file != "-" && !file) return report_failure("cannot open " + options.file);
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return code;
    importer run(*store);
    auto const read = run.run(options.file == "-" ? std::cin : file);
    for (auto const& [number, message] : run.refused_lines())
        base::log(base::severity::warning, "line " + std::to_string(number) + ": " + message);
    if (options.json)
        std::printf("{\"imported\":%zu,\"refused\":%zu}\n", run.imported(),
                    run.refused_lines().size());
    else
        base::log(std::to_string(run.imported()) + " keys imported, " +
                  std::to_string(run.refused_lines().size()) + " lines refused");
    if (!read) return report_failure(read.error().message);
    return run.refused_lines().empty() ? done : failed;
}

}  // namespace

void add_keys_import(CLI::App& keys, int& code) {
    auto* const command =
        keys.add_subcommand("import", "Take over existing keys by their SHA-256 digests");
    auto const options = std::make_shared<import_options>();
    options->add_to(*command);
    command
        ->add_option("FILE", options->file,
                     "File with one JSON object per line; - is standard input")
        ->required();
    command->footer(
        "A line: {\"sha256\": \"<64 hexadecimal digits>\", \"name\": \"shop\"}\n"
        "and any other member of a body of POST /keys; of a record for tokens \"kind\": \"jwt\",\n"
        "\"issuer\" and \"subject\" instead of \"sha256\". Invalid lines are reported by number,\n"
        "the others are imported, and the exit code is 1. The keys work with the next\n"
        "request.\n"
        "Example: latchkey keys import digests.ndjson");
    command->callback([options, &code] { code = import(*options); });
}

}  // namespace latchkey::cli
