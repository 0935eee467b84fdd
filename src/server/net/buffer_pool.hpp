// Strings for the buffers of connections, used again with their capacity, so that a connection in
// the steady state allocates nothing. Their contents are not wiped here. Belongs to its worker's
// thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace latchkey::server {

class buffer_pool {
  public:
    buffer_pool() = default;
    buffer_pool(buffer_pool const&) = delete;
    buffer_pool& operator=(buffer_pool const&) = delete;

    // Empty, with at least 1 KiB of capacity.
    std::string take() {
        if (spare_.empty()) {
            std::string fresh;
            fresh.reserve(fresh_bytes);
            return fresh;
        }
        auto buffer = std::move(spare_.back());
        spare_.pop_back();
        spare_bytes_ -= buffer.capacity();
        return buffer;
    }
    // Keeps it, or frees it where it is tiny, large, or one too many.
    void put(std::string&& buffer) {
        auto const bytes = buffer.capacity();
        if (bytes < kept_bytes_min || bytes > kept_bytes_max || spare_.size() >= buffers_max ||
            spare_bytes_ + bytes > bytes_max) {
            std::string().swap(buffer);
            return;
        }
        buffer.clear();
        spare_bytes_ += bytes;
        spare_.push_back(std::move(buffer));
    }

  private:
    static constexpr std::size_t fresh_bytes = 4096;
    static constexpr std::size_t kept_bytes_min = 1024;
    static constexpr std::size_t kept_bytes_max = 64 * 1024;
    static constexpr std::size_t buffers_max = 256;
    static constexpr std::size_t bytes_max = 4 * 1024 * 1024;  // of all together

    std::vector<std::string> spare_;
    std::size_t spare_bytes_ = 0;
};

}  // namespace latchkey::server
