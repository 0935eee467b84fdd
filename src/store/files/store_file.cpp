#include "store/files/store_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/system/descriptor.hpp"
#include "store/lmdb_value.hpp"

namespace latchkey::store {
namespace {

// A lock on the directory until the descriptor is closed, so that of two processes that start
// together one creates the file.
base::descriptor lock_directory(std::string const& path) {
    auto directory = base::open_file(path, O_RDONLY | O_DIRECTORY);
    while (::flock(directory.get(), LOCK_EX) != 0 && errno == EINTR) continue;
    return directory;
}

bool exists(std::string const& path) {
    return ::access(path.c_str(), F_OK) == 0;
}

// Writes and syncs the two meta pages at the beginning of a file.
int write_first_pages(std::string const& path) {
    MDB_env* env = nullptr;
    if (int const code = ::mdb_env_create(&env); code != 0) return code;
    int code = ::mdb_env_open(env, path.c_str(), MDB_NOSUBDIR | MDB_NOLOCK, 0600);
    if (code == 0) code = ::mdb_env_sync(env, 1);
    ::mdb_env_close(env);
    return code;
}

}  // namespace

// LMDB would write the two meta pages in place and sync them with the first commit. After a power
// cut in between one of them may be missing, and LMDB never opens such a file again.
base::result<void> make_store_file(std::string const& path) {
    if (exists(path)) return {};
    auto const lock = lock_directory(std::filesystem::path(path).parent_path());
    if (exists(path)) return {};
    auto const temporary = path + ".new";
    ::unlink(temporary.c_str());  // left over from an attempt that was cut short
    if (int const code = write_first_pages(temporary); code != 0)
        return lmdb_error("cannot make the store " + temporary, code);
    if (::rename(temporary.c_str(), path.c_str()) != 0)
        return base::errno_error("cannot make the store " + path, errno);
    return {};
}

}  // namespace latchkey::store
