// latchkey cluster check: a merge of two sorted walks, the store's and the engine's.
#include <optional>
#include <thread>

#include "base/bytes.hpp"
#include "base/system/log.hpp"
#include "base/time_units.hpp"
#include "cli/frame/progress.hpp"
#include "cli/serve/cluster.hpp"
#include "domain/admin/state_reader.hpp"
#include "server/process/cluster_member.hpp"

namespace latchkey::cli {
namespace {

constexpr base::mono_ns part_patience = 120 * base::second;
constexpr std::size_t printed_max = 20;
constexpr int attempts_max = 20;
constexpr auto attempt_interval = std::chrono::milliseconds(200);
constexpr char const* table_names[domain::state_tables] = {
    "users", "posts", "index", "audit", "events", "changes", "deliveries"};

// Compares records of the engine, in order, with those of the reader.
class comparison {
  public:
    explicit comparison(store::environment& store) : reader_(store) { local_ = reader_.next(); }

    void add(domain::state_record const& expected) {
        skip_surplus([&] { return domain::is_before(*local_, expected); });
        if (!local_ || domain::is_before(expected, *local_)) {
            note("is not in this store", expected);
            return;
        }
        if (local_->content != expected.content) note("differs in this store", expected);
        local_ = reader_.next();
    }
    void finish() {
        skip_surplus([] { return true; });
    }
    std::vector<std::string> const& differences() const { return differences_; }
    std::uint64_t position() const { return reader_.position() ? reader_.position()->position : 0; }
    std::optional<base::error> failure() const { return reader_.failure(); }

  private:
    void skip_surplus(base::function_ref<bool()> is_surplus) {
        for (; local_ && is_surplus(); local_ = reader_.next())
            note("is in this store alone", *local_);
    }
    void note(char const* sentence, domain::state_record const& record) {
        if (differences_.size() < printed_max)
            differences_.push_back(std::string(table_names[record.table]) + " " +
                                   base::to_hex(record.key) + " " + sentence);
    }

    domain::state_reader reader_;
    std::optional<domain::state_record> local_;
    std::vector<std::string> differences_;  // the first ones
};

enum class verdict : std::uint8_t { same, different, moved };

// The engine's state is of one position; a store that is at another one cannot be compared.
base::result<verdict> compare(store::environment& store, cluster::node& node, bool quiet) {
    std::optional<comparison> comparing;
    progress bar("records", 0, progress::choose_form(quiet, quiet));
    std::uint64_t count = 0;
    auto const begin = node.read_state(true, part_patience, [&](auto&& records) {
        if (!comparing) comparing.emplace(store);
        for (auto const& each : records) comparing->add({each.table, each.key, each.value});
        count += records.size();
        bar.update(count, count);
        return base::result<void>();
    });
    if (!begin) return begin.error();
    if (!comparing) comparing.emplace(store);
    comparing->finish();
    bar.end(count, count);
    if (auto const failure = comparing->failure()) return *failure;
    if (comparing->position() != begin->position) return verdict::moved;
    for (auto const& sentence : comparing->differences())
        base::log(base::severity::failure, sentence);
    return comparing->differences().empty() ? verdict::same : verdict::different;
}

}  // namespace

int check_cluster(store_command const& options) {
    int code = done;
    auto const settings = options.settings.resolve(code);
    if (!settings) return code;
    auto store = store::environment::open({.directory = settings->data,
                                           .master_key_file = settings->store_master_key_file,
                                           .read_only = true});
    if (!store) return report_failure(store.error().message);
    if (!(*store)->node()) return report_failure("this store is no node of a cluster");
    auto node = server::connect_command(*settings, **store);
    if (!node) return report_failure(node.error().message);
    for (int i = 0; i < attempts_max; ++i) {
        auto const outcome = compare(**store, **node, options.json);
        if (!outcome) return report_failure(outcome.error().message);
        if (*outcome == verdict::same) {
            base::log("the store is the same as the cluster's state");
            return done;
        }
        if (*outcome == verdict::different)
            return report_failure(
                "the store differs from the cluster's state: stop this node, empty "
                "its data directory but for master.key, and let it join again");
        std::this_thread::sleep_for(attempt_interval);
    }
    base::log(base::severity::failure,
              "the cluster was written to all the time, so its state and this store were never at "
              "the same position: try again when there are fewer writes");
    return undecided;
}

}  // namespace latchkey::cli
