#include "http2_session.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace load {
namespace {

namespace http2 = latchkey::http2;
using http2::frame_head;
using http2::frame_type;

constexpr std::uint32_t stream_window = 1u << 24, connection_window = 1u << 30;
constexpr std::size_t header_table_bytes = 4096, text_bytes_max = 2000;

void put_code(std::uint32_t code, std::string& output) {
    constexpr std::array<std::string_view, 14> names{"NO_ERROR",
                                                     "PROTOCOL_ERROR",
                                                     "INTERNAL_ERROR",
                                                     "FLOW_CONTROL_ERROR",
                                                     "SETTINGS_TIMEOUT",
                                                     "STREAM_CLOSED",
                                                     "FRAME_SIZE_ERROR",
                                                     "REFUSED_STREAM",
                                                     "CANCEL",
                                                     "COMPRESSION_ERROR",
                                                     "CONNECT_ERROR",
                                                     "ENHANCE_YOUR_CALM",
                                                     "INADEQUATE_SECURITY",
                                                     "HTTP_1_1_REQUIRED"};
    output.append(code < names.size() ? names[code] : "unknown code");
}

std::string_view first_line(std::string_view bytes) {
    return bytes.substr(0, std::min({bytes.find('\r'), bytes.find('\n'), std::size_t{80}}));
}

}  // namespace

http2_session::http2_session(group const& owner, http2::header_text& text)
    : owner_(owner),
      text_(text),
      encoder_(*owner.fields),
      decoder_(header_table_bytes),
      exchanges_(std::bit_ceil(std::size_t{2} * owner.settings.pipeline + 1)),
      // `send` may pass over as many ids as there are slots.
      stream_last_(http2::stream_id_max - 2 * static_cast<std::uint32_t>(exchanges_.size())) {}

void http2_session::start(std::string& output) {
    output.append(http2::preface);
    http2::settings ours;
    ours.push = false;
    ours.window = stream_window;
    http2::put_settings(ours, output);
    http2::put_window_update(0, connection_window - http2::default_window, output);
}

std::size_t http2_session::capacity() const {
    return std::min<std::size_t>(owner_.settings.pipeline, server_.streams_max);
}

void http2_session::send(random& generator, std::uint64_t& unique, std::uint64_t& turn, ns start,
                         std::string& output) {
    // An id whose slot is taken is passed over (RFC 9113 §5.1.1 lets a client leave out ids), so
    // that a stream is found without a search.
    auto const slot_of = [&](std::uint32_t stream) -> exchange& {
        return exchanges_[stream / 2 & (exchanges_.size() - 1)];
    };
    while (slot_of(next_stream_).stream != 0) next_stream_ += 2;
    auto& slot = slot_of(next_stream_);
    slot.stream = std::exchange(next_stream_, next_stream_ + 2);
    ++active_;

    auto const choice = owner_.requests.select(generator, turn);
    auto const& kind = owner_.requests.kinds()[choice.kind];
    slot.kind = static_cast<std::uint32_t>(choice.kind);
    slot.start = start;
    path_.clear();
    if (!owner_.fields->of_kind(choice.kind).constant_path)
        kind.path.append(path_, generator, unique);
    std::array<char, 24> digits;
    std::size_t digit_count = 0;
    body_.clear();
    if (kind.has_body) {
        kind.body.append(body_, generator, unique);
        auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), body_.size());
        digit_count = static_cast<std::size_t>(end.ptr - digits.data());
    }
    auto const position = output.size();
    output.append(http2::frame_head_bytes, '\0');
    encoder_.encode(choice, path_, {digits.data(), digit_count}, output);
    auto const length = output.size() - position - http2::frame_head_bytes;
    if (length > http2::default_frame_bytes_max)
        throw std::runtime_error("the header fields of a request do not fit in a frame of HTTP/2");
    auto const end_stream = kind.has_body ? 0 : http2::flag::end_stream;
    http2::write_frame_head(
        {static_cast<std::uint32_t>(length), frame_type::headers,
         static_cast<std::uint8_t>(http2::flag::end_headers | end_stream), slot.stream},
        output.data() + position);
    if (!kind.has_body) return;
    unsent_body body{slot.stream, server_.window, std::move(body_)};
    send_body(body, output);
    if (!body.rest.empty())
        bodies_.push_back(std::move(body));
    else
        body_ = std::move(body.rest);  // keeps its memory
}

// As much as the windows allow.
void http2_session::send_body(unsent_body& body, std::string& output) {
    std::size_t position = 0;
    while (position < body.rest.size()) {
        auto const window = std::min(body.window, send_window_);
        if (window <= 0) break;
        auto const size = std::min({body.rest.size() - position, static_cast<std::size_t>(window),
                                    std::size_t{http2::default_frame_bytes_max}});
        bool const last = position + size == body.rest.size();
        http2::put_frame_head({static_cast<std::uint32_t>(size), frame_type::data,
                               last ? http2::flag::end_stream : std::uint8_t{0}, body.stream},
                              output);
        output.append(body.rest, position, size);
        position += size;
        body.window -= static_cast<std::int64_t>(size);
        send_window_ -= static_cast<std::int64_t>(size);
    }
    body.rest.erase(0, position);
}

void http2_session::send_bodies(std::string& output) {
    for (auto& each : bodies_) send_body(each, output);
    std::erase_if(bodies_, [](unsent_body const& each) { return each.rest.empty(); });
}

std::size_t http2_session::receive(std::string_view bytes, std::string& output, sink give) {
    if (!ready_ && bytes.starts_with("HTTP/1.")) {
        problem_ = "the server does not speak HTTP/2, it answers '";
        problem_.append(first_line(bytes)).append("'");
        return bytes.size();
    }
    std::size_t position = 0;
    while (problem_.empty() && bytes.size() - position >= http2::frame_head_bytes) {
        auto const head = http2::read_frame_head(bytes.data() + position);
        if (!ready_ && head.type != frame_type::settings) {
            fail("the first frame is not SETTINGS");
            break;
        }
        if (head.length > http2::default_frame_bytes_max) {
            fail("a frame is longer than 16,384 bytes");
            break;
        }
        auto const begin = position + http2::frame_head_bytes;
        if (bytes.size() - begin < head.length) break;
        handle(head, bytes.substr(begin, head.length), output, give);
        position = begin + head.length;
    }
    if (window_debt_ > connection_window / 2)
        http2::put_window_update(0, std::exchange(window_debt_, 0), output);
    return position;
}

void http2_session::handle(frame_head const& head, std::string_view payload, std::string& output,
                           sink give) {
    if (block_stream_ != 0 &&
        (head.type != frame_type::continuation || head.stream != block_stream_))
        return fail("a field block is interrupted");
    switch (head.type) {
        case frame_type::data:
            return on_data(head, payload, output, give);
        case frame_type::headers:
        case frame_type::continuation:
            return on_headers(head, payload, output, give);
        case frame_type::settings:
            return on_settings(head, payload, output);
        case frame_type::window_update:
            return on_window_update(head, payload, output);
        case frame_type::ping:
            if (payload.size() != 8) return fail("a PING has not 8 bytes");
            if (!head.has(http2::flag::ack)) http2::put_ping_ack(payload, output);
            return;
        case frame_type::rst_stream:
            if (payload.size() != 4) return fail("a RST_STREAM has not 4 bytes");
            if (auto* const target = find(head.stream); target != nullptr) {
                std::string reason = "the server reset the stream: ";
                put_code(http2::read_uint32(payload.data()), reason);
                lose(*target, std::move(reason), give);
            }
            return;
        case frame_type::goaway:
            return on_goaway(payload, give);
        case frame_type::push_promise:
            return fail("it pushes although that was switched off");
        case frame_type::priority:
        case frame_type::priority_update:
            return;
    }  // unknown frames are ignored (§4.1)
}

void http2_session::on_data(frame_head const& head, std::string_view payload, std::string& output,
                            sink give) {
    window_debt_ += head.length;  // with the padding (§6.9.1)
    auto const [bytes, code, dependency] = http2::content_of(head, payload);
    if (code != http2::error_code::no_error) return fail("the padding of DATA is wrong");
    auto* const target = find(head.stream);
    if (target == nullptr) return;
    if (target->status == 0) return fail("DATA comes before HEADERS");
    target->content += bytes.size();
    if (!target->text.empty() && target->text.size() < text_bytes_max)
        target->text.append(bytes.substr(0, text_bytes_max - target->text.size()));
    if (head.has(http2::flag::end_stream)) return finish(*target, output, give);
    target->window_debt += head.length;
    if (target->window_debt > stream_window / 2)
        http2::put_window_update(head.stream, std::exchange(target->window_debt, 0), output);
}

void http2_session::on_headers(frame_head const& head, std::string_view payload,
                               std::string& output, sink give) {
    auto block = payload;
    if (head.type == frame_type::headers) {
        auto const [bytes, code, dependency] = http2::content_of(head, payload);
        if (code != http2::error_code::no_error) return fail("the padding of HEADERS is wrong");
        block = bytes;
        block_last_ = head.has(http2::flag::end_stream);
    } else if (block_stream_ == 0) {
        return fail("CONTINUATION comes without HEADERS");
    }
    if (!head.has(http2::flag::end_headers)) {
        block_stream_ = head.stream;
        block_.append(block);
        if (block_.size() > text_.list_bytes_max()) fail("a field block is too long");
        return;
    }
    if (block_stream_ == 0) return on_block(block, head.stream, block_last_, output, give);
    block_stream_ = 0;
    on_block(std::exchange(block_, {}).append(block), head.stream, block_last_, output, give);
}

void http2_session::on_block(std::string_view block, std::uint32_t stream, bool last,
                             std::string& output, sink give) {
    auto* const target = find(stream);
    // That of a stream which is no more is read as well, for what it adds to the table.
    if (!read_fields(block, target) || target == nullptr) return;
    if (target->status < 200 && last) return fail("an answer ends without a final status");
    if (target->status / 100 == 1) {  // another follows (§8.1)
        target->status = 0;
        target->text.clear();
    }
    if (last) finish(*target, output, give);
}

bool http2_session::read_fields(std::string_view block, exchange* target) {
    bool const trailer = target == nullptr || target->status != 0;
    bool unexpected = false;
    auto const result = decoder_.decode(block, text_, [&](http2::header_field const& field) {
        if (trailer) return;
        if (field.name == ":status") {
            for (char const digit : field.value)
                target->status = target->status * 10 + static_cast<unsigned>(digit - '0');
            unexpected = !owner_.expects(target->status) && owner_.outcome.first_wrong.empty();
        } else if (field.id == latchkey::http::field_name::content_length) {
            std::from_chars(field.value.data(), field.value.data() + field.value.size(),
                            target->content_length);
        }
        if (unexpected)
            target->text.append(field.name).append(": ").append(field.value).append("\n");
    });
    if (result == http2::hpack_decoder::result::malformed)
        fail("a field block cannot be decoded");
    else if (result == http2::hpack_decoder::result::too_large)
        fail("a field block is too long");
    else if (!trailer && target->status < 100)
        fail("an answer has no :status");
    else
        return true;
    return false;
}

void http2_session::on_settings(frame_head const& head, std::string_view payload,
                                std::string& output) {
    if (head.has(http2::flag::ack)) return;
    auto const window = server_.window;
    if (http2::read_settings(payload, server_) != http2::error_code::no_error)
        return fail("its SETTINGS are wrong");
    for (auto& each : bodies_)
        each.window += std::int64_t{server_.window} - std::int64_t{window};  // §6.9.2
    encoder_.set_table_limit(server_.header_table_bytes);
    http2::put_settings_ack(output);
    ready_ = true;
    send_bodies(output);
}

void http2_session::on_window_update(frame_head const& head, std::string_view payload,
                                     std::string& output) {
    if (payload.size() != 4) return fail("a WINDOW_UPDATE has not 4 bytes");
    auto const increment = http2::read_uint32(payload.data()) & http2::window_max;
    if (head.stream == 0)
        send_window_ += increment;
    else
        for (auto& each : bodies_)
            if (each.stream == head.stream) each.window += increment;
    if (send_window_ > http2::window_max) return fail("its window is too large");
    if (!bodies_.empty()) send_bodies(output);
}

void http2_session::on_goaway(std::string_view payload, sink give) {
    if (payload.size() < 8) return fail("a GOAWAY has less than 8 bytes");
    auto const last_stream = http2::read_uint32(payload.data()) & http2::stream_id_max;
    goaway_ = "the server sent GOAWAY: ";
    put_code(http2::read_uint32(payload.data() + 4), goaway_);
    if (payload.size() > 8) goaway_.append(", ").append(payload.substr(8, text_bytes_max));
    for (auto& each : exchanges_)
        if (each.stream > last_stream) lose(each, goaway_, give);
}

exchange* http2_session::find(std::uint32_t stream) {
    if (stream % 2 == 0 || stream >= next_stream_) {
        fail("a frame is on a stream that was not opened");
        return nullptr;
    }
    auto& slot = exchanges_[stream / 2 & (exchanges_.size() - 1)];
    return slot.stream == stream ? &slot : nullptr;
}

void http2_session::finish(exchange& target, std::string& output, sink give) {
    auto const body =
        std::ranges::find(bodies_, target.stream, [](auto const& each) { return each.stream; });
    // An answer that needs no more of the request (§8.1).
    if (body != bodies_.end())
        http2::put_rst_stream(target.stream, http2::error_code::cancel, output);
    give(target, true);
    release(target);
}

void http2_session::lose(exchange& target, std::string reason, sink give) {
    target.text = std::move(reason);
    give(target, false);
    release(target);
}

void http2_session::release(exchange& target) {
    if (!bodies_.empty())
        std::erase_if(bodies_, [&](auto const& each) { return each.stream == target.stream; });
    target.stream = target.window_debt = 0;
    target.status = 0;
    target.content = 0;
    target.content_length = SIZE_MAX;
    target.text.clear();
    --active_;
}

void http2_session::fail(std::string_view fault) {
    if (!problem_.empty()) return;
    problem_ = "the server breaks HTTP/2: ";
    problem_.append(fault);
}

}  // namespace load
