// Netstrings (D. J. Bernstein, 1997): texts of any bytes one after the other in a stream, each as
// "<decimal length>:<bytes>,". How a command and the helper that it starts talk over a pipe. One
// thread for each stream; blocks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace latchkey::remote {

void append_netstring(std::string& output, std::string_view text);

// Writes all bytes; false: the other end is closed, or an error (errno).
bool write_stream(int descriptor, std::string_view bytes);

// Reads one after the other from a descriptor, which it does not own.
class netstring_reader {
  public:
    netstring_reader(int descriptor, std::size_t bytes_max)
        : descriptor_(descriptor), bytes_max_(bytes_max) {}
    ~netstring_reader();  // wipes what it has read

    // nullopt: the stream has ended, is no netstring, or has one beyond `bytes_max`.
    std::optional<std::string> next();

  private:
    bool fill();  // false: no more bytes

    int descriptor_;
    std::size_t bytes_max_;
    std::string buffer_;
    std::size_t begin_ = 0;
};

}  // namespace latchkey::remote
