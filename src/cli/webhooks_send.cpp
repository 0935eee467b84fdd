// webhooks test, webhooks replay: what a running service then sends.
#include <cstdio>

#include "api/json/json_writer.hpp"
#include "api/resources/webhook_body.hpp"
#include "api/resources/webhook_json.hpp"
#include "base/log.hpp"
#include "cli/webhooks.hpp"

namespace latchkey::cli {
namespace {

struct replay_options : webhook_command {
    std::vector<model::id> sequences;
    model::id from_sequence = 0, to_sequence = 0;
    std::string begin, end;
};

int test(webhook_command const& options) {
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return code;
    auto const outcome = apply_one(*store, store::test_webhook{options.id});
    if (!outcome) return report_failure(outcome.error().message);
    auto const& result = std::get<store::webhook_outcome>(outcome->record);
    if (!options.json) {
        base::log("the change " + std::to_string(result.sequence) + " is sent to webhook " +
                  std::to_string(options.id) +
                  " while a service runs: latchkey webhooks "
                  "deliveries " +
                  std::to_string(options.id) + " shows what became of it");
        return done;
    }
    std::string document;
    api::append_test(document, result, outcome->time);
    std::printf("%s\n", document.c_str());
    return done;
}

// The body that the options stand for, read as that of a request.
int describe(replay_options const& options, store::replay_webhook& action) {
    json_members body;
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
    http::request request;
    request.body = body.end();
    std::vector<base::fault> faults;
    auto replay = api::read_replay(request, faults);
    if (!replay) return report_usage_error(replay.error().detail);
    if (!faults.empty()) return report_faults(faults);
    action = std::move(*replay);
    action.id = options.id;
    return done;
}

int replay(replay_options const& options) {
    store::replay_webhook action;
    if (int const code = describe(options, action); code != done) return code;
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return code;
    auto const outcome = apply_one(*store, std::move(action));
    if (!outcome) return report_failure(outcome.error().message);
    auto const& result = std::get<store::webhook_outcome>(outcome->record);
    if (options.json)
        std::printf("{\"from_sequence\":%lld,\"to_sequence\":%lld}\n",
                    static_cast<long long>(result.first), static_cast<long long>(result.last));
    else
        base::log("the changes from " + std::to_string(result.first) + " to " +
                  std::to_string(result.last) + " that it has types for are sent again");
    return done;
}

void add_replay(CLI::App& webhooks, int& code) {
    auto* const command = webhooks.add_subcommand("replay", "Send changes to a webhook again");
    auto const options = std::make_shared<replay_options>();
    options->add_id(*command);
    options->add_to(*command);
    command->add_option("--sequence", options->sequences, "A change; repeat for more, at most 100")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command->add_option("--from-sequence", options->from_sequence, "The first of a range");
    command->add_option("--to-sequence", options->to_sequence,
                        "The last of the range (default: the last change)");
    command->add_option("--from", options->begin,
                        "Changes at or after this time, such as 2026-01-02T03:04:05Z");
    command->add_option("--to", options->end, "Changes before this time (default: all)");
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
        "Sends the change webhook.test, and tries at once what waits for a further attempt.\n"
        "Example: latchkey webhooks test 3");
    command->callback([options, &code] { code = test(*options); });
    add_replay(webhooks, code);
}

}  // namespace latchkey::cli
