// A response as handlers build it: status, field lines and content, without framing. Each worker
// reuses one, so in the steady state it allocates nothing.
//
//     response.status = 201;
//     response.add("Location", "/api/v1/users/", id);
//     response.content_type = http::content::json;
//     response.body.append(…);
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/problem.hpp"
#include "base/text.hpp"

namespace latchkey::http {

// `event_stream`: content that does not end, so it has no length.
enum class content : std::uint8_t {
    none,
    json,
    problem,
    html,
    javascript,
    style_sheet,
    svg,
    text,
    gzip,
    zip,
    event_stream
};
std::string_view media_type_of(content kind);

class response {
  public:
    std::uint16_t status = 200;
    content content_type = content::none;
    base::problem code = base::problem::none;  // for the access log
    bool close = false;                        // close the connection after this response
    bool secret = false;                       // wipe the content from memory once it was sent
    bool is_partial = false;  // of a HEAD: not all of the content was made, so it has no length
    std::string body;

    // Appends the field line "name: pieces…". Pieces are text or integers, without CR, LF or NUL
    // (checked; validate a client's bytes before they get here).
    template <class... Pieces>
    void add(std::string_view name, Pieces const&... pieces) {
        auto out = reserve(name.size() + line_bytes + (bytes_max(pieces) + ... + 0));
        out.put(name).put(": ");
        (put(out, pieces), ...);
        end_line(out);
    }
    // Appends complete field lines, each with its CRLF.
    template <std::size_t Size>
    void add_lines(char const (&lines)[Size]) {
        auto out = reserve(Size - 1);
        out.put({lines, Size - 1});
        used_bytes_ += Size - 1;
    }
    // Like `add`, with a value of at most `value_bytes_max` that `put_value(text_writer&)` writes.
    void add_with(std::string_view name, std::size_t value_bytes_max, auto put_value) {
        auto out = reserve(name.size() + line_bytes + value_bytes_max);
        out.put(name).put(": ");
        put_value(out);
        end_line(out);
    }
    // Appends to the value of the field that was added last.
    template <class... Pieces>
    void extend(Pieces const&... pieces) {
        used_bytes_ -= 2;
        auto out = reserve(line_bytes + (bytes_max(pieces) + ... + 0));
        (put(out, pieces), ...);
        end_line(out);
    }
    // "name: value\r\n" for each field, in order.
    std::string_view field_lines() const { return {fields_.data(), used_bytes_}; }
    // Value of the first field with exactly this name; empty when absent. For tests.
    std::string_view find(std::string_view name) const;

    void clear() {
        status = 200;
        content_type = content::none;
        code = base::problem::none;
        close = secret = is_partial = false;
        body.clear();
        used_bytes_ = 0;
    }

  private:
    static constexpr std::size_t line_bytes = std::string_view(": \r\n").size();

    template <std::size_t Size>
    static std::size_t bytes_max(char const (&)[Size]) {
        return Size - 1;
    }
    static std::size_t bytes_max(std::string_view text) { return text.size(); }
    static std::size_t bytes_max(std::integral auto) { return base::number_bytes_max; }

    template <std::size_t Size>
    static void put(base::text_writer& out, char const (&literal)[Size]) {
        out.put({literal, Size - 1});
    }
    static void put(base::text_writer& out, std::string_view text) {
        check_value(text);
        out.put(text);
    }
    static void put(base::text_writer& out, std::integral auto number) { out.number(number); }
    static void check_value(std::string_view text);

    base::text_writer reserve(std::size_t bytes) {
        if (fields_.size() - used_bytes_ < bytes) fields_.resize(2 * (used_bytes_ + bytes));
        return {fields_.data() + used_bytes_, bytes};
    }
    void end_line(base::text_writer& out) {
        out.put("\r\n");
        used_bytes_ = static_cast<std::size_t>(out.position() - fields_.data());
    }

    std::string fields_;          // its size is the capacity
    std::size_t used_bytes_ = 0;  // bytes written
};

}  // namespace latchkey::http
