// Clients that share a plan, settings and results: the main ones, or those of --beside. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "driver.hpp"
#include "field_encoder.hpp"

namespace load {

using ns = std::int64_t;
inline constexpr ns second = 1'000'000'000;

struct group {
    options const& settings;
    plan const& requests;
    std::optional<field_plan> fields;  // of HTTP/2
    ns interval = 0, next_due = 0;     // open loop
    std::deque<std::size_t> free;      // connections with capacity, one entry per request
    results outcome;

    group(options const& group_settings, plan const& group_requests)
        : settings(group_settings), requests(group_requests) {
        if (settings.http2) fields.emplace(requests, settings.tls);
        if (settings.rate > 0) interval = static_cast<ns>(double(second) / settings.rate);
        outcome.latencies.resize(requests.kinds().size());
    }
    bool expects(unsigned status) const {
        bool valid = settings.statuses.empty() && status / 100 == 2;
        for (auto const each : settings.statuses) valid |= each == status;
        return valid;
    }
    bool expects(unsigned status, std::size_t content) const {
        return expects(status) && content >= settings.bytes_min && content <= settings.bytes_max;
    }
};

}  // namespace load
