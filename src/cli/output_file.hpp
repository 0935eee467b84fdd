// A file that is either there whole or not at all: written under another name beside, on the disk
// before it gets its own. Only its owner may read it. `-` is standard output. One thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace latchkey::cli {

class output_file {
  public:
    // Refuses a name that is taken, unless it may be replaced.
    static base::result<output_file> create(std::string const& path, bool replace);
    output_file(output_file&& other) noexcept;
    ~output_file();  // what was not finished is removed
    output_file& operator=(output_file&&) = delete;

    base::result<void> write(std::string_view bytes);
    base::result<void> finish();
    int descriptor() const { return descriptor_; }

  private:
    output_file(std::string path, int descriptor, bool replace)
        : path_(std::move(path)), descriptor_(descriptor), replace_(replace) {}
    bool is_standard() const { return path_ == "-"; }
    std::string beside() const { return path_ + ".part"; }

    std::string path_;
    int descriptor_;
    bool replace_;
};

}  // namespace latchkey::cli
