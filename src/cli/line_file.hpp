// A file of lines, read from any place in it, and what has to be known of it before: a hash of all
// its bytes, by which an import that was cut short is found again, and the highest id that a line
// seems to have. One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/user.hpp"

namespace latchkey::cli {

class line_file {
  public:
    static base::result<line_file> open(std::string const& path);
    line_file(line_file&& other) noexcept;
    ~line_file();
    line_file& operator=(line_file&&) = delete;

    // Reads the file once.
    struct survey {
        std::uint64_t hash = 0;
        model::id highest_id = 0;  // 0: none
    };
    base::result<survey> look_over();

    base::result<void> go_to(std::uint64_t offset);
    // Without its end; nullopt at the end of the file or at an error. Holds until the next call. Of
    // a line beyond line_bytes_max the beginning, and `too_long`.
    std::optional<std::string_view> next();
    bool too_long() const { return too_long_; }
    std::optional<base::error> const& failure() const { return failure_; }
    std::uint64_t offset() const { return offset_; }  // behind the last line
    std::uint64_t size() const { return size_; }
    std::string const& path() const { return path_; }

    // A post's body of 64 KiB, every byte of it escaped, and the rest.
    static constexpr std::size_t line_bytes_max = 512 * 1024;

  private:
    line_file(std::string path, int descriptor, std::uint64_t size);
    bool fill();
    std::string_view skip_line();

    std::string path_;
    int descriptor_;
    std::uint64_t size_;
    std::uint64_t offset_ = 0;
    std::vector<char> buffer_;
    std::size_t from_ = 0, to_ = 0;  // what of the buffer is still to be given out
    bool too_long_ = false;
    std::optional<base::error> failure_;
};

// The number behind the first `"id":` in a line, if it is one. A guess that costs nothing: what it
// misses is found when the line is read properly.
model::id id_on(std::string_view line);

}  // namespace latchkey::cli
