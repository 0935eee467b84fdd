// Delivers changes to webhooks: the thread that runs a `dispatcher`, and the link to the helper
// `latchkey-deliver`. Functions are the main thread's.
//
//     auto socket = start_helper("latchkey-deliver");    // before the first thread
//     auto deliverer = deliverer::make(std::move(socket), options);
//     deliverer->begin();
//     … deliverer.drain(); … the requests in flight finish … deliverer.finish(); stop the writer
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "base/result.hpp"
#include "base/system/descriptor.hpp"
#include "delivery/dispatcher.hpp"

namespace latchkey::delivery {

struct deliverer_options {
    store::environment& store;
    domain::writer& writer;
    std::vector<model::cidr> allow;
    cluster::node const* node = nullptr;  // null: no cluster
    std::string node_name;
    base::mono_ns lease_length = 0;
};

class deliverer {
  public:
    // The error is of a process that is short of descriptors.
    static base::result<std::unique_ptr<deliverer>> make(base::descriptor socket,
                                                         deliverer_options options);
    ~deliverer();  // finishes
    deliverer(deliverer const&) = delete;
    deliverer& operator=(deliverer const&) = delete;

    // `on_release`: the thread waits for `release`.
    enum class start : std::uint8_t { at_once, on_release };
    void begin(start time = start::at_once);
    void release();
    // Sends nothing more; what is in flight may still come to its end.
    void drain();
    // Commits the results that have come and ends the thread. While the writer runs. Idempotent.
    void finish();

    delivery_metrics const& metrics() const { return dispatcher_.metrics(); }

  private:
    deliverer(base::descriptor socket, deliverer_options options);
    void run();
    void await_release() const;
    void wait(base::mono_ns deadline);
    void wake();
    base::instant read_time() const;

    store::environment& store_;
    base::descriptor event_;
    deliver::protocol::helper_link link_;
    dispatcher dispatcher_;
    std::atomic<bool> is_held_{false}, is_draining_{false}, is_finishing_{false};
    std::thread thread_;
};

}  // namespace latchkey::delivery
