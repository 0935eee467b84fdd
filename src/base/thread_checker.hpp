// Thread affinity, checked: an object that belongs to one thread says so where it is used. Compiled
// in where a sanitizer is or without optimisation; else it is empty and `check` does nothing.
//
//     [[no_unique_address]] base::thread_checker thread_;
//     thread_.attach();    // on the thread that owns the object from now on
//     thread_.check();     // ends the process on any other
#pragma once

#include "base/check.hpp"

#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || !defined(__OPTIMIZE__)
#include <thread>
#define LATCHKEY_CHECKS_THREADS
#endif

namespace latchkey::base {

class thread_checker {
  public:
#ifdef LATCHKEY_CHECKS_THREADS
    static constexpr bool active = true;
    void attach() { owner_ = std::this_thread::get_id(); }
    void check() const {
        base::check(owner_ == std::this_thread::get_id(), "an object was used on a foreign thread");
    }

  private:
    std::thread::id owner_ = std::this_thread::get_id();
#else
    static constexpr bool active = false;
    void attach() {}
    void check() const {}
#endif
};

}  // namespace latchkey::base
