#include "store/findings.hpp"

#include <utility>

#include "base/ascii.hpp"

namespace latchkey::store {
namespace {

constexpr std::size_t groups_max = 100;
constexpr std::size_t examples_max = 3;

std::string without_numbers(std::string_view sentence) {
    std::string text;
    for (char const byte : sentence) {
        if (!base::is_digit(byte))
            text.push_back(byte);
        else if (text.empty() || text.back() != '#')
            text.push_back('#');
    }
    return text;
}

}  // namespace

void findings::add(std::string sentence) {
    auto const [entry, is_new] = indexes_.try_emplace(without_numbers(sentence), groups_.size());
    if (is_new && groups_.size() == groups_max) {
        indexes_.erase(entry);
        ++overflow_;
        return;
    }
    if (is_new) groups_.emplace_back();
    auto& group = groups_[entry->second];
    ++group.count;
    if (group.examples.size() < examples_max)
        group.examples.push_back(std::move(sentence));
    else
        group.last = std::move(sentence);
}

std::vector<std::string> findings::sentences() const {
    std::vector<std::string> lines;
    for (auto const& each : groups_) {
        lines.insert(lines.end(), each.examples.begin(), each.examples.end());
        auto const rest = each.count - each.examples.size();
        if (rest == 1) lines.push_back(each.last);
        if (rest > 1)
            lines.push_back("and " + std::to_string(rest) +
                            " more of the same, the last: " + each.last);
    }
    if (overflow_ != 0) lines.push_back("and " + std::to_string(overflow_) + " of other kinds");
    return lines;
}

}  // namespace latchkey::store
