// Text written into a buffer reserved once for all of it: an append costs a copy and one comparison
// instead of a call. The writer of the hot path; any thread.
//
//     base::string_writer out(body, 64 + name.size());     // the most that will be put
//     out.put("{\"name\":\"").put(name).put("\",\"id\":").number(id).put('}');
//     // the destructor truncates the string after the last byte
//
// Writing more than was reserved is a bug and ends the process.
#pragma once

#include <charconv>
#include <concepts>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/check.hpp"
#include "base/decimal.hpp"

namespace latchkey::base {

class text_writer {
  public:
    text_writer(char* position, std::size_t capacity)
        : position_(position), end_(position + capacity) {}

    text_writer& put(std::string_view text) {
        char* const output = take(text.size());
        if (!text.empty()) std::memcpy(output, text.data(), text.size());
        return *this;
    }
    text_writer& put(char byte) {
        *take(1) = byte;
        return *this;
    }
    text_writer& number(std::integral auto value) {
        using wide =
            std::conditional_t<std::is_signed_v<decltype(value)>, std::int64_t, std::uint64_t>;
        if (static_cast<std::size_t>(end_ - position_) < number_bytes_max) return number(value, 10);
        position_ = put_decimal(position_, static_cast<wide>(value));
        return *this;
    }
    text_writer& number(std::integral auto value, int base) {
        auto const end = std::to_chars(position_, end_, value, base);
        check(end.ec == std::errc(), "a number that does not fit its buffer");
        position_ = end.ptr;
        return *this;
    }
    // Space for `bytes` bytes, which the caller writes itself.
    char* take(std::size_t bytes) {
        check(bytes <= static_cast<std::size_t>(end_ - position_),
              "text that does not fit its buffer");
        char* const output = position_;
        position_ += bytes;
        return output;
    }

    // The position after the last byte written.
    char* position() const { return position_; }

  private:
    char* position_;
    char* end_;
};

// For little text: written on the stack and appended at the end, since a string that grows zeroes
// the new bytes before they are written.
template <std::size_t Bytes>
class stack_writer : public text_writer {
  public:
    explicit stack_writer(std::string& target) : text_writer(bytes_, Bytes), target_(target) {}
    ~stack_writer() { target_.append(bytes_, position()); }
    stack_writer(stack_writer const&) = delete;
    stack_writer& operator=(stack_writer const&) = delete;

  private:
    char bytes_[Bytes];  // uninitialised beyond the position
    std::string& target_;
};

class string_writer : public text_writer {
  public:
    // Appends to `target`, which must not be used otherwise in the meantime.
    string_writer(std::string& target, std::size_t bytes_max)
        : text_writer(grow(target, bytes_max), bytes_max), target_(target) {}
    ~string_writer() { target_.resize(static_cast<std::size_t>(position() - target_.data())); }
    string_writer(string_writer const&) = delete;
    string_writer& operator=(string_writer const&) = delete;

  private:
    static char* grow(std::string& target, std::size_t bytes) {
        auto const offset = target.size();
        target.resize(offset + bytes);
        return target.data() + offset;
    }

    std::string& target_;
};

}  // namespace latchkey::base
