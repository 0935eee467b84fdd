#include "store/files/lock_mark.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace latchkey::store {
namespace {

// The offset of a mark is the inode of the lock file; all are below this bound.
constexpr off_t offsets_end = off_t{1} << 62;

std::uint64_t inode_of(std::string const& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

struct flock range_of(short type, off_t begin, off_t size) {
    struct flock range{};
    range.l_type = type;
    range.l_whence = SEEK_SET;
    range.l_start = begin;
    range.l_len = size;
    return range;
}

// Locks of an open file description (fcntl(2)): LMDB, which opens and closes the file too, would
// give up those of a process.
bool has_marks(base::descriptor const& file, off_t begin, off_t end) {
    if (begin == end) return false;
    auto range = range_of(F_WRLCK, begin, end - begin);
    return ::fcntl(file.get(), F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

}  // namespace

// The own mark is set before others are looked for, so that of two processes one sees the other.
base::result<void> lock_mark::set(std::string const& path) {
    path_ = path;
    lock_inode_ = inode_of(path + "-lock");
    if (lock_inode_ == 0) return {};  // a read-only file system
    file_ = base::open_file(path, O_RDONLY);
    if (!file_.is_open()) return base::errno_error("cannot open " + path, errno);
    auto const offset = static_cast<off_t>(lock_inode_ % static_cast<std::uint64_t>(offsets_end));
    auto own = range_of(F_RDLCK, offset, 1);
    if (::fcntl(file_.get(), F_OFD_SETLK, &own) != 0) return {};
    if (!has_marks(file_, 0, offset) && !has_marks(file_, offset + 1, offsets_end)) return {};
    return base::error{
        path + "-lock was removed or replaced while another process has " + path +
        " open, and what both wrote would be lost: stop that process (a service that "
        "runs: restart it), then run this again"};
}

bool lock_mark::is_current() const {
    struct stat own{};
    return lock_inode_ == 0 || (inode_of(path_ + "-lock") == lock_inode_ &&
                                ::fstat(file_.get(), &own) == 0 && inode_of(path_) == own.st_ino);
}

bool is_marked(std::string const& path) {
    auto const file = base::open_file(path, O_RDONLY);
    return file.is_open() && has_marks(file, 0, offsets_end);
}

}  // namespace latchkey::store
