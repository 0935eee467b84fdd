// latchkey events secret: sets, shows and deletes the secrets with which external services sign
// their events. A supplied secret is read from a file or standard input, because every process can
// see the arguments of a command.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "api/resources/event_secret_json.hpp"
#include "auth/signature.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "cli/print.hpp"
#include "cli/store_command.hpp"
#include "store/snapshot.hpp"

namespace latchkey::cli {
namespace {

struct secret_options : store_command {
    std::string source;
    std::string format = "standard";
    std::string secret_file;
    std::string overlap = "0s";

    void add_to(CLI::App& command) {
        store_command::add_to(command);
        command.add_option("SOURCE", source, "The source's name, as in POST /events/SOURCE")
            ->required()
            ->check([](std::string const& text) {
                return model::is_event_source(text)
                           ? std::string()
                           : "a source is 1 to 32 of a-z, 0-9 and -, the first a letter";
            });
    }
};

// The file's content without its line end.
base::result<base::secret> read_secret(std::string const& path) {
    std::ifstream file;
    if (path != "-") file.open(path, std::ios::binary);
    auto& input = path == "-" ? std::cin : file;
    std::string text(base::secret::bytes_max + 2,
                     '\0');  // at once, since growing would leave copies in memory
    if (input) input.read(text.data(), static_cast<std::streamsize>(text.size()));
    bool const failed = input.bad() || (path != "-" && !file.is_open());
    auto size = static_cast<std::size_t>(input.gcount());
    if (size != 0 && text[size - 1] == '\n') --size;
    if (size != 0 && text[size - 1] == '\r') --size;
    base::result<base::secret> result = base::error{"the secret cannot be read from " + path};
    if (!failed && size > base::secret::bytes_max)
        result = base::error{"the secret has more than 256 bytes"};
    else if (!failed)
        result = base::secret(std::string_view(text).substr(0, size));
    base::wipe(text.data(), text.size());
    return result;
}

// The request that the options describe; the error is a sentence.
base::result<store::put_event_secret> describe(secret_options const& options) {
    store::put_event_secret request{.source = options.source};
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
    auto const supplied = read_secret(options.secret_file);
    if (!supplied) return supplied.error();
    request.secret = *supplied;
    auto const fault = auth::secret_fault(*format, request.secret.text());
    if (!fault.empty()) return base::error{"the secret " + std::string(fault)};
    return request;
}

int set(secret_options const& options) {
    auto const request = describe(options);
    if (!request) return report_usage_error(request.error().message);
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return code;
    auto const outcome = apply_one(*store, *request);
    if (!outcome) return report_failure("the secret was not set: " + outcome.error().message);
    auto const& secret_record = std::get<store::secret_result>(outcome->record);
    if (options.json) {
        std::string document;
        api::append_kept_secret(document, secret_record);
        std::printf("%s\n", document.c_str());
        base::wipe(document.data(), document.size());
        return done;
    }
    base::log("the source " + options.source + " must sign its events from now on, in the format " +
              options.format);
    if (!request->reveal) return done;
    base::log("this is the only time its secret is shown:");
    std::printf("%.*s\n", static_cast<int>(secret_record.secret.text().size()),
                secret_record.secret.text().data());
    return done;
}

int show(secret_options const& options) {
    int code = done;
    auto const store = open_store(options, code, store_access::reads);
    if (store == nullptr) return code;
    store::snapshot snapshot(*store);
    snapshot.renew();
    auto const secrets = snapshot.event_secrets(options.source, snapshot.time());
    if (snapshot.damaged())
        return report_failure("the secret of the source " + options.source +
                              " cannot be read (was master.key replaced?): set it again with "
                              "latchkey events secret set");
    if (!secrets) return report_failure("the source " + options.source + " has no secret");
    if (options.json) {
        std::string document;
        api::append_event_secrets(document, options.source, *secrets);
        std::printf("%s\n", document.c_str());
        return done;
    }
    auto const previous_end = secrets->previous ? secrets->previous->ends_at : 0;
    print_table({{"SOURCE", "FORMAT", "SINCE", "PREVIOUS SECRET VALID UNTIL"},
                 {options.source, std::string(model::name_of(secrets->current.format)),
                  format_time(secrets->current.created_at, "-"), format_time(previous_end, "-")}});
    return done;
}

int remove(secret_options const& options) {
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return code;
    auto const outcome = apply_one(*store, store::delete_event_secret{options.source});
    if (!outcome) return report_failure("the secret was not deleted: " + outcome.error().message);
    if (options.json)
        std::printf("{\"source\":\"%s\",\"deleted\":true}\n", options.source.c_str());
    else
        base::log("events of the source " + options.source +
                  " are accepted without a signature from now on");
    return done;
}

}  // namespace

void add_events(CLI::App& program, int& code) {
    auto* const events = program.add_subcommand("events", "Manage the sources of external events");
    events->require_subcommand(1);
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
