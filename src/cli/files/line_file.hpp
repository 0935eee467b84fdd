// Reader of a file of lines from any offset. A first scan gives a hash of its bytes, which
// identifies an interrupted import, and the highest id that a line seems to have. One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/system/descriptor.hpp"
#include "model/id.hpp"

namespace latchkey::cli {

class line_file {
  public:
    // `-` is standard input. What gives its bytes once, such as a pipe, is copied first, into a
    // file without a name in TMPDIR.
    static base::result<line_file> open(std::string const& path);

    // Reads the whole file, then seeks to its begin.
    struct scan_result {
        std::uint64_t hash = 0;
        model::id highest_id = 0;  // 0: none
    };
    base::result<scan_result> scan();

    base::result<void> seek(std::uint64_t offset);
    // The next line without its end; nullopt at the end of the file or on an error. Valid until the
    // next call. Of a line beyond line_bytes_max only the beginning, and `too_long` is true.
    std::optional<std::string_view> next();
    bool too_long() const { return too_long_; }
    std::optional<base::error> const& failure() const { return failure_; }
    std::uint64_t offset() const { return offset_; }  // after the last line
    std::uint64_t size() const { return size_; }
    std::string const& path() const { return path_; }

    // A post's body of 64 KiB with every byte escaped, and the other members.
    static constexpr std::size_t line_bytes_max = 512 * 1024;

  private:
    line_file(std::string path, base::descriptor file);
    bool fill();
    std::string_view skip_line();

    std::string path_;
    base::descriptor file_;
    std::uint64_t size_ = 0;
    std::uint64_t offset_ = 0;
    std::vector<char> buffer_;
    std::size_t begin_ = 0, end_ = 0;  // the unread part of the buffer
    bool too_long_ = false;
    std::optional<base::error> failure_;
};

// The number after the first `"id":` in a line, or 0. A cheap guess: ids that it misses are found
// when the line is parsed.
model::id guess_id(std::string_view line);

}  // namespace latchkey::cli
