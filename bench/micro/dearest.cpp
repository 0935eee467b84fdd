// What the dearest request of each route costs that limits and bounds allow (dear_requests.hpp): a
// table of the turns that it takes, of the processor time of the longest of them from the parsed
// head to the made response, of what that turn reads by count, of the processor time of its commit,
// which another thread spends, and of the bytes that it answers.
//
//     dearest [KEYS]      20,000 keys unless said otherwise
//
// Exits with 1 if a turn takes more than 5 ms.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/api/dear_requests.hpp"

int main(int count, char** words) {
    using namespace latchkey::api;
    dear_sizes sizes{.keys = count > 1 ? std::atoi(words[1]) : 20'000,
                     .users = 20'000,
                     .posts = 100,
                     .small_posts = 200'000,
                     .events = 100,
                     .webhooks = 1000,
                     .deliveries = 12'000,
                     .dear_changes = 400,
                     .map_bytes = std::size_t{4} << 30};
    api_fixture service(nullptr, sizes.map_bytes);
    fill_dearly(service, sizes);
    std::printf(
        "| request | status | turns | ms of the longest | ms by count | ms of the commit | KiB |\n"
        "|---|---:|---:|---:|---:|---:|---:|\n");
    auto const ms = [](std::int64_t ns) { return static_cast<double>(ns) / 1e6; };
    std::int64_t dearest = 0;
    auto const note = [&](std::int64_t ns) { dearest = std::max(dearest, ns); };
    for (auto const& each : dear_requests(service, sizes)) {
        bool const reads = each.line.starts_with("GET") || each.line.starts_with("HEAD");
        std::int64_t fastest = INT64_MAX;
        reply response;
        for (int i = 0; i < (reads ? 5 : 1); ++i) {
            response = send(service, each);
            fastest = std::min(fastest, service.turn_ns);
        }
        note(fastest);
        auto const field = each.fields.empty() ? std::string() : each.fields[0].substr(0, 30);
        std::printf("| %s%s%s%s | %d | %u | %.2f | %.2f | %.2f | %zu |\n",
                    each.line.substr(0, 70).c_str(), field.empty() ? "" : ", ", field.c_str(),
                    each.key.empty() ? "" : ", of a project", response.status, service.turns,
                    ms(fastest), ms(service.turn_cost), ms(service.commit_ns),
                    response.body.size() / 1024);
    }
    for (auto const* const query : {"?after=0", "?after=0&type=key.deactivated"}) {
        auto fastest = follow_changes(service, query);
        for (int i = 0; i < 4; ++i)
            fastest.ns = std::min(fastest.ns, follow_changes(service, query).ns);
        note(fastest.ns);
        std::printf("| a stream of /api/v1/changes%s | 200 | %u | %.2f | %.2f | | |\n", query,
                    fastest.count, ms(fastest.ns), ms(fastest.cost));
    }
    return dearest > 5'000'000 ? 1 : 0;
}
