// Fuzzes bodies. The first byte chooses the operation, the rest is the body, which goes to one
// service as it is and to its twin in chunks: both responses must be equal and one that the
// operation can have, and an accepted record must read back as it was shown.
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

reply send(api_fixture& service, target const& target, std::string_view body, bool in_pieces) {
    lines const fields = {bearer(service.key), "Content-Type: " + std::string(target.type)};
    if (!in_pieces) return service.send(request_text(target.line, fields, body));
    // in_chunks() sets the type.
    auto text = in_chunks(target.line, {bearer(service.key)}, body);
    constexpr std::string_view type = "Content-Type: application/json";
    text.replace(text.find(type), type.size(), fields[1]);
    return service.send(std::move(text));
}

// The fixture treats these words in a response as a leak, also where a client names a member after
// its key and the fault names that member. A key that is sent as a credential must not come back.
bool has_words_of_harness(std::string_view body, std::string_view key) {
    auto const credential = "\"api_key\":\"" + std::string(key) + '"';
    auto const offset = credential.size() - key.size() - 1;  // of the key in the member
    for (auto i = body.find(key); i != body.npos; i = body.find(key, i + key.size()))
        if (i < offset || !body.substr(i - offset).starts_with(credential)) return true;
    for (auto const* const word : {"Access-Control-", "Content-Encoding", "echo.invalid"})
        if (body.find(word) != body.npos) return true;
    return false;
}

bool is_one_of(int status, std::initializer_list<int> all) {
    for (int const one : all)
        if (status == one) return true;
    return false;
}

// The response to a write of a user or a post shows the stored record.
void read_back(api_fixture& service, target const& target, reply const& response) {
    bool const user = target.line.find("/users") != target.line.npos;
    bool const post = target.line.find("/posts") != target.line.npos;
    if (response.status >= 300 || (!user && !post)) return;
    auto const path = std::string(user ? "/api/v1/users/" : "/api/v1/posts/") + response.at("/id");
    auto const again = service.request("GET " + path);
    want(again.status == 200 && again.body == response.body);
    // A shown record may be sent back, and changes nothing but the time.
    auto const put = service.request("PUT " + path, response.body);
    want(put.status == 200);
    auto const members = response.json().as_object();
    auto const document = put.json().as_object();
    for (auto const& [name, value] : document)
        want(name == "updated_at" || members.at(name) == value);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    prepare_fuzzer();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    static twins both;
    if (size < 2) return 0;
    auto const& target = targets[data[0] % std::size(targets)];
    std::string_view const body(reinterpret_cast<char const*>(data) + 1, size - 1);
    both.begin();
    if (has_words_of_harness(body, both.first().key)) return 0;

    auto const whole = send(both.first(), target, body, false);
    bool committed = both.first().committed;
    auto const chunked = send(both.second(), target, body, true);
    committed |= both.second().committed;
    if (committed) both.mark_changed();
    want(whole.head == chunked.head && whole.body == chunked.body);
    want(is_one_of(whole.status, {200, 201, 202, 204, 400, 401, 404, 409, 413, 422}));
    read_back(both.first(), target, whole);
    return 0;
}
