// A file that appears complete or not at all: written to a temporary file beside it, synced,
// renamed. It is a new file that only its owner can read, whatever was there. `-` is standard
// output. What is no regular file, such as a device or a pipe, is written into. One thread.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/system/descriptor.hpp"

namespace latchkey::cli {

// The treatment of a file that exists: it is never replaced, only with --force, or always. The
// first two differ in the advice of the error. A link to a regular file is refused.
enum class existing_file : std::uint8_t { kept, kept_without_force, replaced };

class output_file {
  public:
    static base::result<output_file> create(std::string const& path, existing_file policy);
    output_file(output_file&& other) noexcept = default;
    ~output_file();  // removes an unfinished file
    output_file& operator=(output_file&&) = delete;

    base::result<void> write(std::string_view bytes);
    base::result<void> finish();
    int descriptor() const { return is_standard() ? STDOUT_FILENO : file_.get(); }

  private:
    output_file(std::string path, existing_file policy) : path_(std::move(path)), policy_(policy) {}
    bool is_standard() const { return path_ == "-"; }
    base::result<void> open();
    // Is the temporary file still that of this object, and not one of another command?
    bool has_temporary_file() const;
    std::string temporary_path() const { return path_ + ".part"; }

    std::string path_;
    base::descriptor file_;  // open until the file is finished
    existing_file policy_;
    bool is_direct_ = false;  // `path_` is no regular file: there is no temporary one
};

}  // namespace latchkey::cli
