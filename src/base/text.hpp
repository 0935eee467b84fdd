// Text written into room that was made for all of it at once: a step is a copy and one comparison,
// where an append to a string is a call each time. The writer of the hot path; any thread.
//
//     base::string_writer out(body, 64 + name.size());     // at most that much will be put
//     out.put("{\"name\":\"").put(name).put("\",\"id\":").number(id).put('}');
//     // its destructor ends the string behind the last byte
//
// More than there is room for is a broken assumption of ours and ends the process.
#pragma once

#include <charconv>
#include <concepts>
#include <cstring>
#include <string>
#include <string_view>

#include "base/check.hpp"

namespace latchkey::base {

class text_writer {
  public:
    text_writer(char* at, std::size_t room) : at_(at), end_(at + room) {}

    text_writer& put(std::string_view text) {
        char* const to = take(text.size());
        if (!text.empty()) std::memcpy(to, text.data(), text.size());
        return *this;
    }
    text_writer& put(char byte) {
        *take(1) = byte;
        return *this;
    }
    text_writer& number(std::integral auto value, int base = 10) {
        auto const done = std::to_chars(at_, end_, value, base);
        check(done.ec == std::errc(), "a number where no room was made for it");
        at_ = done.ptr;
        return *this;
    }
    // Where the caller writes that many bytes itself.
    char* take(std::size_t bytes) {
        check(bytes <= static_cast<std::size_t>(end_ - at_), "text where no room was made for it");
        char* const here = at_;
        at_ += bytes;
        return here;
    }

    // Behind what was put.
    char* at() const { return at_; }

  private:
    char* at_;
    char* end_;
};

// What a number takes at most.
inline constexpr std::size_t number_bytes_max = 20;

class string_writer : public text_writer {
  public:
    // Behind what `to` holds; nobody else touches it meanwhile.
    string_writer(std::string& to, std::size_t bytes_max)
        : text_writer(make_room(to, bytes_max), bytes_max), to_(to) {}
    ~string_writer() { to_.resize(static_cast<std::size_t>(at() - to_.data())); }
    string_writer(string_writer const&) = delete;
    string_writer& operator=(string_writer const&) = delete;

  private:
    static char* make_room(std::string& to, std::size_t bytes) {
        auto const from = to.size();
        to.resize(from + bytes);
        return to.data() + from;
    }

    std::string& to_;
};

}  // namespace latchkey::base
