// webhooks test, webhooks replay: what a running service then sends.
#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <cstdio>

#include "api/frame/json/json_writer.hpp"
#include "api/webhooks/webhook_body.hpp"
#include "api/webhooks/webhook_json.hpp"
#include "base/limits.hpp"
#include "base/system/log.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/standard_output.hpp"
#include "cli/frame/time_option.hpp"
#include "cli/frame/whole_number.hpp"
#include "cli/webhooks/webhooks.hpp"

namespace latchkey::cli {
namespace {

struct replay_options : webhook_command {
    std::vector<model::id> sequences;
    model::id from_sequence = 0, to_sequence = 0;
    std::string begin, end;
};

answer_of<std::string> test_here(webhook_command const& options) {
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return refusal{{}, code};
    auto const outcome = apply_one(*store, domain::test_webhook{options.id});
    if (!outcome) return outcome.error();
    std::string document;
    api::append_test(document, std::get<domain::webhook_outcome>(outcome->record), outcome->time);
    return document;
}

int test(webhook_command const& options) {
    auto const document = options.is_remote()
                              ? options.ask("POST", webhook_path(options.id, "/test"))
                              : test_here(options);
    if (!document) return report(document.error());
    auto const id = std::to_string(options.id);
    note_outcome("a test is sent to webhook " + id);
    if (options.json)
        std::printf("%s\n", document->c_str());
    else
        base::log("the change " + text_of(parse_object(*document).value(), "sequence") +
                  " is sent to webhook " + id +
                  " while a service runs: latchkey webhooks deliveries " + id +
                  " shows what became of it");
    return done;
}

// The body that the options stand for.
void describe(replay_options const& options, json_members& body) {
    if (!options.sequences.empty()) {
        auto& output = body.name("sequences");
        api::append_array(output, options.sequences,
                          [&](model::id each) { api::append_number(output, each); });
    }
    if (options.from_sequence != 0)
        api::append_number(body.name("from_sequence"), options.from_sequence);
    if (options.to_sequence != 0) api::append_number(body.name("to_sequence"), options.to_sequence);
    if (!options.begin.empty()) body.text("from", options.begin);
    if (!options.end.empty()) body.text("to", options.end);
}

answer_of<std::string> replay_here(replay_options const& options, std::string_view body) {
    http::request request;
    request.body = body;
    std::vector<base::fault> faults;
    auto replay = api::read_replay(request, faults);
    if (!replay) return refusal{error_text(replay.error()), usage_error};
    if (!faults.empty()) return refusal{fault_text(faults), usage_error};
    replay->id = options.id;
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return refusal{{}, code};
    auto const outcome = apply_one(*store, std::move(*replay));
    if (!outcome) return outcome.error();
    auto const& result = std::get<domain::webhook_outcome>(outcome->record);
    return "{\"from_sequence\":" + std::to_string(result.first) +
           ",\"to_sequence\":" + std::to_string(result.last) + "}";
}

int replay(replay_options const& options) {
    json_members body;
    describe(options, body);
    auto const text = body.end();
    auto const document = options.is_remote()
                              ? options.ask("POST", webhook_path(options.id, "/replay"), text)
                              : replay_here(options, text);
    if (!document) return report(document.error());
    note_outcome("the changes are sent again to webhook " + std::to_string(options.id));
    if (options.json) {
        std::printf("%s\n", document->c_str());
        return done;
    }
    auto const range = parse_object(*document).value();
    base::log("the changes from " + text_of(range, "from_sequence") + " to " +
              text_of(range, "to_sequence") + " that it has types for are sent again");
    return done;
}

void add_replay(CLI::App& webhooks, int& code) {
    auto* const command = webhooks.add_subcommand("replay", "Send changes to a webhook again");
    auto const options = std::make_shared<replay_options>();
    options->add_id(*command);
    options->add_to(*command);
    take_number(command->add_option("--sequence", options->sequences,
                                    "A change; repeat for more, at most 100"),
                1, base::limits::id_max)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    take_number(
        command->add_option("--from-sequence", options->from_sequence, "The first of a range"), 1,
        base::limits::id_max);
    take_number(command->add_option("--to-sequence", options->to_sequence,
                                    "The last of the range (default: the last change)"),
                1, base::limits::id_max);
    take_time(command->add_option("--from", options->begin,
                                  "Changes at or after this time, such as 2026-01-02T03:04:05Z or "
                                  "2026-01-02"));
    take_time(command->add_option("--to", options->end, "Changes before this time (default: all)"));
    command->footer(
        "Give --sequence, --from-sequence or --from. What the webhook has types for is sent "
        "again,\n"
        "also what was delivered, under the same webhook-id: a receiver that remembers those ids\n"
        "takes only what it has not seen.\n"
        "Example: latchkey webhooks replay 3 --from 2026-01-02T00:00:00Z");
    command->callback([options, &code] { code = replay(*options); });
}

}  // namespace

void add_webhooks_send(CLI::App& webhooks, int& code) {
    auto* const command = webhooks.add_subcommand("test", "Send a test to a webhook");
    auto const options = std::make_shared<webhook_command>();
    options->add_id(*command);
    options->add_to(*command);
    command->footer(
        "Sends the change webhook.test, and once it was delivered, what waits for an attempt.\n"
        "Example: latchkey webhooks test 3");
    command->callback([options, &code] { code = test(*options); });
    add_replay(webhooks, code);
}

}  // namespace latchkey::cli
