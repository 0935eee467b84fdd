// The dearest request of each route that limits and bounds allow, and what makes it dear: records
// as large as they may be, of characters that are long in JSON, and many of them. For the test that
// counts what each costs (cost_test.cpp) and the program that measures it (bench/micro/dearest.cpp).
#pragma once

#include <string>
#include <vector>

#include "harness.hpp"

namespace latchkey::api {

struct dear_sizes {
    int keys = 2'500;   // more than are counted for a total; each with 2 KiB of metadata and usage
    int users = 2'500;  // more than are counted, with names and addresses as long as they may be
    int posts = 6;      // of 64 KiB
    int small_posts = 0;
    int events = 4;  // of 256 KiB
    int webhooks = 30;
    int deliveries = 2'000;  // of one webhook, with ten attempts each
    int dear_changes = 150;  // of 128 KiB
    std::size_t map_bytes = 256u << 20;
};

struct dear_request {
    std::string line;  // without its version
    std::string body = {};
    lines fields = {};
    std::string key = {};  // in place of the service's
};

void fill_dearly(api_fixture& service, dear_sizes const& sizes);
// Of a store that was filled so; the ids are those of `service`. What they write is there for the
// next ones, and what they delete is not.
std::vector<dear_request> dear_requests(api_fixture& service, dear_sizes const& sizes);
reply send(api_fixture& service, dear_request const& request);
// The dearest of the steps in which all changes are read for a stream of few types, and for one of
// all of them: what each reads, in ns (store::read_work), and its processor time.
struct dear_step {
    std::int64_t cost = 0, ns = 0;
    unsigned count = 0;
};
dear_step follow_changes(api_fixture& service, std::string_view query);

}  // namespace latchkey::api
