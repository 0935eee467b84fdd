// The cache's table: digest → identity, of fixed size, in buckets of eight. A digest is uniform and
// nobody can choose it, so its own bits pick the bucket, and it is compared as a whole, with the
// one in the key's record, without regard to time: what a client learns about SHA-256 of its own
// guess is nothing. One owner, one thread.
#pragma once

#include <array>
#include <boost/smart_ptr/local_shared_ptr.hpp>
#include <cstdint>
#include <vector>

#include "auth/cache.hpp"
#include "model/key.hpp"

namespace latchkey::auth {

class table {
  public:
    using entry = boost::local_shared_ptr<identity const>;

    explicit table(std::size_t entries);  // a power of two, at least 8

    // Has the memory fetched that `find` is going to read. Only a hint.
    void prefetch(model::digest const& digest) const;
    // Null when it is not there. The pointer holds until the next `insert`, `erase` or `clear`.
    entry const* find(model::digest const& digest);
    // Its digest must not be there. Pushes out one that was not found of late when its bucket is
    // full.
    void insert(entry who);
    bool erase(model::digest const& digest);
    std::size_t clear();  // how many there were

  private:
    static constexpr unsigned ways = 8;

    struct alignas(64) bucket {
        std::array<std::uint16_t, ways> tags{};  // of each digest: others' are not read
        std::uint8_t used = 0;                   // a bit for each way
        std::uint8_t touched = 0;                // found since the hand passed
        std::uint8_t hand = 0;
        std::array<entry, ways> who;
    };
    struct place {
        bucket& in;
        unsigned way;  // `ways`: not there
    };
    std::size_t index_of(model::digest const& digest) const;
    place locate(model::digest const& digest);
    static unsigned make_room(bucket& in);

    std::vector<bucket> buckets_;
};

}  // namespace latchkey::auth
