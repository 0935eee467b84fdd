// A connection of TCP between helper and engine that a test can spoil: answers dropped, everything
// held up, cut. Passes bytes on a thread of its own.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "base/system/descriptor.hpp"

namespace latchkey::replicate {

class proxy {
  public:
    explicit proxy(int server_port);
    ~proxy();
    proxy(proxy const&) = delete;
    proxy& operator=(proxy const&) = delete;

    int port() const { return port_; }
    // From now on what the server sends is swallowed.
    void drop_answers() { dropping_ = true; }
    // From now on nothing goes either way, but the connections stay.
    void hold() { holding_ = true; }
    // The same of what the server sends, until `pass_answers`.
    void hold_answers() { holding_answers_ = true; }
    void pass_answers() { holding_answers_ = false; }
    // Ends all connections; later ones pass again.
    void cut() { cutting_ = true; }
    // No connection is accepted until `admit`: each is closed at once.
    void refuse() { refusing_ = true; }
    void admit() { refusing_ = false; }

  private:
    struct pair {
        base::descriptor client, server;
    };

    void run();
    void accept_one();
    bool pass(int source, int target, bool answers);

    int server_port_;
    int port_ = 0;
    base::descriptor listener_;
    std::vector<pair> pairs_;
    std::atomic<bool> dropping_ = false, holding_ = false, holding_answers_ = false,
                      cutting_ = false, refusing_ = false;
    std::atomic<bool> ending_ = false;
    std::thread thread_;
};

}  // namespace latchkey::replicate
