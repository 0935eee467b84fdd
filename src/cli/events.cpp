// latchkey events secret: sets, shows and removes what an external service signs its events with.
// A secret that is supplied is read from a file or standard input: the arguments of a command are
// there for every process to see.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "api/event_secret_json.hpp"
#include "api/key_body.hpp"
#include "auth/signature.hpp"
#include "base/log.hpp"
#include "cli/keys.hpp"
#include "store/snapshot.hpp"

namespace latchkey::cli {
namespace {

struct secret_options : key_command {
    std::string source;
    std::string format = "standard";
    std::string secret_file;
    std::string overlap = "0s";

    void add_to(CLI::App& command) {
        key_command::add_to(command);
        command.add_option("SOURCE", source, "The source's name, as in POST /events/SOURCE")
            ->required()
            ->check([](std::string const& text) {
                return model::is_event_source(text)
                           ? std::string()
                           : "a source is 1 to 32 of a-z, 0-9 and -, the first a letter";
            });
    }
};

// What the file holds, without the end of its line.
base::result<base::secret> read_secret(std::string const& path) {
    std::ifstream file;
    if (path != "-") file.open(path, std::ios::binary);
    auto& from = path == "-" ? std::cin : file;
    std::string text(base::secret::bytes_max + 2, '\0');  // in place: growing leaves copies behind
    if (from) from.read(text.data(), static_cast<std::streamsize>(text.size()));
    bool const failed = from.bad() || (path != "-" && !file.is_open());
    auto size = static_cast<std::size_t>(from.gcount());
    if (size != 0 && text[size - 1] == '\n') --size;
    if (size != 0 && text[size - 1] == '\r') --size;
    base::result<base::secret> made = base::error{"the secret cannot be read from " + path};
    if (!failed && size > base::secret::bytes_max)
        made = base::error{"the secret has more than 256 bytes"};
    else if (!failed)
        made = base::secret(std::string_view(text).substr(0, size));
    base::wipe(text.data(), text.size());
    return made;
}

// Which secret the options mean; a sentence when they mean none.
base::result<store::put_event_secret> describe(secret_options const& options) {
    store::put_event_secret put{.source = options.source};
    auto const format = model::find_event_format(options.format);
    if (!format) return base::error{"--format must be standard, github or stripe"};
    put.format = *format;
    auto const seconds = base::parse_duration(options.overlap);
    if (!seconds || *seconds < 0 || *seconds > api::overlap_seconds_max)
        return base::error{"--overlap must be 0 to 48h, such as 24h"};
    put.overlap_ms = *seconds * 1000;
    put.shown = options.secret_file.empty();
    if (put.shown) {
        put.secret = auth::make_event_secret(*format);
        return put;
    }
    auto const supplied = read_secret(options.secret_file);
    if (!supplied) return supplied.error();
    put.secret = *supplied;
    auto const no = auth::objection_to_secret(*format, put.secret.text());
    if (!no.empty()) return base::error{"the secret " + std::string(no)};
    return put;
}

int set(secret_options const& options) {
    auto const put = describe(options);
    if (!put) return say_wrong(put.error().message);
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return code;
    auto const outcome = apply_one(*store, *put);
    if (!outcome) return say_failed("the secret was not set: " + outcome.error().message);
    auto const& kept = std::get<store::kept_secret>(outcome->record);
    if (options.json) {
        std::string document;
        api::append_kept_secret(document, kept);
        std::printf("%s\n", document.c_str());
        base::wipe(document.data(), document.size());
        return done;
    }
    base::say("the source " + options.source + " must sign from now on, in the format " +
              options.format);
    if (!put->shown) return done;
    base::say("its secret is shown this once:");
    std::printf("%.*s\n", static_cast<int>(kept.shown.text().size()), kept.shown.text().data());
    return done;
}

int show(secret_options const& options) {
    int code = done;
    auto const store = open_store(options, code, true);
    if (store == nullptr) return code;
    store::snapshot seen(*store);
    seen.renew();
    auto const secrets = seen.event_secrets(options.source, base::read_clocks().wall);
    if (seen.damaged())
        return say_failed("the secret of the source " + options.source +
                          " cannot be read (was master.key replaced?); set it again");
    if (!secrets) return say_failed("the source " + options.source + " has no secret");
    if (options.json) {
        std::string document;
        api::append_event_secrets(document, options.source, *secrets);
        std::printf("%s\n", document.c_str());
        return done;
    }
    auto const until = secrets->previous ? secrets->previous->ends_at : 0;
    print_table({{"SOURCE", "FORMAT", "SINCE", "THE ONE BEFORE SIGNS UNTIL"},
                 {options.source, std::string(model::name_of(secrets->current.format)),
                  shown_time(secrets->current.created_at, "-"), shown_time(until, "-")}});
    return done;
}

int remove(secret_options const& options) {
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return code;
    auto const outcome = apply_one(*store, store::delete_event_secret{options.source});
    if (!outcome) return say_failed("the secret was not removed: " + outcome.error().message);
    if (options.json)
        std::printf("{\"source\":\"%s\",\"deleted\":true}\n", options.source.c_str());
    else
        base::say("events of the source " + options.source + " need no signature any more");
    return done;
}

}  // namespace

void add_events(CLI::App& program, int& code) {
    auto* const events =
        program.add_subcommand("events", "Manage the sources of events from outside");
    events->require_subcommand(1);
    auto* const secret = events->add_subcommand(
        "secret", "Manage what a source signs its events with; works while the service runs");
    secret->require_subcommand(1);

    auto* const setting = secret->add_subcommand(
        "set", "Set or replace a source's secret; one that is made here is shown, once");
    auto const how = std::make_shared<secret_options>();
    how->add_to(*setting);
    setting->add_option("--format", how->format, "standard (Standard Webhooks), github or stripe")
        ->capture_default_str();
    setting
        ->add_option("--secret-file", how->secret_file,
                     "File with the secret that the source assigned; - is standard input (one is "
                     "made unless given)")
        ->type_name("FILE");
    setting
        ->add_option("--overlap", how->overlap,
                     "How long the secret that is replaced still signs, 0 to 48h")
        ->capture_default_str();
    setting->footer("Example: latchkey events secret set github --format github --secret-file -");
    setting->callback([how, &code] { code = set(*how); });

    auto* const showing = secret->add_subcommand("show", "Show a source's format, not its secret");
    auto const which = std::make_shared<secret_options>();
    which->add_to(*showing);
    showing->footer("Example: latchkey events secret show github");
    showing->callback([which, &code] { code = show(*which); });

    auto* const removing = secret->add_subcommand("delete", "Remove a source's secret");
    auto const whose = std::make_shared<secret_options>();
    whose->add_to(*removing);
    removing->footer("Example: latchkey events secret delete github");
    removing->callback([whose, &code] { code = remove(*whose); });
}

}  // namespace latchkey::cli
