// latchkey cluster: begins a cluster, shows its nodes, lets one go, compares a node with it, ends
// an upgrade, and takes a store out of it.
#include "cli/serve/cluster.hpp"

#include <sys/random.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>

#include "api/frame/json/json_writer.hpp"
#include "base/bytes.hpp"
#include "base/system/log.hpp"
#include "base/time_units.hpp"
#include "base/visible.hpp"
#include "cli/frame/print.hpp"
#include "cli/frame/progress.hpp"
#include "cli/serve/serve.hpp"
#include "domain/admin/state_load.hpp"
#include "domain/snapshot.hpp"
#include "domain/webhooks/webhook_lists.hpp"
#include "server/process/cluster_checks.hpp"
#include "server/process/cluster_member.hpp"

namespace latchkey::cli {
namespace {

constexpr base::mono_ns patience = 30 * base::second;

struct leave_options : store_command {
    std::string name;
};

std::vector<std::string> cluster_settings() {
    return {"cluster.name"};
}

// ---- init

base::result<void> send_state(store::environment& store, cluster::node& node,
                              store::cluster_id const& cluster, progress& bar) {
    domain::state_reader reader(store);
    std::uint64_t count = 0;
    auto const result = node.create(
        cluster, patience, [&]() -> base::result<std::vector<replicate::protocol::state_record>> {
            std::vector<replicate::protocol::state_record> chunk;
            std::size_t bytes = 0;
            while (bytes < replicate::protocol::chunk_bytes_max / 2) {
                auto const record = reader.next();
                if (!record) break;
                bytes += record->key.size() + record->content.size();
                chunk.push_back(
                    {record->table, std::string(record->key), std::string(record->content)});
            }
            if (auto const failure = reader.failure()) return *failure;
            count += chunk.size();
            bar.update(count, count);
            return chunk;
        });
    bar.end(count, count);
    return result;
}

// The store of a service that does not run.
base::result<std::unique_ptr<store::environment>> open_alone(server::config const& configuration,
                                                             store_access access) {
    if (auto const presence = look_for_store(configuration, access); !presence)
        return presence.error();
    auto store = store::environment::open({.directory = configuration.data,
                                           .master_key_file = configuration.store_master_key_file,
                                           .map_bytes = configuration.store_map_mib << 20,
                                           .for_server = true});
    if (!store) return store.error();
    if (auto const claim = (*store)->claim_for_server(); !claim)
        return base::error{claim.error().message + ": stop it for this command"};
    return store;
}

base::result<void> begin_cluster(server::config const& configuration, bool json) {
    auto const environment = open_alone(configuration, store_access::makes);
    if (!environment) return environment.error();
    auto& store = **environment;
    if (store.node()) return base::error{"this store is a node of a cluster already"};
    auto node = server::connect_command(configuration, store, server::engine_state::no_cluster);
    if (!node) return node.error();
    store::cluster_id cluster{};
    if (::getrandom(cluster.data(), cluster.size(), 0) != static_cast<ssize_t>(cluster.size()))
        return base::error{"cannot get random bytes"};
    progress bar("records", 0, progress::choose_form(json, false));
    if (auto const result = send_state(store, **node, cluster, bar); !result) return result.error();
    return domain::join_cluster(store, cluster);
}

template <class Change>
int change_alone(store_command const& options, Change change, char const* sentence) {
    int code = done;
    auto const settings = options.settings.resolve(code);
    if (!settings) return code;
    base::result<void> const result = change(*settings);
    if (!result) return report_failure(result.error().message);
    base::log(sentence);
    return done;
}

int init(store_command const& options) {
    return change_alone(
        options,
        [&](server::config const& settings) { return begin_cluster(settings, options.json); },
        "the cluster has begun with this store; start the service with the same configuration. "
        "Another node needs a data directory with nothing but a copy of master.key");
}

// ---- detach

base::result<void> detach_store(server::config const& configuration) {
    auto const store = open_alone(configuration, store_access::writes);
    if (!store) return store.error();
    if (!(*store)->node()) return base::error{"this store is no node of a cluster"};
    return domain::leave_cluster(**store);
}

int detach(store_command const& options) {
    return change_alone(options, detach_store,
                        "the store stands alone now; start the service without cluster.postgres");
}

// ---- status

std::string state_of(replicate::protocol::node_state const& node) {
    if (node.departed) return "left";
    if (node.lease_ms == 0) return "joining";
    return node.alive ? "serving" : "silent";
}

// A bound: leases are timed by those who watch them, from when they first saw the last renewal, and
// this process has just begun to. So a node that died before shows nearly a whole lease too.
base::mono_ns lease_rest(replicate::protocol::node_state const& node, cluster::boot_ns now) {
    return std::max<base::mono_ns>(node.lease_end - now, 0);
}

std::string lease_text(replicate::protocol::node_state const& node, cluster::boot_ns now) {
    if (node.departed) return "ended";
    if (node.lease_ms == 0) return "none yet";
    auto const rest = lease_rest(node, now);
    if (rest == 0) return "expired";
    return "at most " + std::to_string((rest + base::second - 1) / base::second) + " s";
}

// Who delivers webhooks, as the store of this node has it at its position.
struct delivery_report {
    std::uint64_t position = 0;
    std::optional<domain::delivery_lease> lease;  // none: nobody has delivered yet
    bool is_active = false;                       // it has not ended
};

// nullopt: the store is no node.
base::result<std::optional<delivery_report>> find_deliverer(store::environment& store) {
    if (!store.node()) return std::optional<delivery_report>();
    domain::snapshot snapshot(store);
    snapshot.renew();
    delivery_report report{.position = snapshot.position(),
                           .lease = domain::find_delivery_lease(snapshot)};
    if (snapshot.damaged())
        return base::error{
            "the lease of the node that delivers is damaged in this store: run latchkey check"};
    report.is_active = report.lease && report.lease->deadline > snapshot.time();
    return std::optional(std::move(report));
}

struct cluster_view {
    replicate::protocol::status_report report;
    cluster::boot_ns time = 0;                // of the report
    std::optional<delivery_report> delivery;  // none: this store is no node
};

void append_node(std::string& document, replicate::protocol::node_state const& node,
                 cluster_view const& view) {
    document.append("{\"name\":");
    api::append_string(document, node.name);
    document.append(",\"state\":");
    api::append_string(document, state_of(node));
    auto const head = view.report.head;
    auto const rest = lease_rest(node, view.time) / base::millisecond;
    for (auto const& [name, number] :
         {std::pair("position", node.position),
          std::pair("lag", head - std::min(head, node.position)),
          std::pair("lease_ms", std::uint64_t{node.lease_ms}),
          std::pair("lease_ms_left", static_cast<std::uint64_t>(rest))}) {
        document.append(",\"").append(name).append("\":");
        api::append_number(document, number);
    }
    document.append(",\"version\":");
    api::append_string(document, node.version);
    document.append(",\"schema\":");
    api::append_number(document, node.schema);
    document.append("}");
}

void append_delivery(std::string& document, delivery_report const& delivery) {
    document.append("{\"position\":");
    api::append_number(document, delivery.position);
    document.append(",\"node\":");
    if (delivery.lease)
        api::append_string(document, delivery.lease->node);
    else
        document.append("null");
    document.append(",\"active\":").append(delivery.is_active ? "true" : "false");
    document.append(",\"expires_at\":");
    api::append_timestamp_or_null(document, delivery.lease ? delivery.lease->deadline : 0);
    document.append("}");
}

void print_document(cluster_view const& view) {
    auto const& report = view.report;
    std::string document = "{\"engine\":{\"server\":";
    api::append_string(document, report.server);
    document.append(",\"host\":");
    api::append_string(document, report.host);
    document.append(",\"synchronous_standby\":")
        .append(report.standby_synchronous ? "true" : "false");
    document.append("},\"cluster\":");
    api::append_string(document, base::to_hex({report.cluster.data(), report.cluster.size()}));
    for (auto const& [name, number] :
         {std::pair("head", report.head), std::pair("folded", report.folded),
          std::pair("first", report.first)}) {
        document.append(",\"").append(name).append("\":");
        api::append_number(document, number);
    }
    document.append(",\"delivery\":");
    if (view.delivery)
        append_delivery(document, *view.delivery);
    else
        document.append("null");
    document.append(",\"nodes\":");
    api::append_array(document, report.nodes, [&](replicate::protocol::node_state const& node) {
        append_node(document, node, view);
    });
    std::printf("%s}\n", document.c_str());
}

std::string delivery_text(std::optional<delivery_report> const& delivery) {
    if (!delivery) return "not known: the store in the data directory is no node of the cluster";
    auto const source = " (this store, at position " + with_commas(delivery->position) + ")";
    auto const& lease = delivery->lease;
    if (!lease) return "not delivered by any node yet" + source;
    auto const node = base::visible(lease->node);
    auto const time = format_time(lease->deadline, "");
    if (delivery->is_active)
        return "delivered by " + node + ", whose lease ends at " + time + source;
    return "delivered by nobody now: the lease of " + node + " ended at " + time + source;
}

void print_nodes(cluster_view const& view) {
    auto const& report = view.report;
    std::printf("engine    %s at %s, synchronous_standby_names is %s\n",
                base::visible(report.server).c_str(), base::visible(report.host).c_str(),
                report.standby_synchronous ? "set" : "empty");
    std::printf("log       position %s, state folded up to %s, rows kept after %s\n",
                with_commas(report.head).c_str(), with_commas(report.folded).c_str(),
                with_commas(report.first).c_str());
    std::printf("webhooks  %s\n\n", delivery_text(view.delivery).c_str());
    std::vector<std::vector<std::string>> rows{
        {"NODE", "STATE", "POSITION", "LAG", "LEASE", "VERSION"}};
    for (auto const& node : report.nodes)
        rows.push_back({base::visible(node.name), state_of(node), with_commas(node.position),
                        with_commas(report.head - std::min(report.head, node.position)),
                        lease_text(node, view.time), base::visible(node.version)});
    print_table(std::move(rows));
}

// Opens the store for its key, its cluster, and what it has of it.
base::result<opened_store> connect(server::config const& configuration) {
    if (auto const presence = look_for_store(configuration, store_access::reads); !presence)
        return presence.error();
    auto store = store::environment::open({.directory = configuration.data,
                                           .master_key_file = configuration.store_master_key_file,
                                           .read_only = true,
                                           .any_time = true});
    if (!store) return store.error();
    auto node = server::connect_command(configuration, **store);
    if (!node) return node.error();
    return opened_store(std::move(*node), std::move(*store));
}

template <class Work>
int with_cluster(store_command const& options, Work work) {
    int code = done;
    auto const settings = options.settings.resolve(code);
    if (!settings) return code;
    auto const store = connect(*settings);
    if (!store) return report_failure(store.error().message);
    return work(*store);
}

int show_status(store_command const& options) {
    return with_cluster(options, [&](opened_store const& store) {
        auto report = store.node().status(patience);
        if (!report) return report_failure(report.error().message);
        cluster_view view{.report = std::move(*report), .time = cluster::read_boot()};
        auto const delivery = find_deliverer(*store);
        if (!delivery) return report_failure(delivery.error().message);
        view.delivery = *delivery;
        options.json ? print_document(view) : print_nodes(view);
        return static_cast<int>(done);
    });
}

int leave(leave_options const& options) {
    return with_cluster(options, [&](opened_store const& store) {
        if (auto const left = store.node().remove(options.name, patience); !left)
            return report_failure(left.error().message);
        base::log("node " + options.name + " has left: nobody waits for it any more");
        return static_cast<int>(done);
    });
}

// ---- upgrade

// The nodes that could not apply rows of the schema of this program.
std::vector<std::string> find_older(replicate::protocol::status_report const& report) {
    std::vector<std::string> names;
    for (auto const& node : report.nodes)
        if (!node.departed && node.schema < store::row_schema())
            names.push_back(base::visible(node.name) + " (" + base::visible(node.version) + ")");
    return names;
}

base::result<void> raise_schema(opened_store const& store) {
    auto const place = store->node();
    if (!place) return base::error{"this store is no node of a cluster"};
    if (place->schema >= store::row_schema()) return {};
    auto const report = store.node().status(patience);
    if (!report) return report.error();
    if (auto const names = find_older(*report); !names.empty()) {
        std::string text = "nodes of an older version are there: ";
        for (auto const& name : names)
            text.append(&name == &names.front() ? "" : ", ").append(name);
        return base::error{text +
                           ". Upgrade them, or let those that will not come back go with "
                           "latchkey cluster leave"};
    }
    auto const outcome = apply_one(*store, domain::raise_schema{});
    if (!outcome) return base::error{outcome.error().message};
    return {};
}

int upgrade(store_command const& options) {
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return code;
    if (auto const result = raise_schema(store); !result)
        return report_failure(result.error().message);
    base::log("the cluster writes schema " + std::to_string(store::row_schema()) +
              ": nodes of an older version cannot join it any more");
    return done;
}

}  // namespace

void add_cluster(CLI::App& program, int& code) {
    auto* const group = program.add_subcommand(
        "cluster", "Begin a cluster, show its nodes, let one go, compare a node with it");
    group->require_subcommand(1);
    auto const add = [&](char const* name, char const* help, char const* footer, auto options) {
        auto* const command = group->add_subcommand(name, help);
        options->add_to(*command, cluster_settings());
        command->footer(footer);
        return command;
    };
    auto const plain = [&](char const* name, char const* help, char const* footer,
                           int (*work)(store_command const&)) {
        auto const options = std::make_shared<store_command>();
        add(name, help, footer, options)->callback([options, work, &code] {
            code = work(*options);
        });
    };
    plain(
        "init", "Begin a cluster with the store of this node, which may be empty",
        "Makes the tables in PostgreSQL and copies the store there. The service must be stopped.\n"
        "Example: latchkey cluster init --config /etc/latchkey/latchkey.toml",
        init);
    plain("detach", "Let the store of this node go on alone, with the records that it has",
          "The service must be stopped. The cluster is left as it is; other nodes that go on\n"
          "and this store are two services from then on.\n"
          "Example: latchkey cluster detach --config /etc/latchkey/latchkey.toml",
          detach);
    plain("status",
          "Show the nodes, their positions and leases, who delivers webhooks, and the engine",
          "A lease is timed from when this command saw the node: it is over within that time\n"
          "unless the node renews it. Who delivers is read from the store of this node.\n"
          "Example: latchkey cluster status --config /etc/latchkey/latchkey.toml --json",
          show_status);
    plain("check", "Compare the store of this node with the cluster's state, record by record",
          "Works beside a running service.\n"
          "Exit codes: 0 they are the same, 1 they differ or cannot be compared, 5 they were\n"
          "never at the same position, since the cluster was written to all the time.\n"
          "Example: latchkey cluster check --config /etc/latchkey/latchkey.toml",
          check_cluster);
    plain("upgrade", "Use what is new in this version, once all nodes have it",
          "Until then nodes of this version write what those of the version before can read, so\n"
          "nodes are upgraded one by one, and may go back. Works beside a running service.\n"
          "Example: latchkey cluster upgrade --config /etc/latchkey/latchkey.toml",
          upgrade);
    auto const options = std::make_shared<leave_options>();
    auto* const command = add("leave", "Let a node go that will not come back",
                              "Nobody waits for it any more. A node that still runs cannot be let "
                              "go: stop it.\n"
                              "Example: latchkey cluster leave node3 --config latchkey.toml",
                              options);
    command->add_option("name", options->name, "The node's name, as cluster status shows it")
        ->required()
        ->check([](std::string const& name) {
            return server::is_node_name(name)
                       ? std::string()
                       : "a node's name has 1 to " +
                             std::to_string(replicate::protocol::name_bytes_max) +
                             " bytes of visible text (UTF-8)";
        });
    command->callback([options, &code] { code = leave(*options); });
}

}  // namespace latchkey::cli
