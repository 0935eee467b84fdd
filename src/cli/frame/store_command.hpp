// Commands that work on the store itself, beside a running server or without one. A write is one
// short transaction that never waits for input; the server sees it with its next request.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/frame/cli11_names.hpp"
#include "cli/frame/refusal.hpp"
#include "cli/frame/serve_settings.hpp"
#include "cluster/node.hpp"
#include "domain/writer.hpp"

namespace latchkey::cli {

// The options that all such commands have: the store, and the form of the output.
struct store_command {
    setting_flags settings;
    bool json = false;

    // `more_settings`: settings that the command takes besides those of the store.
    void add_to(CLI::App& command, std::vector<std::string> more_settings = {});
};

// How a command uses the store. All but `makes` need one that is there: that begins one, and says
// so. `copies` and `repairs` are allowed even where the store's time is far ahead of the clock
// (store/time.hpp).
enum class store_access : std::uint8_t { makes, writes, reads, copies, repairs };
// A store and, for a command that writes one of a cluster, the log that its changes go to.
class opened_store {
  public:
    opened_store() = default;
    opened_store(std::unique_ptr<cluster::node> node, std::unique_ptr<store::environment> store)
        : node_(std::move(node)), store_(std::move(store)) {}
    bool operator==(std::nullptr_t) const { return store_ == nullptr; }
    store::environment& operator*() const { return *store_; }
    store::environment* operator->() const { return store_.get(); }
    // The store must be a node of a cluster.
    cluster::node& node() const { return *node_; }

  private:
    std::unique_ptr<cluster::node> node_;  // null: the store is alone, or only read
    std::unique_ptr<store::environment> store_;
};

// Is there a store that a command can use so, and whose files stay those of their owner? Prints
// that a new one is to be made. The error is a sentence.
base::result<void> look_for_store(server::config const& settings, store_access access);

// Opens the store that the options name, and stores the configuration in `configuration` unless it
// is null. On failure prints the error, sets `code` and returns none.
opened_store open_store(store_command const& options, int& code,
                        store_access access = store_access::writes,
                        server::config* configuration = nullptr);

// Applies one command as the operator.
answer_of<domain::outcome> apply_one(store::environment& store, domain::command::any_action change);
std::string message_of(domain::outcome const& refusal);
// The outcome must have a problem.
refusal refusal_of(domain::outcome const& outcome);

// Print an error and return its exit code.
int report_usage_error(std::string const& message);
int report_failure(std::string const& message);
int report_damage();  // damaged records make the output incomplete

}  // namespace latchkey::cli
