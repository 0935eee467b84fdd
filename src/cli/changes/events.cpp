// latchkey events secret: sets, shows and deletes the secrets with which external services sign
// their events. A supplied secret is read from a file or standard input, because every process can
// see the arguments of a command.
#include "cli/changes/events.hpp"

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <cstdio>

#include "api/events/event_secret_json.hpp"
#include "api/frame/json/effective_time.hpp"
#include "api/frame/json/json_writer.hpp"
#include "auth/signature.hpp"
#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "base/system/log.hpp"
#include "cli/frame/api_command.hpp"
#include "cli/frame/body.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/print.hpp"
#include "cli/frame/secret_file.hpp"
#include "cli/frame/standard_output.hpp"
#include "domain/events/event_lists.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::cli {
namespace {

struct secret_options : api_command {
    std::string source;
    std::string format = "standard";
    std::string secret_file;
    std::string overlap = "0s";

    void add_to(CLI::App& command) {
        api_command::add_to(command);
        command.add_option("SOURCE", source, "The source's name, as in POST /events/SOURCE")
            ->required()
            ->check([](std::string const& text) {
                return model::is_event_source(text)
                           ? std::string()
                           : "a source is 1 to 32 of a-z, 0-9 and -, the first a letter";
            });
    }
};

// The request that the options describe; the error is a sentence.
base::result<domain::put_event_secret> describe(secret_options const& options) {
    domain::put_event_secret request{.source = options.source};
    auto const format = model::find_event_format(options.format);
    if (!format) return base::error{"--format must be standard, github or stripe"};
    request.format = *format;
    auto const seconds = base::parse_duration(options.overlap);
    if (!seconds || *seconds < 0 || *seconds > base::limits::overlap_seconds_max)
        return base::error{"--overlap must be 0 to 48h, such as 24h"};
    request.overlap_ms = *seconds * 1000;
    request.reveal = options.secret_file.empty();
    if (request.reveal) {
        request.secret = auth::make_event_secret(*format);
        return request;
    }
    auto const supplied = read_secret(options.secret_file, "the secret");
    if (!supplied) return supplied.error();
    request.secret = *supplied;
    auto const fault = auth::secret_fault(*format, request.secret.text());
    if (!fault.empty()) return base::error{"the secret " + std::string(fault)};
    return request;
}

std::string secret_path(secret_options const& options) {
    return "/events/" + options.source + "/secret";
}

answer_of<std::string> set_here(secret_options const& options,
                                domain::put_event_secret const& request) {
    int code = done;
    auto const store = open_store(options, code, store_access::makes);
    if (store == nullptr) return refusal{{}, code};
    auto const outcome = apply_one(*store, request);
    if (!outcome) return outcome.error();
    std::string document;
    api::append_kept_secret(document, std::get<domain::secret_result>(outcome->record));
    if (outcome->effective_by != 0)
        api::append_effective_time(document, outcome->effective_by, outcome->effective_in);
    return document;
}

answer_of<std::string> set_elsewhere(secret_options const& options,
                                     domain::put_event_secret const& request) {
    json_members body;
    body.text("format", options.format);
    if (!request.reveal) body.text("secret", request.secret.text());
    api::append_number(body.name("overlap_seconds"), request.overlap_ms / 1000);
    return options.ask("PUT", secret_path(options), body.end());
}

// The message where the secret, or the document of one that was given, cannot be written.
std::string outcome_of(secret_options const& options, bool is_generated) {
    auto const text = "the source " + options.source + " must sign its events from now on";
    if (!is_generated) return text;
    return text + ", with a secret that nobody has: latchkey events secret set " + options.source +
           " --overlap 0s makes another, latchkey events secret delete " + options.source +
           " removes it";
}

int set(secret_options const& options) {
    auto const request = describe(options);
    if (!request) return report_usage_error(request.error().message);
    auto document =
        options.is_remote() ? set_elsewhere(options, *request) : set_here(options, *request);
    if (!document) {
        auto failure = document.error();
        if (!failure.message.empty())
            failure.message = "the secret was not set: " + failure.message;
        return report(failure);
    }
    auto const setting = parse_object(*document).value();
    auto secret = text_of(setting, "secret");
    note_outcome(outcome_of(options, !secret.empty()));
    if (options.json) {
        std::printf("%s\n", document->c_str());
    } else {
        base::log("the source " + options.source +
                  " must sign its events from now on, in the format " + options.format);
        if (!secret.empty()) {
            base::log("this is the only time its secret is shown:");
            std::printf("%s\n", secret.c_str());
        }
    }
    warn_of_delay(setting);
    base::wipe(secret.data(), secret.size());
    base::wipe(document->data(), document->size());
    return done;
}

answer_of<std::string> show_here(secret_options const& options) {
    int code = done;
    auto const store = open_store(options, code, store_access::reads);
    if (store == nullptr) return refusal{{}, code};
    domain::snapshot snapshot(*store);
    snapshot.renew();
    auto const secrets = domain::find_event_secrets(snapshot, options.source, snapshot.time());
    if (snapshot.damaged())
        return refusal{"the secret of the source " + options.source +
                           " cannot be read (was master.key replaced?): set it again with latchkey "
                           "events secret set",
                       failed};
    if (!secrets) return refusal{"the source " + options.source + " has no secret", failed};
    std::string document;
    api::append_event_secrets(document, options.source, *secrets);
    return document;
}

int show(secret_options const& options) {
    auto const document =
        options.is_remote() ? options.ask("GET", secret_path(options)) : show_here(options);
    if (!document) return report(document.error());
    if (options.json) {
        std::printf("%s\n", document->c_str());
        return done;
    }
    auto const secret = parse_object(*document).value();
    print_table({{"SOURCE", "FORMAT", "SINCE", "PREVIOUS SECRET VALID UNTIL"},
                 {text_of(secret, "source"), text_of(secret, "format"),
                  time_of(secret, "created_at"), time_of(secret, "rotation_ends_at")}});
    return done;
}

std::optional<refusal> remove_here(secret_options const& options) {
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return refusal{{}, code};
    auto const outcome = apply_one(*store, domain::delete_event_secret{options.source});
    if (!outcome)
        return refusal{"the secret was not deleted: " + outcome.error().message,
                       outcome.error().code};
    return std::nullopt;
}

int remove(secret_options const& options) {
    if (options.is_remote()) {
        auto const answer = options.ask("DELETE", secret_path(options));
        if (!answer) return report(answer.error());
    } else if (auto const failure = remove_here(options)) {
        return report(*failure);
    }
    note_outcome("the secret of the source " + options.source + " is deleted");
    if (options.json)
        std::printf("{\"source\":\"%s\",\"deleted\":true}\n", options.source.c_str());
    else
        base::log("events of the source " + options.source +
                  " are accepted without a signature from now on");
    return done;
}

}  // namespace

void add_events(CLI::App& program, int& code) {
    auto* const events = program.add_subcommand(
        "events", "Show external events, and manage the secrets of their sources");
    events->require_subcommand(1);
    add_events_list(*events, code);
    auto* const secret = events->add_subcommand(
        "secret", "Set, show and delete the secret of a source, beside a running service");
    secret->require_subcommand(1);

    auto* const set_command = secret->add_subcommand(
        "set", "Set or replace the secret of a source; a generated one is shown once");
    auto const set_options = std::make_shared<secret_options>();
    set_options->add_to(*set_command);
    set_command
        ->add_option("--format", set_options->format,
                     "standard (Standard Webhooks), github or stripe")
        ->type_name("{standard,github,stripe}")
        ->capture_default_str();
    set_command
        ->add_option("--secret-file", set_options->secret_file,
                     "File with the secret that the source assigned; - is standard input (default: "
                     "a generated secret)")
        ->type_name("FILE");
    set_command
        ->add_option("--overlap", set_options->overlap,
                     "How long the replaced secret stays valid, 0 to 48h")
        ->capture_default_str();
    set_command->footer(
        "Events of this source without a valid signature are refused from now on: configure the\n"
        "secret at the source. --overlap keeps a replaced secret valid meanwhile.\n"
        "Example: latchkey events secret set github --format github --secret-file -");
    set_command->callback([set_options, &code] { code = set(*set_options); });

    auto* const show_command = secret->add_subcommand(
        "show", "Show the format and dates of a source's secret, not the secret");
    auto const show_options = std::make_shared<secret_options>();
    show_options->add_to(*show_command);
    show_command->footer("Example: latchkey events secret show github");
    show_command->callback([show_options, &code] { code = show(*show_options); });

    auto* const delete_command = secret->add_subcommand(
        "delete", "Delete a source's secret; its events then need no signature");
    auto const delete_options = std::make_shared<secret_options>();
    delete_options->add_to(*delete_command);
    delete_command->footer("Example: latchkey events secret delete github");
    delete_command->callback([delete_options, &code] { code = remove(*delete_options); });
}

}  // namespace latchkey::cli
