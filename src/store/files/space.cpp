#include "store/files/space.hpp"

#include <sys/stat.h>

#include "store/environment_state.hpp"

namespace latchkey::store {

space space_of(environment& store) {
    auto const& state = store.native();
    space result{.map_bytes = state.map_bytes,
                 .changes_bytes = state.changes_bytes,
                 .changes_trimmed = state.changes_trimmed};
    MDB_envinfo info{};
    if (::mdb_env_info(state.env, &info) == 0)
        result.used_bytes = (info.me_last_pgno + 1) * state.page_bytes;
    int descriptor = -1;
    struct stat file{};
    if (::mdb_env_get_fd(state.env, &descriptor) == 0 && ::fstat(descriptor, &file) == 0)
        result.disk_bytes = static_cast<std::uint64_t>(file.st_blocks) * 512;
    return result;
}

}  // namespace latchkey::store
