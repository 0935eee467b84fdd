// The writer hashes each chunk of 64 KiB when it is full and mixes the hashes, so saving needs one
// chunk of memory. A restore reads all records twice: first to validate them, then to apply them,
// since a file that is wrong at its end must change nothing.
#include "limit/bucket_snapshot.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "base/bytes.hpp"
#include "base/hash.hpp"
#include "base/time_units.hpp"

namespace latchkey::limit {
namespace {

constexpr std::string_view magic = "lkbucket";
constexpr std::uint32_t format_version = 2;
constexpr std::size_t chunk_bytes = 64 * 1024;

// Collects bytes and passes them on in whole chunks, with a checksum over them.
class chunk_writer {
  public:
    explicit chunk_writer(base::function_ref<bool(std::string_view)> write) : write_(write) {}

    template <class Integer>
    void add(Integer value) {
        base::append(buffer_, value);
        if (buffer_.size() >= chunk_bytes) flush(chunk_bytes);
    }
    void add(std::string_view bytes) { buffer_.append(bytes); }
    bool end() {
        flush(buffer_.size());
        base::append(buffer_, sum_);
        return ok_ && write_(buffer_);
    }
    bool is_ok() const { return ok_; }

  private:
    void flush(std::size_t bytes) {
        auto const chunk = std::string_view(buffer_).substr(0, bytes);
        sum_ = base::mix(sum_, base::hash(chunk));
        ok_ = ok_ && write_(chunk);
        buffer_.erase(0, bytes);
    }

    base::function_ref<bool(std::string_view)> write_;
    std::string buffer_;
    std::uint64_t sum_ = 0;
    bool ok_ = true;
};

std::uint64_t checksum(std::string_view bytes) {
    std::uint64_t sum = 0;
    do {
        auto const chunk = bytes.substr(0, chunk_bytes);
        sum = base::mix(sum, base::hash(chunk));
        bytes.remove_prefix(chunk.size());
    } while (!bytes.empty());
    return sum;
}

struct entry {
    model::id key = 0;  // 0: the end marker
    bucket_debts debts{};
};

entry read_entry(base::reader& input, std::uint32_t version) {
    entry result;
    result.key = input.integer<model::id>();
    if (result.key == 0) return result;
    auto const slots = input.integer<std::uint8_t>();
    for (std::size_t i = 0; i < result.debts.debt.size(); ++i) {
        if ((slots >> i & 1) == 0) continue;
        result.debts.debt[i] = std::max<std::int64_t>(0, input.integer<std::int64_t>());
        if (version >= 2) result.debts.generation[i] = input.integer<std::uint64_t>();
    }
    return result;
}

// nullopt when the number of records is that of the end marker, nothing follows it, and all
// generations are of this store.
std::optional<base::error> validate(base::reader input, std::uint32_t version,
                                    std::uint64_t generation_max) {
    std::uint64_t keys = 0, newest = 0;
    for (auto record = read_entry(input, version); record.key != 0;
         record = read_entry(input, version)) {
        ++keys;
        newest = std::max(newest, *std::ranges::max_element(record.debts.generation));
    }
    if (input.integer<std::uint64_t>() != keys || !input.done())
        return base::error{"its records are not whole"};
    if (newest > generation_max) return base::error{"it belongs to another store"};
    return std::nullopt;
}

// The time elapsed since the save, less one millisecond: both times were truncated to whole ones,
// and a bucket must not fill too early.
std::int64_t elapsed_ns(base::wall_ms saved, base::wall_ms now) {
    if (saved < 0 || now <= saved) return 0;
    return std::min(now - saved - 1, refill_max_ns / base::millisecond) * base::millisecond;
}

}  // namespace

bool save(buckets const& source, base::instant now,
          base::function_ref<bool(std::string_view)> write) {
    chunk_writer output(write);
    output.add(magic);
    output.add(format_version);
    output.add(now.wall);
    std::uint64_t keys = 0;
    source.each_debt(now.mono, [&](model::id key, bucket_debts const& debts) {
        std::uint8_t slots = 0;
        for (std::size_t i = 0; i < debts.debt.size(); ++i)
            if (debts.debt[i] != 0) slots |= static_cast<std::uint8_t>(1u << i);
        output.add(key);
        output.add(slots);
        for (std::size_t i = 0; i < debts.debt.size(); ++i) {
            if (debts.debt[i] == 0) continue;
            output.add(debts.debt[i]);
            output.add(debts.generation[i]);
        }
        ++keys;
        return output.is_ok();
    });
    output.add(model::id{0});
    output.add(keys);
    return output.end();
}

base::result<std::uint64_t> restore(buckets& target, base::instant now, std::string_view bytes,
                                    std::uint64_t generation_max) {
    constexpr std::size_t sum_bytes = sizeof(std::uint64_t);
    if (bytes.size() < sum_bytes) return base::error{"it is cut short"};
    auto const content = bytes.substr(0, bytes.size() - sum_bytes);
    if (base::get<std::uint64_t>(content.data() + content.size()) != checksum(content))
        return base::error{"its checksum is wrong"};
    base::reader input(content);
    if (input.bytes(magic.size()) != magic) return base::error{"it is something else"};
    auto const version = input.integer<std::uint32_t>();
    if (version == 0 || version > format_version)
        return base::error{"another version of the program wrote it"};
    auto const elapsed = elapsed_ns(input.integer<base::wall_ms>(), now.wall);
    if (auto error = validate(input, version, generation_max)) return std::move(*error);
    std::uint64_t keys = 0;
    for (auto record = read_entry(input, version); record.key != 0;
         record = read_entry(input, version), ++keys) {
        for (auto& debt : record.debts.debt)
            debt = std::clamp<std::int64_t>(debt - elapsed, 0, refill_max_ns);
        target.restore_debt(record.key, record.debts, now.mono);
    }
    return keys;
}

}  // namespace latchkey::limit
