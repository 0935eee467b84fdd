#include "cli/files/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
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
    output_file file(path, policy);
    if (auto const outcome = file.open(); !outcome) return outcome.error();
    return file;
}

// What an interrupted command left is removed. Neither a link nor a file of another user is: one
// that was laid there would receive the records, or keep its owner and mode.
base::result<void> output_file::open() {
    struct stat own{}, target{};
    bool const exists = ::lstat(path_.c_str(), &own) == 0;
    if (exists && policy_ != existing_file::replaced) return existing(path_, policy_);
    is_direct_ = exists && ::stat(path_.c_str(), &target) == 0 && !S_ISREG(target.st_mode);
    if (is_direct_) {
        file_ = base::open_file(path_, O_WRONLY);
        return file_.is_open() ? base::result<void>()
                               : base::errno_error("cannot write to " + path_, errno);
    }
    if (exists && S_ISLNK(own.st_mode))
        return base::error{path_ + " is a link: name the file itself, or - for standard output"};
    auto const temporary = temporary_path();
    if (::lstat(temporary.c_str(), &own) == 0) {
        if (!S_ISREG(own.st_mode) || own.st_uid != ::geteuid())
            return base::error{temporary +
                               " is in the way, and is not of an interrupted command: "
                               "remove it"};
        ::unlink(temporary.c_str());
    }
    file_ = base::open_file(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW);
    return file_.is_open() ? base::result<void>()
                           : base::errno_error("cannot create " + temporary, errno);
}

bool output_file::has_temporary_file() const {
    struct stat own{}, named{};
    return ::fstat(file_.get(), &own) == 0 && ::lstat(temporary_path().c_str(), &named) == 0 &&
           own.st_ino == named.st_ino && own.st_dev == named.st_dev;
}

output_file::~output_file() {
    if (file_.is_open() && !is_direct_ && has_temporary_file()) ::unlink(temporary_path().c_str());
}

base::result<void> output_file::write(std::string_view bytes) {
    while (!bytes.empty()) {
        auto const count = ::write(descriptor(), bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0)
            return base::errno_error(
                is_standard() ? "cannot write to standard output"
                              : "cannot write " + (is_direct_ ? path_ : temporary_path()),
                errno);
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
}

base::result<void> output_file::finish() {
    if (is_standard()) return {};
    // A pipe and a terminal cannot be synced (EINVAL).
    if (::fsync(file_.get()) != 0 && !(is_direct_ && errno == EINVAL))
        return base::errno_error("cannot sync " + (is_direct_ ? path_ : temporary_path()), errno);
    if (is_direct_) return {};
    if (!has_temporary_file())
        return base::error{"another command wrote " + temporary_path() + " meanwhile"};
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
