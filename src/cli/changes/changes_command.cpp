// latchkey changes: prints what has happened, and follows it.
#include "cli/changes/changes_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/object.hpp>
#include <charconv>
#include <cstdio>

#include "api/frame/change_json.hpp"
#include "base/limits.hpp"
#include "base/visible.hpp"
#include "cli/changes/events.hpp"
#include "cli/frame/followed_output.hpp"
#include "cli/frame/print.hpp"
#include "cli/frame/whole_number.hpp"
#include "domain/changes/change_types.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::cli {
namespace {

constexpr std::size_t changes_per_part = 1000;
constexpr std::size_t bytes_per_part = 1024 * 1024;
constexpr int look_every_ms = 200;

constexpr std::size_t type_width = 20;

// Reads in parts, so that a slow reader of the output keeps no snapshot open.
class change_printer {
  public:
    change_printer(store::environment& store, changes_options const& options,
                   domain::change_types types)
        : snapshot_(store), options_(options), types_(types), left_(options.limit) {}

    // An exit code; -1: it begins.
    int begin(bool is_node);
    int run();

  private:
    // Reads a part into `text_`; false: there was none, or an error (`code_`).
    bool read();
    int fail_expired(model::id oldest) {
        return report_failure("changes_expired: changes after " + std::to_string(position_) +
                              " are not kept any more, the oldest is " + std::to_string(oldest) +
                              ". Read the records anew, then go on with --after " +
                              std::to_string(oldest - 1));
    }
    bool is_done() const { return options_.limit != 0 && left_ == 0; }

    domain::snapshot snapshot_;
    changes_options const& options_;
    domain::change_types types_;
    std::uint64_t left_;
    model::id position_ = 0;
    std::string text_, document_;
    int code_ = done;
};

int change_printer::begin(bool is_node) {
    snapshot_.renew();
    auto const bounds = snapshot_.changes();
    snapshot_.reset();
    position_ = bounds.oldest == 0 ? 0 : bounds.oldest - 1;
    if (options_.start == "latest")
        position_ = bounds.last;
    else if (!options_.start.empty())
        std::from_chars(options_.start.data(), options_.start.data() + options_.start.size(),
                        position_);
    // Another node may have more of a cluster's changes than this one.
    if (position_ <= bounds.last || is_node) return -1;
    return report_usage_error("there is no change " + std::to_string(position_) +
                              " yet: the last one is " + std::to_string(bounds.last));
}

bool change_printer::read() {
    text_.clear();
    snapshot_.renew();
    auto const bounds = snapshot_.changes();
    auto const begin = position_;
    if (position_ + 1 < bounds.oldest) {
        code_ = fail_expired(bounds.oldest);
    } else {
        std::size_t count = 0;
        snapshot_.changes_after(position_, [&](domain::change_view const& change) {
            if (is_done() || ++count > changes_per_part || text_.size() >= bytes_per_part)
                return false;
            position_ = change.sequence;
            if (!types_.has(change.type)) return true;
            if (left_ != 0) --left_;
            document_.clear();
            api::append_change(document_, change);
            text_ +=
                options_.json ? document_ + "\n" : change_line(parse_object(document_).value());
            return true;
        });
        if (snapshot_.damaged()) code_ = report_damage();
    }
    snapshot_.reset();
    return code_ == done && position_ != begin;
}

int change_printer::run() {
    for (;;) {
        while (!is_interrupted() && read())
            if (!write_followed(text_)) return end_of_output();
        if (code_ != done) return code_;
        if (is_interrupted()) return interrupted;
        if (!options_.follow || is_done()) return done;
        if (!wait_for_more(look_every_ms)) return end_of_output();
    }
}

std::string check_after(std::string const& text) {
    auto const sequence = parse_whole_number(text);
    bool const is_sequence = sequence && *sequence <= base::limits::id_max;
    return is_sequence || text == "latest" ? std::string() : "must be a sequence or latest";
}

int print_changes(changes_options const& options) {
    domain::change_types types;
    if (options.types.empty()) types = domain::change_types::all();
    for (auto const& each : options.types)
        if (!types.add(each))
            return report_usage_error("there is no type '" + each +
                                      "': use a type such as user.created, user.* or *");
    note_interrupts();
    if (options.is_remote()) return print_changes_elsewhere(options);
    int code = done;
    server::config configuration;
    auto const store = open_store(options, code, store_access::reads, &configuration);
    if (store == nullptr) return code;
    if (!configuration.changes_enabled)
        return report_failure("changes are not recorded here: the setting changes is false");
    change_printer printer(*store, options, types);
    if (int const refusal = printer.begin(store->node().has_value()); refusal != -1) return refusal;
    return printer.run();
}

}  // namespace

std::string change_line(json_object const& change) {
    auto type = text_of(change, "type");
    auto const& record = object_of(change, "data");
    auto subject = type.substr(0, type.find('.')) + ' ' + text_of(record, "id");
    if (type.starts_with("event_secret.")) subject = "source " + text_of(record, "source", "?");
    type.resize(std::max(type.size(), type_width), ' ');
    auto const key = text_of(change, "key_id");
    return text_of(change, "sequence") + "  " + time_of(change, "occurred_at") + "  " +
           base::visible(type) + "  " + base::visible(subject) +
           (key.empty() ? "" : "  by key " + key) + "\n";
}

void add_changes(CLI::App& program, int& code) {
    auto* const command =
        program.add_subcommand("changes", "Print what has happened, and follow what happens");
    auto const options = std::make_shared<changes_options>();
    options->add_to(*command);
    command->get_option("--json")->description(
        "Print each change as a line of JSON, as GET /changes shows it");
    command
        ->add_option(
            "--after", options->start,
            "Only changes beyond this sequence; latest: beyond the last (default: all that "
            "are kept)")
        ->check(check_after);
    command
        ->add_option("--type", options->types,
                     "Only changes of this type, such as user.created or user.*; repeat for more")
        ->delimiter(',')
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    take_number(command->add_option("--limit", options->limit, "End after so many changes"), 1,
                base::limits::id_max);
    command->add_flag("--follow", options->follow, "Wait for more, until interrupted");
    command->footer(
        "The first number of a line is the sequence: go on later with --after and the last one "
        "that\n"
        "you have. Changes are kept for changes.retention_days; what is asked for and gone is an\n"
        "error that names the oldest. Exit code 130 after SIGINT.\n"
        "Example: latchkey changes --after latest --follow --type 'key.*'");
    command->callback([options, &code] { code = print_changes(*options); });
}

}  // namespace latchkey::cli
