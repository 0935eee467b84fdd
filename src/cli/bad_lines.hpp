// The lines of an import that were refused: told one by one as they are met, the first 100 of them,
// and all of them in a file where one was asked for. One thread.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/problem.hpp"
#include "base/result.hpp"
#include "cli/progress.hpp"

namespace latchkey::cli {

class bad_lines {
  public:
    // `report` empty: no file. It must not exist yet, unless an import goes on that began it.
    static base::result<bad_lines> begin(std::string const& report, bool say_them, bool goes_on);

    // `detail` where there are no faults. The bar makes room for the line.
    void add(std::string const& file, std::uint64_t line, std::string const& detail,
             std::vector<base::fault> const& faults, progress& shown);
    // "…and 12 more": what was not told.
    void end();
    std::string const& json() const { return json_; }  // the first 100, between commas

    static constexpr std::size_t told_max = 100;

  private:
    struct closer {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };

    std::unique_ptr<std::FILE, closer> report_;
    bool say_them_ = true;
    std::uint64_t count_ = 0;
    std::string json_;
};

}  // namespace latchkey::cli
