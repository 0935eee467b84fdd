// What the dearest request of each route costs that limits and bounds allow (dear_requests.hpp): a
// table of the turns that it takes, of the processor time of the longest of them from the parsed
// head to the made response, of what that turn reads by count, and of the bytes that it answers.
// Writes end where they become a command of the store.
//
//     dearest [KEYS]      20,000 keys unless said otherwise
//
// Exits with 1 if a turn takes more than 5 ms, but for writes.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/api/dear_requests.hpp"

int main(int count, char** words) {
    using namespace latchkey::api;
    dear_sizes sizes{.keys = count > 1 ? std::atoi(words[1]) : 20'000,
                     .posts = 100,
                     .small_posts = 200'000,
                     .events = 100,
                     .webhooks = 1000,
                     .map_bytes = std::size_t{2} << 30};
    api_fixture service(nullptr, sizes.map_bytes);
    fill_dearly(service, sizes);
    std::printf(
        "| request | status | turns | ms of the longest | ms by count | KiB |\n"
        "|---|---:|---:|---:|---:|---:|\n");
    bool is_dear = false;
    for (auto const& each : dear_requests(service, sizes)) {
        constexpr int repetitions = 5;
        std::int64_t fastest = INT64_MAX;
        reply response;
        for (int i = 0; i < repetitions; ++i) {
            response = service.request(each.line, each.body, each.fields);
            fastest = std::min(fastest, service.turn_ns);
        }
        auto const& field = each.fields.empty() ? std::string() : each.fields[0];
        std::printf("| %s%s%s | %d | %u | %.2f | %.2f | %zu |\n", each.line.substr(0, 70).c_str(),
                    field.empty() ? "" : ", ", field.c_str(), response.status, service.turns,
                    static_cast<double>(fastest) / 1e6,
                    static_cast<double>(service.turn_cost) / 1e6, response.body.size() / 1024);
        bool const reads = each.line.starts_with("GET") || each.line.starts_with("HEAD");
        is_dear = is_dear || (reads && fastest > 5'000'000);
    }
    return is_dear ? 1 : 0;
}
