// The refused lines of an import: prints the first 100, and writes all of them to a report if one
// was requested. One thread.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/problem.hpp"
#include "base/result.hpp"
#include "cli/frame/progress.hpp"

namespace latchkey::cli {

class bad_lines {
  public:
    // `report` empty: no file. It must not exist, unless the import resumes; then it must be a
    // report, and is continued.
    static base::result<bad_lines> begin(std::string const& report, bool print, bool resumes);

    // `code` is that of the API, such as email_taken; `detail` is used if there are no faults.
    // Clears the progress bar for the printed line.
    void add(std::string const& file, std::uint64_t line, base::problem code,
             std::string const& detail, std::vector<base::fault> const& faults, progress& bar);
    // Prints how many lines were not shown. An error: the file with the report is not whole.
    base::result<void> end();
    std::string const& json() const { return json_; }  // the first 100, separated by commas

    static constexpr std::size_t printed_max = 100;

  private:
    struct closer {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };

    std::unique_ptr<std::FILE, closer> report_;
    int report_error_ = 0;  // of the last write to the file that failed
    bool print_ = true;
    std::uint64_t count_ = 0;
    std::string json_;
};

}  // namespace latchkey::cli
