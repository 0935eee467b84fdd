#include "talker.hpp"

#include <utility>

namespace latchkey::fake {

void talker::say(std::string_view bytes) {
    unsaid_.append(bytes);
    if (!std::exchange(speaking_, true))
        world_.after(static_cast<base::mono_ns>(world_.below(200 * us)), [this] { speak(); });
}

void talker::hang_up() {
    hanging_up_ = true;
    if (!speaking_) say({});
}

void talker::reset() {
    if (!unsaid_.empty() && world_.chance(500)) kernel_.send(line_, unsaid_.substr(0, 100));
    unsaid_.clear();
    kernel_.reset(line_);
}

void talker::speak() {
    speaking_ = false;
    if (ended_) return unsaid_.clear();
    static constexpr std::uint64_t sizes[] = {1, 16, 300, 5000, 100'000};
    auto const size = 1 + world_.below(sizes[world_.below(std::size(sizes))]);
    auto const piece = unsaid_.substr(0, size);
    unsaid_.erase(0, piece.size());
    if (!piece.empty()) kernel_.send(line_, piece);
    if (!unsaid_.empty())
        say({});
    else if (hanging_up_)
        kernel_.end(line_);
}

void talker::readable() {
    if (deaf_ && !line_->broken && !line_->output_ended) return;
    if (ended_ || std::exchange(listening_, true)) return;
    auto const pause = slow_ ? world_.below(20 * ms) : world_.below(100 * us);
    world_.after(static_cast<base::mono_ns>(pause), [this] { listen(); });
}

void talker::listen() {
    listening_ = false;
    if (ended_) return;
    auto const bytes =
        kernel_.take(line_, slow_ ? 1 + world_.below(2000) : 1 + world_.below(100'000));
    if (!bytes.empty()) heard(bytes);
    if (kernel::at_end(*line_)) {
        ended_ = true;
        ended(line_->broken);
    } else if (!line_->outbound.empty()) {
        readable();
    }
}

}  // namespace latchkey::fake
