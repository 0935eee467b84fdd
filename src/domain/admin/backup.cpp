#include "domain/admin/backup.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/limits.hpp"
#include "base/system/descriptor.hpp"
#include "domain/admin/inspect.hpp"
#include "store/environment_state.hpp"
#include "store/files/claim.hpp"
#include "store/files/lock_mark.hpp"
#include "store/files/master_key.hpp"
#include "store/files/write_lock.hpp"
#include "store/lmdb_value.hpp"

namespace latchkey::domain {
namespace {

// A directory next to the store in which the copy is checked before anything is replaced; removed
// with its content by the destructor.
class staging_directory {
  public:
    explicit staging_directory(std::string path) : path_(std::move(path)) {
        clear();
        exists_ = ::mkdir(path_.c_str(), 0700) == 0;
    }
    ~staging_directory() { clear(); }
    staging_directory(staging_directory const&) = delete;
    staging_directory& operator=(staging_directory const&) = delete;
    std::string const& path() const { return path_; }
    bool exists() const { return exists_; }

  private:
    void clear() {
        std::error_code ignored_error;
        std::filesystem::remove_all(path_, ignored_error);
    }
    std::string path_;
    bool exists_ = false;
};

base::result<void> copy_file(std::string const& source_path, std::string const& target_path) {
    auto const source = base::open_file(source_path, O_RDONLY);
    if (!source.is_open()) return base::errno_error("cannot open " + source_path, errno);
    auto const target = base::open_file(target_path, O_WRONLY | O_CREAT | O_EXCL);
    if (!target.is_open()) return base::errno_error("cannot make " + target_path, errno);
    std::vector<char> buffer(base::limits::mib);
    for (;;) {
        auto const count = ::read(source.get(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return base::errno_error("cannot read " + source_path, errno);
        if (count == 0) break;
        for (ssize_t offset = 0, written; offset < count; offset += written) {
            written = ::write(target.get(), buffer.data() + offset,
                              static_cast<std::size_t>(count - offset));
            if (written < 0 && errno == EINTR) written = 0;
            if (written < 0) return base::errno_error("cannot write " + target_path, errno);
        }
    }
    if (::fsync(target.get()) != 0) return base::errno_error("cannot sync " + target_path, errno);
    return {};
}

base::result<void> inspect_copy(std::string const& directory, std::string const& file) {
    auto const report = inspect(directory);
    if (!report) return base::error{file + " is no usable backup: " + report.error().message};
    if (report->wrong.empty()) return {};
    return base::error{file + " is damaged: " + report->wrong.front() +
                       (report->wrong.size() > 1
                            ? " (and " + std::to_string(report->wrong.size() - 1) + " more faults)"
                            : "")};
}

// LMDB locks the first byte of its lock file as long as a process has the store open. While we hold
// that lock no process can open the store; the file is emptied, so that nothing in it is taken for
// the state of the new store.
base::result<void> replace_file(std::string const& directory, std::string const& copy_path,
                                bool keep_previous) {
    auto const store = directory + "/store.mdb";
    auto const lock = base::open_file(store + "-lock", O_RDWR | O_CREAT);
    struct flock range{};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_len = 1;
    if (!lock.is_open() || ::fcntl(lock.get(), F_SETLK, &range) != 0 || is_marked(store))
        return base::error{"a latchkey command has the store in " + directory +
                           " open: wait until it has ended"};
    auto const previous = store + ".before-restore";
    if (keep_previous && ((::unlink(previous.c_str()) != 0 && errno != ENOENT) ||
                          ::link(store.c_str(), previous.c_str()) != 0))
        return base::errno_error("cannot keep the store as " + previous, errno);
    if (::ftruncate(lock.get(), 0) != 0 || ::rename(copy_path.c_str(), store.c_str()) != 0)
        return base::errno_error("cannot replace " + store, errno);
    return sync_directory(directory);
}

}  // namespace

// Without `compact` LMDB holds its write lock while it copies the first two pages.
base::result<void> copy_to(environment& store, int descriptor, bool compact) {
    blocked_stops const no_stop_in_between;
    int const code =
        ::mdb_env_copyfd2(store.native().env, descriptor, compact ? MDB_CP_COMPACT : 0);
    if (code != 0) return lmdb_error("cannot copy the store in " + store.native().directory, code);
    return {};
}

base::result<replacement> replace(std::string const& directory, std::string const& file,
                                  bool force) {
    std::error_code ignored_error;  // the mkdir below reports it
    std::filesystem::create_directories(std::filesystem::path(directory).parent_path(),
                                        ignored_error);
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
        return base::errno_error("cannot make the data directory " + directory, errno);
    // A service that runs as the owner of the directory could not open files that root makes here.
    struct stat status{};
    if (::stat(directory.c_str(), &status) == 0 && status.st_uid != ::geteuid())
        return base::error{directory +
                           " belongs to another user: run this as that user (sudo -u …)"};
    auto const claim = claim_directory(directory, claimant::restore);
    if (!claim) return claim.error();
    bool const store_exists = ::access((directory + "/store.mdb").c_str(), F_OK) == 0;
    if (store_exists && !force)
        return base::error{
            "there is a store in " + directory +
            " already: --force replaces it and keeps it as store.mdb.before-restore"};
    staging_directory const staging(directory + "/restore.part");
    if (!staging.exists()) return base::errno_error("cannot make " + staging.path(), errno);
    auto const copy = staging.path() + "/store.mdb";
    if (auto const copied = copy_file(file, copy); !copied) return copied.error();
    if (auto const inspected = inspect_copy(staging.path(), file); !inspected)
        return inspected.error();
    if (auto const replacement = replace_file(directory, copy, store_exists); !replacement)
        return replacement.error();
    // The saved rate limits belong to the keys of the other store.
    ::unlink((directory + "/buckets").c_str());
    return replacement{.previous_kept = store_exists};
}

}  // namespace latchkey::domain
