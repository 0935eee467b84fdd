// The findings of a check, grouped for a person: sentences that differ only in numbers form one
// group, of which the first three are shown and the rest is counted. One thread; private to the
// store.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace latchkey::store {

class findings {
  public:
    void add(std::string sentence);
    bool empty() const { return groups_.empty(); }
    // In the order in which each group was first seen.
    std::vector<std::string> sentences() const;

  private:
    struct group {
        std::vector<std::string> examples;
        std::string last;
        std::uint64_t count = 0;
    };
    std::vector<group> groups_;
    std::map<std::string, std::size_t> indexes_;  // of groups_, by sentence without numbers
    std::uint64_t overflow_ = 0;                  // sentences of groups beyond the bound
};

}  // namespace latchkey::store
