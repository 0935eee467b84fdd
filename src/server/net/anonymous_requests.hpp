// Requests of one worker that wait for the body in which their key may be (docs/api.md §2, way 4).
// Their clients are not identified yet, so they are bounded apart from all others: by number, and
// by the bytes that have arrived, not those that were announced. Past a bound the client that has
// most of them loses the one that has waited longest: a client that sends its body takes one round
// trip, and is served however many do not send theirs, and however fast others begin new ones.
//
//     anonymous_requests::entry entry;  entry.drop = …;
//     requests.enter(entry, address);
//     if (!requests.hold(entry, body.size())) …   // dropped: answer 503
//     requests.leave(entry);
//
// An intrusive queue; belongs to its worker's thread. Entries belong to their connections, and
// leave before they die. Nothing here fails or allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/limits.hpp"
#include "model/address.hpp"

namespace latchkey::server {

class anonymous_requests {
  public:
    static constexpr std::size_t count_max = base::limits::anonymous_requests_max;

    struct entry {
        // Called once when the request is dropped for another one; it has left by then.
        void (*drop)(entry& self) = nullptr;
        bool waits = false;

      private:
        friend class anonymous_requests;
        entry* older_ = nullptr;
        entry* newer_ = nullptr;
        std::size_t bytes_ = 0;
        std::uint8_t client_ = 0;
    };

    anonymous_requests() = default;
    anonymous_requests(anonymous_requests const&) = delete;
    anonymous_requests& operator=(anonymous_requests const&) = delete;

    // Before the first request: nobody can then have the same place as a client of their choice.
    void set_seed(std::uint64_t seed) { seed_ = seed; }
    // The bound of all bodies together; one body of the largest size always fits.
    void set_bytes_max(std::size_t bytes_max) { bytes_max_ = bytes_max; }

    // nullopt: the client is unknown; those count as one.
    void enter(entry& request, std::optional<model::address> const& client);
    // `bytes` of its body have arrived. False: the request was dropped and has been removed.
    bool hold(entry& request, std::size_t bytes);
    // Does nothing where it does not wait.
    void leave(entry& request);

    std::size_t count() const { return count_; }
    std::size_t bytes() const { return bytes_; }

  private:
    // Of clients with the same hash of their network.
    struct usage {
        std::size_t count = 0, bytes = 0;
    };
    entry& oldest_of_largest(std::size_t usage::* size);
    void drop(entry& request);

    std::uint64_t seed_ = 0;
    std::array<usage, 256> clients_{};
    entry* oldest_ = nullptr;
    entry* newest_ = nullptr;
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
    std::size_t bytes_max_ = base::limits::credential_bodies_bytes_max;
};

}  // namespace latchkey::server
