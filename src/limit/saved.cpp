#include "limit/saved.hpp"

#include <algorithm>
#include <string>

#include "base/bytes.hpp"
#include "base/hash.hpp"

namespace latchkey::limit {
namespace {

constexpr std::string_view magic = "lkbucket";
constexpr std::uint32_t version = 1;
constexpr std::size_t part_bytes = 64 * 1024;
constexpr std::int64_t ns_per_ms = 1'000'000;

// Collects bytes and hands them on in whole parts, with the checksum over them.
class parts {
  public:
    explicit parts(base::function_ref<bool(std::string_view)> write) : write_(write) {}

    template <class Integer>
    void add(Integer value) {
        base::append(held_, value);
        if (held_.size() >= part_bytes) hand_on(part_bytes);
    }
    void add(std::string_view bytes) { held_.append(bytes); }
    bool end() {
        hand_on(held_.size());
        base::append(held_, sum_);
        return good_ && write_(held_);
    }
    bool good() const { return good_; }

  private:
    void hand_on(std::size_t bytes) {
        auto const part = std::string_view(held_).substr(0, bytes);
        sum_ = base::mix(sum_, base::hash(part));
        good_ = good_ && write_(part);
        held_.erase(0, bytes);
    }

    base::function_ref<bool(std::string_view)> write_;
    std::string held_;
    std::uint64_t sum_ = 0;
    bool good_ = true;
};

std::uint64_t checksum(std::string_view bytes) {
    std::uint64_t sum = 0;
    do {
        auto const part = bytes.substr(0, part_bytes);
        sum = base::mix(sum, base::hash(part));
        bytes.remove_prefix(part.size());
    } while (!bytes.empty());
    return sum;
}

struct record {
    model::id key = 0;  // 0: the end
    debts owed{};
};

record read_record(base::reader& from) {
    record one;
    one.key = from.integer<model::id>();
    if (one.key == 0) return one;
    auto const slots = from.integer<std::uint8_t>();
    for (std::size_t i = 0; i < one.owed.size(); ++i)
        if (slots >> i & 1) one.owed[i] = std::max<std::int64_t>(0, from.integer<std::int64_t>());
    return one;
}

// True when the records are as many as the end says and nothing follows it.
bool is_whole(base::reader from) {
    std::uint64_t keys = 0;
    while (read_record(from).key != 0) ++keys;
    return from.integer<std::uint64_t>() == keys && from.done();
}

// What has refilled since: one millisecond less than the clocks say, since both were cut to whole
// ones and a bucket must not fill too early.
std::int64_t passed_ns(base::wall_ms saved, base::wall_ms now) {
    if (saved < 0 || now <= saved) return 0;
    return std::min(now - saved - 1, refill_max_ns / ns_per_ms) * ns_per_ms;
}

}  // namespace

bool save(buckets const& from, base::instant now,
          base::function_ref<bool(std::string_view)> write) {
    parts to(write);
    to.add(magic);
    to.add(version);
    to.add(now.wall);
    std::uint64_t keys = 0;
    from.each_debt(now.mono, [&](model::id key, debts const& owed) {
        std::uint8_t slots = 0;
        for (std::size_t i = 0; i < owed.size(); ++i)
            if (owed[i] != 0) slots |= static_cast<std::uint8_t>(1u << i);
        to.add(key);
        to.add(slots);
        for (auto const debt : owed)
            if (debt != 0) to.add(debt);
        ++keys;
        return to.good();
    });
    to.add(model::id{0});
    to.add(keys);
    return to.end();
}

base::result<std::uint64_t> restore(buckets& to, base::instant now, std::string_view bytes) {
    constexpr std::size_t sum_bytes = sizeof(std::uint64_t);
    if (bytes.size() < sum_bytes) return base::error{"it is cut short"};
    auto const content = bytes.substr(0, bytes.size() - sum_bytes);
    if (base::get<std::uint64_t>(content.data() + content.size()) != checksum(content))
        return base::error{"its checksum is wrong"};
    base::reader from(content);
    if (from.bytes(magic.size()) != magic) return base::error{"it is something else"};
    if (from.integer<std::uint32_t>() != version)
        return base::error{"another version of the program wrote it"};
    auto const passed = passed_ns(from.integer<base::wall_ms>(), now.wall);
    if (!is_whole(from)) return base::error{"its records are not whole"};
    std::uint64_t keys = 0;
    for (auto one = read_record(from); one.key != 0; one = read_record(from), ++keys) {
        for (auto& debt : one.owed)
            debt = std::clamp<std::int64_t>(debt - passed, 0, refill_max_ns);
        to.restore_debt(one.key, one.owed, now.mono);
    }
    return keys;
}

}  // namespace latchkey::limit
