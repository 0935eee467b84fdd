#include "node.hpp"

#include <algorithm>
#include <filesystem>
#include <span>

#include "domain/writer/group.hpp"
#include "domain/writer/replication.hpp"
#include "store/environment_state.hpp"

namespace latchkey::simulation {
namespace {

constexpr std::size_t purge_max = 16;
constexpr std::uint64_t map_bytes = 1u << 26;

identity instance_of(unsigned number) {
    identity instance{'n'};
    instance[1] = static_cast<char>(number);
    return instance;
}

}  // namespace

node::node(settings options, engine& engine, dice& dice, real_ns const& now,
           std::function<void(node&)> pass)
    : number(options.number),
      machine(now, dice),
      options_(std::move(options)),
      engine_(engine),
      dice_(dice),
      pass_(std::move(pass)) {
    wipe();
}

void node::wipe() {
    namespace fs = std::filesystem;
    fs::create_directories(options_.directory);
    fs::permissions(options_.directory, fs::perms::owner_all);
    fs::remove(options_.directory + "/store.mdb-lock");
    for (auto const* name : {"/store.mdb", "/master.key"})
        fs::copy_file(options_.template_directory + name, options_.directory + name,
                      fs::copy_options::overwrite_existing);
}

void node::start(std::uint64_t session) {
    on_machine const here(machine);
    auto sockets = kit::make_socket_pair();
    ASSERT_TRUE(sockets.has_value());
    helper_channel_ = std::make_unique<kit::channel>(std::move(sockets->second));
    auto result = store::environment::open({.directory = options_.directory,
                                            .map_bytes = map_bytes,
                                            .sync = false,
                                            .records_changes = true,
                                            .wall = machine::current_clock,
                                            .mono = machine::current_boot});
    ASSERT_TRUE(result) << result.error().message;
    store_ = std::move(result.value());
    auto const place = position();
    cluster::node_options settings{
        .name = "node" + std::to_string(number),
        .instance = instance_of(number),
        .cluster = cluster_of_run,
        .version = "1",
        .schema = store::row_schema(),
        .lease_ms = options_.lease_ms,
        .time = cluster::virtual_time{machine::current_boot, machine::current_clock,
                                      [this] { wait(); }}};
    node_ = std::make_unique<cluster::node>(std::move(sockets->first), std::move(settings));
    start_helper(session);
    ASSERT_TRUE(store_->attach(*node_, cluster_of_run));
    node_->follow(place.position, place.nonce);
    queue_ = std::make_unique<domain::ticket_queue>();
    replica_ = std::make_unique<domain::replica>(store_->native(), *queue_);
    snapshot_ = std::make_unique<domain::snapshot>(*store_);
    ASSERT_TRUE(node_->share_limits(session));
    node_->begin_lease();
}

void node::stop() {
    replica_.reset();
    snapshot_.reset();
    store_.reset();
    node_.reset();
    queue_.reset();
    helper_.reset();
    waiting_.clear();
    answered_.clear();
    arrivals_.clear();
    is_doomed = false;
}

void node::start_helper(std::uint64_t session) {
    helper_.reset();
    helper_ = std::make_unique<helper>(engine_, dice_, machine, *helper_channel_, session);
}

void node::leave() {
    on_machine const here(machine);
    node_->leave(2 * base::second);
}

void node::wait() {
    pass_(*this);
    if (!is_doomed) return;
    helper_.reset();
    helper_channel_.reset();
    node_->turn();
}

void node::node_turn() {
    on_machine const here(machine);
    node_->turn();
}

void node::helper_turn() {
    helper_->cut(machine.now() < cut_until);
    helper_->turn();
}

// ---- the writer, as domain/writer.cpp does it

void node::writer_turn() {
    on_machine const here(machine);
    replica_->answer(false);
    if (replica_->has_kept() && !settle()) return;
    auto const batch = replica_->without_waits(queue_->take());
    for (auto* each = batch.oldest; each != nullptr; each = each->next) waiting_.push_back(each);
    if (!waiting_.empty() && dice_.proceeds(800))
        commit_group();
    else
        domain::apply_arrived_rows(store_->native());
    replica_->answer(false);
}

bool node::settle() {
    auto const& unapplied = store_->native().unapplied_row;
    auto const own = unapplied ? unapplied->row.nonce : identity{};
    auto const group = replica_->settle(false);
    if (group.result == store::append_result::unknown) return false;
    std::vector<domain::ticket*> tickets;
    for (auto* each = group.tickets.oldest; each != nullptr; each = each->next)
        tickets.push_back(each);
    waiting_.insert(waiting_.begin(), tickets.begin(), tickets.end());
    if (group.result == store::append_result::won) domain::apply_arrived_rows(store_->native());
    if (group.result != store::append_result::lost) complete(group.count, own);
    return true;
}

void node::commit_group() {
    std::vector<domain::job> jobs;
    for (auto* each : waiting_) jobs.push_back({&each->command, &each->outcome});
    auto const result = domain::apply_group(store_->native(), jobs, purge_max);
    if (!result.unresolved) return complete(result.job_count, position().nonce);
    domain::ticket_queue::batch group;
    for (std::size_t i = 0; i < result.job_count; ++i) {
        auto* const each = waiting_.front();
        waiting_.pop_front();
        (group.oldest == nullptr ? group.oldest : group.newest->next) = each;
        group.newest = each;
        each->next = nullptr;
    }
    replica_->keep(group, result.job_count);
}

void node::complete(std::size_t count, identity const& row) {
    for (std::size_t i = 0; i < count; ++i) {
        auto& finished = static_cast<request&>(*waiting_.front());
        finished.row = row;
        waiting_.pop_front();
        queue_->release(1, finished.command.bytes());
        if (!replica_->hold_unconfirmed(finished)) post(finished);
    }
}

void node::post(coro::resumption& answered) noexcept {
    auto& request = static_cast<simulation::request&>(answered);
    auto const limit = request.outcome.effective_by;
    request.answer_time = machine.now();
    request.effective_time = limit == 0 ? machine.now() : machine.real_time_of(limit + 1);
    answered_.push_back(&request);
}

// ---- a worker, as server/worker.cpp does it

std::vector<node::decision> node::worker_turn() {
    on_machine const here(machine);
    auto requests = std::exchange(arrivals_, {});
    bool const lease_over = !node_->holds_lease(machine::current_boot());
    if (dice_.fails(100)) pass_(*this);  // the kernel runs others instead
    if (is_doomed) return {};
    snapshot_->renew();
    std::vector<decision> decisions;
    for (auto& each : requests) {
        auto const verdict = decide(each, lease_over);
        if (verdict == verdict::pending)
            arrivals_.push_back(each);
        else
            decisions.push_back({each, verdict});
    }
    snapshot_->reset();
    return decisions;
}

node::verdict node::decide(arrival& request, bool lease_over) {
    auto const key = snapshot_->key_with_digest(domain::key_number(request.key).digest);
    bool const is_active = key && key->state_at(snapshot_->time()) == model::key_state::active;
    if (!is_active || lease_over) return verdict::refused;
    if (request.key != limited_key) return verdict::accepted;
    static constexpr std::uint8_t slots[] = {0};
    static auto const policy = limit::prepare(std::span(&limit_of_run, 1), slots);
    auto const charge =
        node_->quota()->admit(limited_key, policy, machine::current_boot(), 1, request.ticket);
    if (charge.state == cluster::quota_state::pending) return verdict::pending;
    if (charge.state == cluster::quota_state::behind) return verdict::refused;
    return charge.decision.admitted() ? verdict::accepted : verdict::limited;
}

// ---- clients

void node::submit(std::unique_ptr<request> request) {
    request->executor = this;
    request->outcome = {};
    request->next = nullptr;
    ASSERT_TRUE(queue_->push(*request));
    requests_.push_back(std::move(request));
}

std::vector<std::unique_ptr<request>> node::take_answers() {
    std::vector<std::unique_ptr<request>> answers;
    for (auto* each : std::exchange(answered_, {})) {
        auto const place =
            std::ranges::find_if(requests_, [&](auto const& owned) { return owned.get() == each; });
        answers.push_back(std::move(*place));
        requests_.erase(place);
    }
    return answers;
}

std::vector<std::unique_ptr<request>> node::take_requests() {
    return std::exchange(requests_, {});
}

}  // namespace latchkey::simulation
