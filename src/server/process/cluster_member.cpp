// The helper is forked first, before there are threads; its password passes through the environment
// and is wiped here. A store that belongs to no cluster copies the whole state of the engine in,
// then follows the log from there. Where the engine is away, a store with a position starts
// nevertheless and refuses requests until it is reached.
#include "server/process/cluster_member.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/bytes.hpp"
#include "base/system/log.hpp"
#include "base/system/read_within.hpp"
#include "base/time_units.hpp"
#include "base/version.hpp"
#include "domain/admin/state_load.hpp"
#include "helpers/kit/start.hpp"
#include "server/process/node_instance.hpp"

namespace latchkey::server {
namespace {

constexpr std::string_view helper_name = "latchkey-replicate";
constexpr std::size_t password_bytes_max = 1024;
constexpr base::mono_ns join_patience = 10 * base::second;
constexpr base::mono_ns part_patience = 60 * base::second;
constexpr base::mono_ns leave_patience = 2 * base::second;
constexpr base::mono_ns progress_interval = 2 * base::second;

std::string node_name(config const& configuration) {
    if (!configuration.cluster_name.empty()) return configuration.cluster_name;
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// libpq takes the password from the environment, which only the helper keeps (a process that has
// hidden its memory shows it to root alone).
base::result<base::descriptor> start_engine_helper(config const& configuration) {
    auto const& path = configuration.cluster_password_file;
    if (path.empty()) return kit::start_helper(std::string(helper_name));
    std::array<char, password_bytes_max + 1> bytes{};
    auto const file = base::open_to_read(path);
    auto const size =
        file.is_open() ? base::read_within(file, path, bytes) : base::result<std::size_t>(0);
    if (!size) return base::error{"cluster.password_file: " + size.error().message};
    bytes[*size == bytes.size() ? 0 : *size] = '\n';
    *std::ranges::find(bytes, '\n') = '\0';
    bool const is_empty = bytes[0] == '\0';
    if (!is_empty) ::setenv("PGPASSWORD", bytes.data(), 1);
    base::wipe(bytes.data(), bytes.size());
    if (is_empty)
        return base::error{"cluster.password_file: " + path +
                           " has no password in its first line, or cannot be read"};
    auto socket = kit::start_helper(std::string(helper_name));
    if (auto* const value = std::getenv("PGPASSWORD")) base::wipe(value, std::strlen(value));
    ::unsetenv("PGPASSWORD");
    return socket;
}

std::vector<domain::state_record> views_of(
    std::vector<replicate::protocol::state_record> const& records) {
    std::vector<domain::state_record> views;
    views.reserve(records.size());
    for (auto const& each : records) views.push_back({each.table, each.key, each.value});
    return views;
}

}  // namespace

base::result<cluster::node_options> node_options_of(config const& configuration,
                                                    store::environment const& store,
                                                    std::string_view place) {
    auto const instance = node_instance(configuration.data, place);
    if (!instance) return instance.error();
    auto const position = store.node();
    return cluster::node_options{
        .conninfo = configuration.cluster_postgres,
        .name = node_name(configuration),
        .instance = *instance,
        .cluster = position ? position->cluster : store::cluster_id{},
        .key_check = store.derived_key("cluster").value(),
        .version = LATCHKEY_VERSION,
        .schema = store::row_schema(),
        .lease_ms = static_cast<std::uint32_t>(configuration.cluster_lease_seconds * 1000)};
}

base::result<std::unique_ptr<cluster::node>> connect_command(config const& configuration,
                                                             store::environment const& store,
                                                             engine_state expected) {
    if (configuration.cluster_postgres.empty())
        return base::error{
            "this command needs the cluster's engine: give --config FILE with cluster.postgres"};
    // A command has no line of its own in the engine, and leaves the node's file as it is.
    auto options = node_options_of(configuration, store, {});
    if (!options) return options.error();
    options->lease_ms = 0;
    auto socket = start_engine_helper(configuration);
    if (!socket) return socket.error();
    auto node = std::make_unique<cluster::node>(std::move(*socket), std::move(*options));
    auto failure = replicate::protocol::failure::count_;
    auto const joined = node->join(join_patience, &failure);
    bool const may_begin =
        expected == engine_state::no_cluster && failure == replicate::protocol::failure::no_cluster;
    if (!joined && !may_begin) return joined.error();
    return node;
}

base::result<std::unique_ptr<cluster_member>> cluster_member::start(config const& configuration) {
    if (configuration.cluster_postgres.empty()) return std::unique_ptr<cluster_member>();
    auto socket = start_engine_helper(configuration);
    if (!socket) return socket.error();
    return std::unique_ptr<cluster_member>(new cluster_member(configuration, std::move(*socket)));
}

base::result<void> cluster_member::check_directory() const {
    auto const path = configuration_.data + "/master.key";
    if (!configuration_.store_master_key_file.empty() || ::access(path.c_str(), F_OK) == 0)
        return {};
    return base::error{
        "a node needs the master key of its cluster: copy master.key of another node to " + path +
        " (mode 0600), or begin a cluster with latchkey cluster init"};
}

base::result<void> cluster_member::join(store::environment& store) {
    auto options = node_options_of(configuration_, store, place_of(configuration_.data));
    if (!options) return options.error();
    auto const name = options->name;
    node_ = std::make_unique<cluster::node>(std::move(socket_), std::move(*options));
    auto const started_at = static_cast<std::uint64_t>(store.time());
    if (auto const shared = node_->share_limits(started_at); !shared) return shared.error();
    auto failure = replicate::protocol::failure::count_;
    auto const joined = node_->join(join_patience, &failure);
    if (!joined && failure != replicate::protocol::failure::count_) return joined.error();
    if (!store.node()) {
        if (!joined) return joined.error();
        if (auto const result = take_state_over(store); !result) return result.error();
    }
    auto const place = store.node();
    if (!place) return base::error{"the store is no node of a cluster"};
    position_ = place->position;
    if (auto const attached = store.attach(*node_, place->cluster); !attached)
        return attached.error();
    node_->follow(position_, place->nonce);
    if (joined)
        base::log("node " + name + " of the cluster is at position " + std::to_string(position_) +
                  ", the log at " + std::to_string(joined->head));
    else
        base::log(base::severity::warning, joined.error().message + ": node " + name +
                                               " refuses requests with a key until it is reached");
    return {};
}

base::result<void> cluster_member::take_state_over(store::environment& store) {
    auto const options = node_options_of(configuration_, store, place_of(configuration_.data));
    if (!options) return options.error();
    auto const cluster = node_->join(join_patience);
    if (!cluster) return cluster.error();
    auto load = domain::state_load::begin(store, cluster->cluster);
    if (!load) return load.error();
    base::log("joining the cluster: its state is copied");
    std::uint64_t count = 0;
    auto next_report = base::read_mono() + progress_interval;
    auto const read = node_->read_state(false, part_patience, [&](auto&& records) {
        count += records.size();
        if (auto const now = base::read_mono(); now >= next_report) {
            base::log("joining the cluster: " + std::to_string(count) + " records");
            next_report = now + progress_interval;
        }
        return load->add(views_of(records));
    });
    if (!read) return read.error();
    base::log("joining the cluster: all " + std::to_string(count) + " records are there");
    return load->finish(read->position, read->schema, read->nonce);
}

std::string cluster_member::name() const {
    return node_name(configuration_);
}

void cluster_member::begin() {
    node_->begin_lease();
}

void cluster_member::leave() {
    node_->leave(leave_patience);
}

std::string cluster_member::unreadiness() const {
    auto const now = cluster::read_boot();
    auto const half =
        static_cast<base::mono_ns>(configuration_.cluster_lease_seconds) * base::second / 2;
    if (node_->holds_lease(now + half)) return {};
    auto const report = node_->report();
    if (!report.failure.empty()) return report.failure;
    if (!report.connected) return "the engine cannot be reached: " + report.engine;
    return "behind the cluster: at position " + std::to_string(report.applied) + " of " +
           std::to_string(report.head);
}

}  // namespace latchkey::server
