// The Idempotency-Keys whose first request is still running, of all workers of a process (api.md
// §9: a repeat is answered 409 meanwhile). One per process; any thread. A mutex that only requests
// with such a key take. Must outlive its claims.
//
//     in_progress::claim const claim = running.enter(lineage, digest);
//     if (!claim) … 409 idempotency_in_progress …
#pragma once

#include <mutex>
#include <set>
#include <utility>

#include "model/key.hpp"

namespace latchkey::api {

class in_progress {
    using entry = std::pair<model::id, model::digest>;

  public:
    in_progress() = default;
    in_progress(in_progress const&) = delete;
    in_progress& operator=(in_progress const&) = delete;

    // Exclusive until it is destroyed. A default-constructed one holds nothing.
    class claim {
      public:
        claim() = default;
        claim(claim&& other) noexcept { *this = std::move(other); }
        claim& operator=(claim&& other) noexcept {
            if (this == &other) return *this;
            release();
            owner_ = std::exchange(other.owner_, nullptr);
            if (owner_ != nullptr) key_ = other.key_;
            return *this;
        }
        ~claim() { release(); }
        explicit operator bool() const { return owner_ != nullptr; }
        // Gives the key up; without effect where it holds none.
        void release() {
            if (owner_ != nullptr) std::exchange(owner_, nullptr)->leave(key_);
        }

      private:
        friend class in_progress;
        claim(in_progress& owner, entry const& key) : owner_(&owner), key_(key) {}

        in_progress* owner_ = nullptr;
        entry key_{};
    };
    // `digest` is the SHA-256 of an Idempotency-Key, `lineage` the line of API keys that uses it.
    // The claim is empty when another request holds it.
    claim enter(model::id lineage, model::digest const& digest) {
        entry const key{lineage, digest};
        std::lock_guard const lock(mutex_);
        return running_.insert(key).second ? claim(*this, key) : claim();
    }

  private:
    void leave(entry const& key) {
        std::lock_guard const lock(mutex_);
        running_.erase(key);
    }

    std::mutex mutex_;
    std::set<entry> running_;
};

}  // namespace latchkey::api
