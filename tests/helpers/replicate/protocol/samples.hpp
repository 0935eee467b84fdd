// One message of each type, with every member set to something else than its default.
#pragma once

#include <algorithm>
#include <vector>

#include "helpers/replicate/protocol/replicate_messages.hpp"

namespace latchkey::replicate::protocol {

inline identity identity_of(char byte) {
    identity value;
    std::ranges::fill(value, byte);
    return value;
}

inline quota_ask sample_quota_ask() {
    quota_want const want{5, 6, 10, 1000, {{1, 2, 100, 60}, {2, 3, 200, 70}}, {{1, 4, 2, 3}}};
    return {7, 3, 99, 333'333, 500'000, {want}};
}

inline quota_answer sample_quota_answer() {
    return {true, 333'333, 98, {{"one", 7, 3, 333'333, 97}}, {{5, 6, 4, 55, {11, 12}}}};
}

inline std::vector<envelope> sample_messages() {
    log_row const row{5, identity_of('n'), 3, true, std::string("eff\0ects", 8)};
    auto successor = row;
    successor.previous = identity_of('p');
    key_digest digest;
    std::ranges::fill(digest, 'd');
    node_state const node{"one", identity_of('i'), 9, 8, 30'000, 3, "0.1", true, true, 77, 88};
    return {{0, configure{7, "host=x", "one", identity_of('i'), identity_of('c'), digest, "0.1", 3,
                          30'000}},
            {1, append{successor}},
            {2, resolve{5, identity_of('n'), 3, identity_of('p')}},
            {3, reserve{4, identity_of('n')}},
            {4, release{}},
            {5, tail{6, identity_of('n')}},
            {6, begin_lease{}},
            {7, applied{9, true}},
            {8, watch{9}},
            {9, leave{"two"}},
            {10, status{}},
            {11, read_state{true}},
            {12, init_begin{identity_of('c')}},
            {13, init_end{4, 3}},
            {0, hello{protocol_version, 7}},
            {0, ready{identity_of('c'), 9, 5, 4}},
            {16, failed{failure::other_key, true, "another key"}},
            {17, appended{append_result::lost, 5}},
            {18, reserved{true, 9}},
            {0, rows{{row, row}}},
            {0, lease{123, 9}},
            {0, confirmed{9, 456, 10}},
            {0, nodes{{node, node}}},
            {0, engine{true, "db1"}},
            {24, completion{}},
            {25, status_report{"PostgreSQL 15", "db1", true, identity_of('c'), 9, 5, 4, 1, {node}}},
            {26, state_begin{5, 9, 3, identity_of('n')}},
            {27, state_chunk{{{1, "key", "value"}, {2, "", ""}}}},
            {28, state_end{2}},
            {29, sample_quota_ask()},
            {30, sample_quota_answer()}};
}

}  // namespace latchkey::replicate::protocol
