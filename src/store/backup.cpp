#include "store/backup.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/limits.hpp"
#include "store/claim.hpp"
#include "store/environment_state.hpp"
#include "store/inspect.hpp"
#include "store/master_key.hpp"

namespace latchkey::store {
namespace {

class open_file {
  public:
    open_file(std::string const& path, int flags)
        : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
    explicit open_file(int descriptor) : descriptor_(descriptor) {}
    ~open_file() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    open_file(open_file const&) = delete;
    open_file& operator=(open_file const&) = delete;
    int get() const { return descriptor_; }

  private:
    int descriptor_;
};

// A directory beside the store in which the copy is looked at before anything is replaced.
class workshop {
  public:
    explicit workshop(std::string path) : path_(std::move(path)) {
        clear();
        made_ = ::mkdir(path_.c_str(), 0700) == 0;
    }
    ~workshop() { clear(); }
    workshop(workshop const&) = delete;
    workshop& operator=(workshop const&) = delete;
    std::string const& path() const { return path_; }
    bool made() const { return made_; }

  private:
    void clear() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::string path_;
    bool made_ = false;
};

base::result<void> copy_file(std::string const& from, std::string const& to) {
    open_file const source(from, O_RDONLY), target(to, O_WRONLY | O_CREAT | O_EXCL);
    if (source.get() < 0) return base::errno_error("cannot open " + from, errno);
    if (target.get() < 0) return base::errno_error("cannot make " + to, errno);
    std::vector<char> some(base::limits::mib);
    for (;;) {
        auto const got = ::read(source.get(), some.data(), some.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return base::errno_error("cannot read " + from, errno);
        if (got == 0) break;
        for (ssize_t sent = 0, more; sent < got; sent += more) {
            more = ::write(target.get(), some.data() + sent, static_cast<std::size_t>(got - sent));
            if (more < 0 && errno == EINTR) more = 0;
            if (more < 0) return base::errno_error("cannot write " + to, errno);
        }
    }
    if (::fsync(target.get()) != 0) return base::errno_error("cannot sync " + to, errno);
    return {};
}

base::result<void> look_at_copy(std::string const& directory, std::string const& file) {
    auto const seen = inspect(directory);
    if (!seen) return base::error{file + " is no usable backup: " + seen.error().message};
    if (seen->wrong.empty()) return {};
    return base::error{file + " is damaged: " + seen->wrong.front() +
                       (seen->wrong.size() > 1
                            ? " (and " + std::to_string(seen->wrong.size() - 1) + " faults more)"
                            : "")};
}

// LMDB locks the first byte of its lock file for as long as a process has the store open. Locked by
// us, nobody can open it; and emptied, nothing in it is taken for the new store's.
base::result<void> swap(std::string const& directory, std::string const& copy, bool keep_before) {
    auto const store = directory + "/store.mdb";
    open_file const lock(store + "-lock", O_RDWR | O_CREAT);
    struct flock whole{};
    whole.l_type = F_WRLCK, whole.l_whence = SEEK_SET, whole.l_len = 1;
    if (lock.get() < 0 || ::fcntl(lock.get(), F_SETLK, &whole) != 0)
        return base::error{"a latchkey command has the store in " + directory +
                           " open: wait until it has ended"};
    auto const before = store + ".before-restore";
    if (keep_before && ((::unlink(before.c_str()) != 0 && errno != ENOENT) ||
                        ::link(store.c_str(), before.c_str()) != 0))
        return base::errno_error("cannot keep the store as " + before, errno);
    if (::ftruncate(lock.get(), 0) != 0 || ::rename(copy.c_str(), store.c_str()) != 0)
        return base::errno_error("cannot replace " + store, errno);
    return sync_directory(directory);
}

}  // namespace

base::result<void> copy_to(environment& store, int descriptor, bool compact) {
    int const code =
        ::mdb_env_copyfd2(store.native().env, descriptor, compact ? MDB_CP_COMPACT : 0);
    if (code != 0) return lmdb_error("cannot copy the store in " + store.native().directory, code);
    return {};
}

base::result<replaced> replace(std::string const& directory, std::string const& file, bool force) {
    std::error_code ignored;  // what matters is whether it is there in the end
    std::filesystem::create_directories(std::filesystem::path(directory).parent_path(), ignored);
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
        return base::errno_error("cannot make the data directory " + directory, errno);
    // What root makes here, a service that runs as the directory's owner could not open.
    struct stat owned{};
    if (::stat(directory.c_str(), &owned) == 0 && owned.st_uid != ::geteuid())
        return base::error{directory +
                           " belongs to another user: run this as that user (sudo -u …)"};
    auto const claimed = claim_directory(directory);
    if (!claimed) return claimed.error();
    open_file const claim(*claimed);
    bool const there = ::access((directory + "/store.mdb").c_str(), F_OK) == 0;
    if (there && !force)
        return base::error{
            "there is a store in " + directory +
            " already: --force replaces it and keeps it as store.mdb.before-restore"};
    workshop const beside(directory + "/restore.part");
    if (!beside.made()) return base::errno_error("cannot make " + beside.path(), errno);
    auto const copy = beside.path() + "/store.mdb";
    if (auto const copied = copy_file(file, copy); !copied) return copied.error();
    if (auto const whole = look_at_copy(beside.path(), file); !whole) return whole.error();
    if (auto const swapped = swap(directory, copy, there); !swapped) return swapped.error();
    // What was left of rate limits is of keys of the other store.
    ::unlink((directory + "/buckets").c_str());
    return replaced{.kept_before = there};
}

}  // namespace latchkey::store
