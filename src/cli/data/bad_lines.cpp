#include "cli/data/bad_lines.hpp"

#include <cerrno>

#include "api/frame/json/json_writer.hpp"
#include "api/frame/refusal_detail.hpp"
#include "base/system/log.hpp"
#include "cli/frame/print.hpp"

namespace latchkey::cli {
namespace {

// {"file":…,"line":…,"code":…,"detail":…,"errors":[…]}, with codes and errors in the API's form.
std::string document_of(std::string const& file, std::uint64_t line, base::problem code,
                        std::string const& detail, std::vector<base::fault> const& faults) {
    std::string document = "{\"file\":";
    api::append_string(document, file);
    document.append(",\"line\":");
    api::append_number(document, line);
    document.append(",\"code\":");
    api::append_plain_string(document, base::describe(code).name);
    document.append(",\"detail\":");
    api::append_string(document, detail);
    document.append(",\"errors\":[");
    for (auto const& each : faults) {
        document.append(&each == faults.data() ? "{\"pointer\":" : ",{\"pointer\":");
        api::append_string(document, each.location);
        document.append(",\"code\":");
        api::append_plain_string(document, base::name_of(each.code));
        document.append(",\"detail\":");
        api::append_string(document, api::sentence_of(each));
        document.append("}");
    }
    return document.append("]}");
}

// Is the file empty, or does it begin as document_of() does?
bool is_report(std::FILE* file) {
    static constexpr std::string_view beginning = "{\"file\":";
    char bytes[beginning.size()];
    std::rewind(file);
    auto const size = std::fread(bytes, 1, sizeof bytes, file);
    std::fseek(file, 0, SEEK_END);  // between reading and writing (C23 7.23.5.3)
    return std::ferror(file) == 0 && (size == 0 || std::string_view(bytes, size) == beginning);
}

}  // namespace

base::result<bad_lines> bad_lines::begin(std::string const& report, bool print, bool resumes) {
    bad_lines result;
    result.print_ = print;
    if (report.empty()) return result;
    result.report_.reset(std::fopen(report.c_str(), resumes ? "a+" : "wx"));
    if (result.report_ == nullptr && errno == EEXIST)
        return base::error{"the report " + report +
                           " exists already and was left as it is; nothing was imported. Give the "
                           "name of a file that does not exist"};
    if (result.report_ == nullptr) return base::errno_error("cannot create " + report, errno);
    if (resumes && !is_report(result.report_.get()))
        return base::error{report +
                           " is no report of an import, and was left as it is. Give the name of "
                           "the report of this import, or of a file that does not exist"};
    return result;
}

void bad_lines::add(std::string const& file, std::uint64_t line, base::problem code,
                    std::string const& detail, std::vector<base::fault> const& faults,
                    progress& bar) {
    auto const document = document_of(file, line, code, detail, faults);
    if (report_ != nullptr) {
        std::fprintf(report_.get(), "%s\n", document.c_str());
        // Flushed, since later lines may be committed before the next write.
        if (std::fflush(report_.get()) != 0) report_error_ = errno;
    }
    if (count_++ >= printed_max) return;
    json_.append(json_.empty() ? "" : ",").append(document);
    if (!print_) return;
    // What is wrong with the members says it; another code is what programs look for.
    auto message = faults.empty() ? std::string(base::describe(code).name) + ": " + detail : detail;
    for (auto const& each : faults)
        message += (message.empty() ? "" : "; ") + each.location + " " + each.detail;
    bar.clear_line();
    base::log(base::severity::warning, file + ", line " + std::to_string(line) + ": " + message);
}

base::result<void> bad_lines::end() {
    if (print_ && count_ > printed_max)
        base::log(base::severity::warning, counted(count_ - printed_max, "more line was refused",
                                                   "more lines were refused") +
                                               "; --report FILE writes all of them to a file");
    if (report_error_ == 0) return {};
    return base::errno_error("the report is not whole: a line cannot be written", report_error_);
}

}  // namespace latchkey::cli
