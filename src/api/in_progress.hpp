// The Idempotency-Keys whose first request has not been answered yet, of all workers of a process
// (API §9: 409 meanwhile). One for a process; any thread. A lock, which only requests with such a
// key take. Must outlive its claims.
//
//     in_progress::claim const mine = running.enter(lineage, digest);
//     if (!mine) … 409 idempotency_in_progress …
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

    // Nobody else enters until it goes. One that was made without `enter` holds nothing.
    class claim {
      public:
        claim() = default;
        claim(claim&& other) noexcept { *this = std::move(other); }
        claim& operator=(claim&& other) noexcept {
            if (this == &other) return *this;
            give_up();
            of_ = std::exchange(other.of_, nullptr);
            if (of_ != nullptr) what_ = other.what_;
            return *this;
        }
        ~claim() { give_up(); }
        explicit operator bool() const { return of_ != nullptr; }

      private:
        friend class in_progress;
        claim(in_progress& of, entry const& what) : of_(&of), what_(what) {}
        void give_up() {
            if (of_ != nullptr) std::exchange(of_, nullptr)->leave(what_);
        }

        in_progress* of_ = nullptr;
        entry what_{};
    };
    // `key` is the SHA-256 of an Idempotency-Key, used by keys of that line. Holds nothing when
    // somebody else does.
    claim enter(model::id lineage, model::digest const& key) {
        entry const what{lineage, key};
        std::lock_guard const lock(mutex_);
        return running_.insert(what).second ? claim(*this, what) : claim();
    }

  private:
    void leave(entry const& what) {
        std::lock_guard const lock(mutex_);
        running_.erase(what);
    }

    std::mutex mutex_;
    std::set<entry> running_;
};

}  // namespace latchkey::api
