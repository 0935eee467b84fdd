// Logs, once each, when the machine's clock and store time (store/time.hpp) diverge by more
// than the allowed step, and when they agree again. Called every minute on the main thread. It only
// reports; the store decides which time counts.
#pragma once

#include "store/environment.hpp"

namespace latchkey::server {

class clock_watch {
  public:
    void look(store::environment::clock_offset const& offset);

  private:
    bool diverged_ = false;
};

}  // namespace latchkey::server
