// The dearest request of each route that limits and bounds allow, and what makes it dear: records
// as large as they may be, of characters that are long in JSON, and many of them. For the test that
// counts what each costs (cost_test.cpp) and the program that measures it (bench/micro/dearest.cpp).
#pragma once

#include <string>
#include <vector>

#include "harness.hpp"

namespace latchkey::api {

struct dear_sizes {
    int keys = 2'500;  // more than are counted for a total; each with 2 KiB of metadata and usage
    int posts = 6;     // of 64 KiB
    int small_posts = 0;
    int events = 4;  // of 256 KiB
    int webhooks = 30;
    std::size_t map_bytes = 64u << 20;
};

struct dear_request {
    std::string line;  // without its version
    std::string body = {};
    lines fields = {};
};

void fill_dearly(api_fixture& service, dear_sizes const& sizes);
// Of a store that was filled so; the ids are those of `service`.
std::vector<dear_request> dear_requests(api_fixture& service, dear_sizes const& sizes);

}  // namespace latchkey::api
