// The id of a request (api.md §1) and the trace that it belongs to (W3C Trace Context, level 1).
// Values of fixed size; allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace latchkey::api {

class request_id {
  public:
    request_id() noexcept {}  // its bytes are not zeroed for each request
    // The client's id if it matches [A-Za-z0-9_-]{8,64}; else `req_` and 22 base62 characters.
    // `random` is the state of a generator: ids must differ and need not be secret.
    void take(std::optional<std::string_view> client_id, std::uint64_t& random);
    std::string_view text() const { return {text_.data(), size_}; }

  private:
    std::array<char, 64> text_;
    std::uint8_t size_ = 0;
};

class trace_id {
  public:
    trace_id() noexcept {}
    // The trace id of a well-formed `traceparent`; else empty.
    void take(std::optional<std::string_view> traceparent);
    std::string_view text() const { return {text_.data(), size_}; }
    // The id of the span that sent the request: 16 hexadecimal digits, or empty.
    std::string_view parent() const { return {parent_.data(), size_ == 0 ? 0 : parent_.size()}; }
    // That span is recorded (the flag "sampled").
    bool is_sampled() const { return is_sampled_; }

  private:
    std::array<char, 32> text_;
    std::array<char, 16> parent_;
    std::uint8_t size_ = 0;
    bool is_sampled_ = false;
};

}  // namespace latchkey::api
