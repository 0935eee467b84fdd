#include "store/store_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "store/environment_state.hpp"

namespace latchkey::store {
namespace {

// Locked as long as this lives, so that of two processes that come first one makes the file.
class locked_directory {
  public:
    explicit locked_directory(std::string const& path)
        : descriptor_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
        while (::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) continue;
    }
    ~locked_directory() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    locked_directory(locked_directory const&) = delete;
    locked_directory& operator=(locked_directory const&) = delete;

  private:
    int descriptor_;
};

bool is_there(std::string const& path) {
    return ::access(path.c_str(), F_OK) == 0;
}

// The pages that a file begins with, on the disk.
int write_first_pages(std::string const& path) {
    MDB_env* env = nullptr;
    if (int const code = ::mdb_env_create(&env); code != 0) return code;
    int code = ::mdb_env_open(env, path.c_str(), MDB_NOSUBDIR | MDB_NOLOCK, 0600);
    if (code == 0) code = ::mdb_env_sync(env, 1);
    ::mdb_env_close(env);
    return code;
}

}  // namespace

// LMDB would write the first two pages where they belong and sync them with the first commit. If
// the power fails in between, one of them may be missing, and such a file it never opens again.
base::result<void> make_store_file(std::string const& path) {
    if (is_there(path)) return {};
    locked_directory const alone(std::filesystem::path(path).parent_path());
    if (is_there(path)) return {};
    auto const beside = path + ".new";
    ::unlink(beside.c_str());  // half of one, if this was cut short before
    if (int const code = write_first_pages(beside); code != 0)
        return lmdb_error("cannot make the store " + beside, code);
    if (::rename(beside.c_str(), path.c_str()) != 0)
        return base::errno_error("cannot make the store " + path, errno);
    return {};
}

}  // namespace latchkey::store
