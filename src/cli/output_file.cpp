#include "cli/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace latchkey::cli {
namespace {

base::result<void> sync_folder_of(std::string const& path) {
    auto folder = std::filesystem::path(path).parent_path().string();
    if (folder.empty()) folder = ".";
    auto const directory = base::open_file(folder, O_RDONLY | O_DIRECTORY);
    if (!directory.is_open() || ::fsync(directory.get()) != 0)
        return base::errno_error("cannot sync " + folder, errno);
    return {};
}

base::error existing(std::string const& path, existing_file policy) {
    return {policy == existing_file::kept_without_force
                ? path + " exists: give another name, or --force to replace it"
                : path +
                      " exists already and was left as it is; nothing was written. Give the "
                      "name of a file that does not exist, or of a directory, in which the "
                      "new file is named by the time"};
}

}  // namespace

base::result<output_file> output_file::create(std::string const& path, existing_file policy) {
    if (path == "-") return output_file(path, policy);
    bool const replace = policy == existing_file::replaced;
    if (!replace && ::access(path.c_str(), F_OK) == 0) return existing(path, policy);
    output_file file(path, policy);
    file.file_ = base::open_file(file.temporary_path(), O_RDWR | O_CREAT | O_TRUNC);
    if (!file.file_.is_open())
        return base::errno_error("cannot create " + file.temporary_path(), errno);
    return file;
}

output_file::~output_file() {
    if (!file_.is_open()) return;
    file_.close();
    ::unlink(temporary_path().c_str());
}

base::result<void> output_file::write(std::string_view bytes) {
    while (!bytes.empty()) {
        auto const count = ::write(descriptor(), bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0)
            return base::errno_error(is_standard() ? "cannot write to standard output"
                                                   : "cannot write " + temporary_path(),
                                     errno);
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
}

base::result<void> output_file::finish() {
    if (is_standard()) return {};
    if (::fsync(file_.get()) != 0)
        return base::errno_error("cannot sync " + temporary_path(), errno);
    // Unless replacing is allowed, a file that was created meanwhile is kept.
    bool const renamed =
        ::renameat2(AT_FDCWD, temporary_path().c_str(), AT_FDCWD, path_.c_str(),
                    policy_ == existing_file::replaced ? 0 : RENAME_NOREPLACE) == 0;
    if (!renamed && errno == EEXIST) return existing(path_, policy_);
    if (!renamed) return base::errno_error("cannot create " + path_, errno);
    file_.close();
    return sync_folder_of(path_);
}

}  // namespace latchkey::cli
