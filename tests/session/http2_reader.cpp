#include "http2_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace latchkey::session {
namespace {

using h2::frame_type;
namespace flag = h2::flag;

// RFC 9113 §7.
std::string name_of_error(std::uint32_t code) {
    constexpr std::array<char const*, 14> names{"NO_ERROR",
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
    return code < names.size() ? names[code] : std::to_string(code);
}

bool is_connection_specific(std::string_view name) {
    return name == "connection" || name == "keep-alive" || name == "proxy-connection" ||
           name == "transfer-encoding" || name == "upgrade";
}

}  // namespace

void http2_reader::expect_acknowledgements(std::string_view frames) {
    if (frames.starts_with(h2::preface)) frames.remove_prefix(h2::preface.size());
    while (frames.size() >= h2::frame_head_bytes) {
        auto const head = h2::read_frame_head(frames.data());
        auto payload = frames.substr(h2::frame_head_bytes, head.length);
        frames.remove_prefix(h2::frame_head_bytes + payload.size());
        if (head.type != frame_type::settings || head.has(flag::ack)) continue;
        std::optional<std::uint32_t> table_size;
        for (; payload.size() >= 6; payload.remove_prefix(6))
            if (payload.starts_with(std::string_view("\0\x01", 2)))
                table_size = h2::read_uint32(payload.data() + 2);
        table_sizes_.push_back(table_size);
    }
}

void http2_reader::read(std::string_view output) {
    events_.clear();
    while (!output.empty()) {
        ASSERT_GE(output.size(), h2::frame_head_bytes) << "half a frame";
        auto const head = h2::read_frame_head(output.data());
        auto const payload = output.substr(h2::frame_head_bytes, head.length);
        ASSERT_EQ(payload.size(), head.length) << "half a frame";
        EXPECT_LE(head.length, h2::default_frame_bytes_max);
        read_frame(head, payload);
        output.remove_prefix(h2::frame_head_bytes + head.length);
    }
}

void http2_reader::read_frame(h2::frame_head const& head, std::string_view payload) {
    if (std::exchange(is_first_frame_, false))
        EXPECT_TRUE(head.type == frame_type::settings && !head.has(flag::ack)) << "3.4: SETTINGS";
    switch (head.type) {
        case frame_type::headers:
            return read_block(head, payload);
        case frame_type::data:
            return read_data(head, payload);
        case frame_type::settings:
            return read_settings(head, payload);
        case frame_type::goaway:
            return read_goaway(payload);
        case frame_type::rst_stream: {
            ASSERT_EQ(payload.size(), 4u);
            EXPECT_EQ(head.stream % 2, 1u) << "6.4: RST_STREAM of an idle stream";
            auto& target = streams_[head.stream];
            EXPECT_FALSE(target.reset) << "5.4.2: " << head.stream << " was reset before";
            target.reset = true;
            target.reset_code = h2::read_uint32(payload.data());
            return tell(std::to_string(head.stream) + ": RST_STREAM " +
                        name_of_error(h2::read_uint32(payload.data())));
        }
        case frame_type::ping:
            EXPECT_EQ(head.stream, 0u);
            ASSERT_EQ(payload.size(), 8u);
            return tell(head.has(flag::ack) ? "pong " + std::string(payload) : "drain");
        case frame_type::window_update:
            ASSERT_EQ(payload.size(), 4u);
            EXPECT_NE(h2::read_uint32(payload.data()), 0u);
            return;
        default:
            ADD_FAILURE() << "a frame of type " << static_cast<unsigned>(head.type);
    }
}

http2_reader::stream& http2_reader::open_stream(h2::frame_head const& head,
                                                char const* frame_name) {
    EXPECT_EQ(head.stream % 2, 1u) << frame_name << " of stream " << head.stream;
    auto& target = streams_[head.stream];
    EXPECT_FALSE(target.has_end || target.reset)
        << "5.1: " << frame_name << " of closed stream " << head.stream;
    return target;
}

void http2_reader::read_block(h2::frame_head const& head, std::string_view payload) {
    auto& target = open_stream(head, "HEADERS");
    ASSERT_TRUE(head.has(flag::end_headers)) << "all blocks of these tests are short";
    auto const fields = decoder_.decode(std::string(payload));
    ASSERT_TRUE(fields) << "4.3: the block of stream " << head.stream << " is malformed";
    ASSERT_FALSE(fields->empty());
    EXPECT_EQ(fields->front().first, ":status") << "8.3.2";
    for (auto const& [name, value] : *fields) {
        EXPECT_TRUE(
            std::ranges::none_of(name, [](char byte) { return byte >= 'A' && byte <= 'Z'; }))
            << "8.2.1: " << name;
        EXPECT_FALSE(is_connection_specific(name)) << "8.2.2: " << name;
        if (name == "content-length") target.length = value;
    }
    target.status = static_cast<unsigned>(std::stoul(fields->front().second));
    auto const text = std::to_string(head.stream) + ": " + fields->front().second;
    tell(text, target.status >= 200 ? head.stream : 0);
    if (head.has(flag::end_stream)) end(target, head.stream);
}

void http2_reader::read_data(h2::frame_head const& head, std::string_view payload) {
    auto& target = open_stream(head, "DATA");
    EXPECT_GE(target.status, 200u) << "8.1: DATA in front of HEADERS";
    target.content_bytes += payload.size();
    if (head.has(flag::end_stream)) end(target, head.stream);
}

void http2_reader::end(stream& target, std::uint32_t id) {
    EXPECT_GE(target.status, 200u) << "8.1: an interim response ends stream " << id;
    target.has_end = true;
    if (target.content_bytes != 0)
        EXPECT_EQ(std::to_string(target.content_bytes), target.length) << "8.1.1: stream " << id;
}

void http2_reader::read_settings(h2::frame_head const& head, std::string_view payload) {
    EXPECT_EQ(head.stream, 0u);
    EXPECT_EQ(payload.size() % 6, 0u);
    if (!head.has(flag::ack)) return tell("settings");
    tell("ack");
    EXPECT_TRUE(payload.empty());
    ASSERT_FALSE(table_sizes_.empty()) << "6.5.3: an ACK too many";
    if (auto const table_size = table_sizes_.front()) decoder_.set_table_bytes(*table_size);
    table_sizes_.pop_front();
}

void http2_reader::read_goaway(std::string_view payload) {
    ASSERT_GE(payload.size(), 8u);
    auto const last = h2::read_uint32(payload.data());
    EXPECT_LE(last, last_stream_.value_or(h2::stream_id_max)) << "6.8: the last stream grows";
    for (auto const& [id, each] : streams_)
        if (each.status != 0) EXPECT_LE(id, last) << "6.8: a stream that was answered";
    last_stream_ = last;
    failure_ = h2::read_uint32(payload.data() + 4);
    tell("GOAWAY " + name_of_error(h2::read_uint32(payload.data() + 4)));
}

std::string http2_reader::events() const {
    std::string result;
    for (auto const& each : events_) {
        result += (result.empty() ? "" : "; ") + each.text;
        if (each.responding_stream == 0) continue;
        auto const& target = streams_.at(each.responding_stream);
        if (!target.has_end && !target.reset) result += " unfinished";
    }
    return result;
}

unsigned http2_reader::status_of(std::uint32_t stream) const {
    auto const place = streams_.find(stream);
    return place == streams_.end() ? 0 : place->second.status;
}

std::optional<std::uint32_t> http2_reader::reset_of(std::uint32_t stream) const {
    auto const place = streams_.find(stream);
    if (place == streams_.end() || !place->second.reset) return std::nullopt;
    return place->second.reset_code;
}

std::string http2_reader::contents() const {
    std::string result;
    for (auto const& [id, each] : streams_)
        result += (result.empty() ? "" : "; ") + std::to_string(id) + ": " +
                  std::to_string(each.content_bytes);
    return result;
}

}  // namespace latchkey::session
