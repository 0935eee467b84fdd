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
    int const descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool const synced = descriptor >= 0 && ::fsync(descriptor) == 0;
    int const failure = errno;
    if (descriptor >= 0) ::close(descriptor);
    if (!synced) return base::errno_error("cannot sync " + folder, failure);
    return {};
}

}  // namespace

base::result<output_file> output_file::create(std::string const& path, bool replace) {
    if (path == "-") return output_file(path, STDOUT_FILENO, false);
    if (!replace && ::access(path.c_str(), F_OK) == 0)
        return base::error{path + " exists; another name, or --force to replace it"};
    output_file made(path, -1, replace);
    made.descriptor_ =
        ::open(made.beside().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (made.descriptor_ < 0) return base::errno_error("cannot make " + made.beside(), errno);
    return made;
}

output_file::output_file(output_file&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      replace_(other.replace_) {}

output_file::~output_file() {
    if (descriptor_ < 0 || is_standard()) return;
    ::close(descriptor_);
    ::unlink(beside().c_str());
}

base::result<void> output_file::write(std::string_view bytes) {
    while (!bytes.empty()) {
        auto const sent = ::write(descriptor_, bytes.data(), bytes.size());
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0)
            return base::errno_error(
                is_standard() ? "cannot write to standard output" : "cannot write " + beside(),
                errno);
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
}

base::result<void> output_file::finish() {
    if (is_standard()) return {};
    if (::fsync(descriptor_) != 0) return base::errno_error("cannot sync " + beside(), errno);
    // Without leave to replace, a name that somebody took meanwhile stays his.
    bool const named = ::renameat2(AT_FDCWD, beside().c_str(), AT_FDCWD, path_.c_str(),
                                   replace_ ? 0 : RENAME_NOREPLACE) == 0;
    if (!named) return base::errno_error("cannot make " + path_, errno);
    ::close(std::exchange(descriptor_, -1));
    return sync_folder_of(path_);
}

}  // namespace latchkey::cli
