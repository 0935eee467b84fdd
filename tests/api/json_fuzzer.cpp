// Bodies of every kind. The first byte chooses who gets them, the rest is the body, which goes to
// one station as it is and to its twin in chunks: both give the same answer, it is one that the
// operation can give, and what was taken reads back as it was shown.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "twins.hpp"

namespace {

using namespace latchkey::api;

struct target {
    std::string_view line;
    std::string_view type = "application/json";
};

constexpr std::string_view merge = "application/merge-patch+json";

constexpr target targets[] = {
    {"POST /api/v1/users"},
    {"PUT /api/v1/users/1"},
    {"PATCH /api/v1/users/1", merge},
    {"POST /api/v1/posts"},
    {"PUT /api/v1/posts/1"},
    {"PATCH /api/v1/posts/1", merge},
    {"POST /api/v1/keys"},
    {"PATCH /api/v1/keys/1", merge},
    {"POST /api/v1/keys/verify"},
    {"POST /api/v1/keys/1/rotate"},
    {"POST /api/v1/events/a_source"},
    {"PUT /api/v1/events/a_source/secret"},
};

reply send(station& to, target const& what, std::string_view body, bool in_pieces) {
    lines const fields = {bearer(to.key), "Content-Type: " + std::string(what.type)};
    if (!in_pieces) return to.send(request_text(what.line, fields, body));
    // in_chunks() names a type of its own.
    auto text = in_chunks(what.line, {bearer(to.key)}, body);
    constexpr std::string_view type = "Content-Type: application/json";
    text.replace(text.find(type), type.size(), fields[1]);
    return to.send(std::move(text));
}

// The harness takes these for a leak, wherever an answer shows them: also where a client calls a
// member by its own key and is told that there is no member of that name. Sent as what it is, the
// key must not come back.
bool has_words_of_harness(std::string_view body, std::string_view key) {
    auto const credential = "\"api_key\":\"" + std::string(key) + '"';
    for (auto at = body.find(key); at != body.npos; at = body.find(key, at + key.size())) {
        auto const before = credential.size() - key.size() - 1;
        if (at < before || !body.substr(at - before).starts_with(credential)) return true;
    }
    for (auto const* const word : {"Access-Control-", "Content-Encoding", "echo.invalid"})
        if (body.find(word) != body.npos) return true;
    return false;
}

bool is_one_of(int status, std::initializer_list<int> all) {
    for (int const one : all)
        if (status == one) return true;
    return false;
}

// A user or post is shown by its answer as it is stored.
void read_back(station& at, target const& what, reply const& made) {
    bool const user = what.line.find("/users") != what.line.npos;
    bool const post = what.line.find("/posts") != what.line.npos;
    if (made.status >= 300 || (!user && !post)) return;
    auto const path = std::string(user ? "/api/v1/users/" : "/api/v1/posts/") + made.at("/id");
    auto const again = at.ask("GET " + path);
    want(again.status == 200 && again.body == made.body);
    // What was shown may be sent back, and changes nothing but the time.
    auto const put = at.ask("PUT " + path, made.body);
    want(put.status == 200);
    auto const before = made.json().as_object();
    auto const behind = put.json().as_object();
    for (auto const& [name, value] : behind) want(name == "updated_at" || before.at(name) == value);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    prepare_fuzzer();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    static twins both;
    if (size < 2) return 0;
    auto const& what = targets[data[0] % std::size(targets)];
    std::string_view const body(reinterpret_cast<char const*>(data) + 1, size - 1);
    both.begin();
    if (has_words_of_harness(body, both.first().key)) return 0;

    auto const whole = send(both.first(), what, body, false);
    bool written = both.first().committed;
    auto const chunked = send(both.second(), what, body, true);
    written |= both.second().committed;
    if (written) both.written();
    want(whole.head == chunked.head && whole.body == chunked.body);
    want(is_one_of(whole.status, {200, 201, 202, 204, 400, 401, 404, 409, 413, 422}));
    read_back(both.first(), what, whole);
    return 0;
}
