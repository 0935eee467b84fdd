#include "http2_api_client.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace latchkey::fake {
namespace {

using header_list = std::vector<std::pair<std::string, std::string>>;

std::vector<nghttp2_nv> native(header_list const& fields) {
    std::vector<nghttp2_nv> result;
    for (auto const& [name, value] : fields)
        result.push_back(
            {const_cast<std::uint8_t*>(reinterpret_cast<std::uint8_t const*>(name.data())),
             const_cast<std::uint8_t*>(reinterpret_cast<std::uint8_t const*>(value.data())),
             name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
    return result;
}

std::string_view text_of(std::uint8_t const* bytes, std::size_t count) {
    return {reinterpret_cast<char const*>(bytes), count};
}

}  // namespace

http2_api_client::http2_api_client(api_clients& clients)
    : sim_client(clients.world_, clients.fixture_.simulated_kernel()), clients_(clients) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_content);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
}

http2_api_client::~http2_api_client() {
    nghttp2_session_del(session_);
}

void http2_api_client::begin() {
    reads_slowly_ = world_.chance(80);
    connect(clients_.fixture_.listener());
    configure();
    unasked_ = 1 + static_cast<int>(world_.below(30));
    ask();
    if (world_.chance(60))
        world_.after(static_cast<base::mono_ns>(world_.below(20 * ms)), [this] {
            if (!has_ended()) reset();
        });
}

// Small windows, so that content waits for WINDOW_UPDATE.
void http2_api_client::configure() {
    nghttp2_settings_entry const window{
        NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
        world_.chance(300) ? 500 + static_cast<std::uint32_t>(world_.below(5000)) : 65'535};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &window, 1);
}

// Some at once, the others later.
void http2_api_client::ask() {
    if (has_ended() || goaway_ || clients_.fixture_.stopping()) return;
    for (auto count = 1 + world_.below(12); count > 0 && unasked_ > 0; --count, --unasked_) {
        switch (world_.below(12)) {
            case 0:
                send_too_much();
                break;
            case 1:
                read_nothing();
                break;
            case 2:
                read_posts();
                break;
            case 3:
            case 4:
                create_post();
                break;
            case 5:
            case 6:
                create_user();
                break;
            default:
                read_user();
        }
    }
    if (world_.chance(100)) {
        std::uint8_t const opaque[8]{};
        nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, opaque);
    }
    pump();
    if (unasked_ > 0)
        world_.after(static_cast<base::mono_ns>(world_.below(5 * ms)), [this] { ask(); });
}

void http2_api_client::read_user() {
    int const user = 1 + static_cast<int>(world_.below(users));
    auto const stream =
        submit("GET", "/api/v1/users/" + std::to_string(user),
               {.status = 200,
                .expected_content = "{\"id\":" + std::to_string(user) + ",\"name\":\"" +
                                    user_name(user) + "\",\"email\":\"" + user_email(user) + "\""});
    if (world_.chance(50)) cancel(stream);
}

void http2_api_client::read_posts() {
    auto const stream =
        submit("GET", "/api/v1/posts?user_id=1&limit=100",
               {.status = 200, .expected_content = "\"body\":\"" + post_body(posts) + "\""});
    if (world_.chance(50)) cancel(stream);
}

void http2_api_client::read_nothing() {
    submit("GET", "/api/v1/users/999999",
           {.status = 404, .expected_content = "\"code\":\"not_found\""});
}

void http2_api_client::create_user() {
    auto user = clients_.plan_creation();
    auto const names = "\"name\":\"" + user->name + "\",\"email\":\"" + user->email + "\"";
    auto const key = user->idempotency_key;
    auto const stream = submit("POST", "/api/v1/users",
                               {.body = "{" + names + "}",
                                .status = 201,
                                .expected_content = names,
                                .writes = true,
                                .creation = std::move(user)},
                               key);
    if (world_.chance(50)) cancel(stream);
}

// The response repeats the body.
void http2_api_client::create_post() {
    std::string text(world_.below(std::uint64_t{1} << world_.below(16)), 'p');
    auto const body = "\"title\":\"A title\",\"body\":\"" + text + "\"";
    submit("POST", "/api/v1/posts",
           {.body = "{\"user_id\":2," + body + "}",
            .status = 201,
            .expected_content = body,
            .writes = true});
}

void http2_api_client::send_too_much() {
    submit("POST", "/api/v1/posts",
           {.body = std::string(1'100'000 + world_.below(400'000), ' '),
            .status = 413,
            .expected_content = "\"code\":\"body_too_large\"",
            .writes = true});
}

std::int32_t http2_api_client::submit(std::string_view method, std::string const& path,
                                      request planned, std::string const& idempotency_key) {
    header_list fields{{":method", std::string(method)}, {":scheme", "https"},
                       {":authority", "here.example"},   {":path", path},
                       {"x-api-key", std::string(key)},  {"x-forwarded-proto", "https"}};
    if (!idempotency_key.empty()) fields.emplace_back("idempotency-key", idempotency_key);
    bool const has_body = !planned.body.empty();
    if (has_body) {
        fields.emplace_back("content-type", "application/json");
        if (world_.chance(500))
            fields.emplace_back("content-length", std::to_string(planned.body.size()));
    }
    nghttp2_data_provider provider{};
    provider.read_callback = [](nghttp2_session*, std::int32_t stream, std::uint8_t* output,
                                std::size_t size, std::uint32_t* flags, nghttp2_data_source*,
                                void* self) -> ssize_t {
        auto& one = static_cast<http2_api_client*>(self)->open_.at(stream);
        auto const count = one.body.copy(reinterpret_cast<char*>(output), size, one.sent_bytes);
        one.sent_bytes += count;
        if (one.sent_bytes == one.body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
        return static_cast<ssize_t>(count);
    };
    auto const native_fields = native(fields);
    auto const stream =
        nghttp2_submit_request(session_, nullptr, native_fields.data(), native_fields.size(),
                               has_body ? &provider : nullptr, nullptr);
    world_.expect(stream > 0, "libnghttp2 does not take a request");
    open_.emplace(stream, std::move(planned));
    return stream;
}

void http2_api_client::cancel(std::int32_t stream) {
    world_.after(static_cast<base::mono_ns>(world_.below(3 * ms)), [this, stream] {
        auto const place = open_.find(stream);
        if (place == open_.end() || has_ended()) return;
        place->second.cancelled = true;
        nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
        pump();
    });
}

// ---- what comes back

int http2_api_client::on_header(nghttp2_session*, nghttp2_frame const* frame,
                                std::uint8_t const* name, std::size_t name_bytes,
                                std::uint8_t const* value, std::size_t value_bytes, std::uint8_t,
                                void* self) {
    auto& client = *static_cast<http2_api_client*>(self);
    auto const place = client.open_.find(frame->hd.stream_id);
    if (place == client.open_.end()) return 0;
    auto const title = text_of(name, name_bytes);
    if (title == ":status")
        place->second.response_status =
            static_cast<unsigned>(std::stoul(std::string(text_of(value, value_bytes))));
    else if (title == "content-length")
        place->second.length = text_of(value, value_bytes);
    return 0;
}

int http2_api_client::on_content(nghttp2_session*, std::uint8_t, std::int32_t stream,
                                 std::uint8_t const* data, std::size_t bytes, void* self) {
    auto& client = *static_cast<http2_api_client*>(self);
    if (auto const place = client.open_.find(stream); place != client.open_.end())
        place->second.content.append(text_of(data, bytes));
    return 0;
}

int http2_api_client::on_close(nghttp2_session*, std::int32_t stream, std::uint32_t code,
                               void* self) {
    static_cast<http2_api_client*>(self)->finish(stream, code);
    return 0;
}

int http2_api_client::on_frame(nghttp2_session*, nghttp2_frame const* frame, void* self) {
    auto& client = *static_cast<http2_api_client*>(self);
    if (frame->hd.type != NGHTTP2_GOAWAY) return 0;
    client.world_.expect(frame->goaway.error_code == NGHTTP2_NO_ERROR,
                         "GOAWAY with " + std::to_string(frame->goaway.error_code));
    client.goaway_ = true;
    return 0;
}

void http2_api_client::finish(std::int32_t stream, std::uint32_t code) {
    auto const place = open_.find(stream);
    if (place == open_.end()) return;
    auto const answered = std::move(place->second);
    open_.erase(place);
    if (answered.cancelled) return;
    if (code == NGHTTP2_REFUSED_STREAM) {
        world_.expect(clients_.fixture_.stopping(), "a stream was refused without a reason");
        return;
    }
    world_.expect(code == NGHTTP2_NO_ERROR, "a stream ended with " + std::to_string(code));
    check(answered);
}

void http2_api_client::check(request const& answered) {
    auto const status = std::to_string(answered.response_status);
    world_.expect(
        answered.length.empty() || answered.length == std::to_string(answered.content.size()),
        "content of another length than announced, of a " + status);
    if (answered.writes && answered.response_status == 503) {
        if (answered.creation) clients_.repeat_creation(answered.creation);
        return;
    }
    world_.expect(
        answered.response_status == answered.status,
        status + " instead of " + std::to_string(answered.status) + ": " + answered.content);
    world_.expect(answered.content.find(answered.expected_content) != answered.content.npos,
                  "another content of a " + status + ": " + answered.content.substr(0, 500));
    if (!answered.creation) return;
    auto const begin = answered.content.find("\"id\":") + 5;
    answered.creation->id =
        answered.content.substr(begin, answered.content.find(',', begin) - begin);
}

void http2_api_client::pump() {
    std::uint8_t const* data = nullptr;
    for (ssize_t size; (size = nghttp2_session_mem_send(session_, &data)) > 0;)
        if (!has_ended() && !input_ended_) send(text_of(data, static_cast<std::size_t>(size)));
}

void http2_api_client::on_data(std::string_view bytes) {
    auto const count = nghttp2_session_mem_recv(
        session_, reinterpret_cast<std::uint8_t const*>(bytes.data()), bytes.size());
    world_.expect(count == static_cast<ssize_t>(bytes.size()), "frames that libnghttp2 refuses");
    pump();
    if (open_.empty() && unasked_ == 0 && !input_ended_ && world_.chance(300)) {
        input_ended_ = true;
        end_input();
    }
}

void http2_api_client::on_end(bool broken) {
    if (!broken && world_.chance(700)) kernel_.end(connection_);
    auto const unanswered = std::exchange(open_, {});
    if (clients_.any_end_allowed_) return;
    if (may_break()) {
        for (auto const& [stream, each] : unanswered)
            if (each.creation && !each.cancelled) clients_.repeat_creation(each.creation);
        return;
    }
    bool const waits =
        std::ranges::any_of(unanswered, [](auto const& each) { return !each.second.cancelled; });
    if (waits && !clients_.fixture_.stopping()) world_.fail("the end came before a response");
    if (broken && !goaway_) world_.fail("reset without a reason");
}

}  // namespace latchkey::fake
