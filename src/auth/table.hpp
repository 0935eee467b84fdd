// The cache's hash table: digest → identity, of fixed size, 8-way set-associative with clock
// (second chance) eviction. Digests are uniform and cannot be chosen by a client, so their own bits
// select the bucket. The comparison with the digest in the record need not be in constant time: it
// tells a client only about SHA-256 of its own guess. One owner, one thread.
#pragma once

#include <array>
#include <boost/smart_ptr/local_shared_ptr.hpp>
#include <cstdint>
#include <vector>

#include "auth/identity.hpp"
#include "model/key.hpp"

namespace latchkey::auth {

class table {
  public:
    using entry = boost::local_shared_ptr<identity const>;

    explicit table(std::size_t entries);  // a power of two, at least 8

    // Prefetches the memory that `find` will read.
    void prefetch(model::digest const& digest) const;
    // Null when absent. The pointer holds until the next `insert`, `erase` or `clear`.
    entry const* find(model::digest const& digest);
    // The digest must not be in the table. Evicts an entry that was not found recently if the
    // bucket is full.
    void insert(entry added);
    bool erase(model::digest const& digest);
    std::size_t clear();  // returns the number of entries

  private:
    static constexpr unsigned ways = 8;

    struct alignas(64) bucket {
        std::array<std::uint16_t, ways>
            tags{};                    // 16 bits of each digest, compared before the records
        std::uint8_t ways_in_use = 0;  // a bit for each way
        std::uint8_t touched = 0;      // found since the clock hand passed
        std::uint8_t hand = 0;
        std::array<entry, ways> entries;
    };
    struct location {
        bucket& set;
        unsigned way;  // `ways`: absent
    };
    std::size_t index_of(model::digest const& digest) const;
    location locate(model::digest const& digest);
    static unsigned make_room(bucket& set);

    std::vector<bucket> buckets_;
};

}  // namespace latchkey::auth
