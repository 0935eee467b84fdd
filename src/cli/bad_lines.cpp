#include "cli/bad_lines.hpp"

#include <cerrno>

#include "api/json_writer.hpp"
#include "base/log.hpp"

namespace latchkey::cli {
namespace {

// {"file":…,"line":…,"detail":…,"errors":[…]}, the errors as the API has them.
std::string document_of(std::string const& file, std::uint64_t line, std::string const& detail,
                        std::vector<base::fault> const& faults) {
    std::string to = "{\"file\":";
    api::append_string(to, file);
    to.append(",\"line\":");
    api::append_number(to, line);
    to.append(",\"detail\":");
    api::append_string(to, detail);
    to.append(",\"errors\":[");
    for (auto const& each : faults) {
        to.append(&each == faults.data() ? "{\"pointer\":" : ",{\"pointer\":");
        api::append_string(to, each.at);
        to.append(",\"code\":");
        api::append_plain_string(to, base::name_of(each.code));
        to.append(",\"detail\":");
        api::append_string(to, each.detail);
        to.append("}");
    }
    return to.append("]}");
}

}  // namespace

base::result<bad_lines> bad_lines::begin(std::string const& report, bool say_them, bool goes_on) {
    bad_lines made;
    made.say_them_ = say_them;
    if (report.empty()) return made;
    made.report_.reset(std::fopen(report.c_str(), goes_on ? "a" : "wx"));
    if (made.report_ == nullptr) return base::errno_error("cannot make " + report, errno);
    return made;
}

void bad_lines::add(std::string const& file, std::uint64_t line, std::string const& detail,
                    std::vector<base::fault> const& faults, progress& shown) {
    auto const document = document_of(file, line, detail, faults);
    if (report_ != nullptr) {
        std::fprintf(report_.get(), "%s\n", document.c_str());
        std::fflush(report_.get());  // the lines behind it may be committed before the next
    }
    if (count_++ >= told_max) return;
    json_.append(json_.empty() ? "" : ",").append(document);
    if (!say_them_) return;
    auto why = detail;
    for (auto const& each : faults) why += (why.empty() ? "" : "; ") + each.at + " " + each.detail;
    shown.give_way();
    base::say(base::severity::warning, file + ", line " + std::to_string(line) + ": " + why);
}

void bad_lines::end() {
    if (say_them_ && count_ > told_max)
        base::say(base::severity::warning,
                  "and " + with_commas(count_ - told_max) +
                      " lines more, not shown; --report FILE lists every one");
}

}  // namespace latchkey::cli
