#include "sim_client.hpp"

#include <utility>

namespace latchkey::fake {

void sim_client::send(std::string_view bytes) {
    unsent_.append(bytes);
    if (!std::exchange(sending_, true))
        world_.after(static_cast<base::mono_ns>(world_.below(200 * us)), [this] { send_piece(); });
}

void sim_client::end_input() {
    ending_ = true;
    if (!sending_) send({});
}

void sim_client::reset() {
    if (!unsent_.empty() && world_.chance(500)) kernel_.send(connection_, unsent_.substr(0, 100));
    unsent_.clear();
    kernel_.reset(connection_);
}

void sim_client::send_piece() {
    sending_ = false;
    if (ended_) return unsent_.clear();
    static constexpr std::uint64_t sizes[] = {1, 16, 300, 5000, 100'000};
    auto const size = 1 + world_.below(sizes[world_.below(std::size(sizes))]);
    auto const piece = unsent_.substr(0, size);
    unsent_.erase(0, piece.size());
    if (!piece.empty()) kernel_.send(connection_, piece);
    if (!unsent_.empty())
        send({});
    else if (ending_)
        kernel_.end(connection_);
}

void sim_client::readable() {
    if (reads_nothing_ && !connection_->broken && !connection_->output_ended) return;
    if (ended_ || std::exchange(reading_, true)) return;
    auto const pause = reads_slowly_ ? world_.below(20 * ms) : world_.below(100 * us);
    world_.after(static_cast<base::mono_ns>(pause), [this] { read_piece(); });
}

void sim_client::read_piece() {
    reading_ = false;
    if (ended_) return;
    auto const bytes = kernel_.take(
        connection_, reads_slowly_ ? 1 + world_.below(2000) : 1 + world_.below(100'000));
    if (!bytes.empty()) on_data(bytes);
    if (kernel::at_end(*connection_)) {
        ended_ = true;
        on_end(connection_->broken);
    } else if (!connection_->outbound.empty()) {
        readable();
    }
}

}  // namespace latchkey::fake
