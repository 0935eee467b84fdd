#include "store/space.hpp"

#include <sys/stat.h>

#include "store/environment_state.hpp"

namespace latchkey::store {

space space_of(environment& store) {
    auto const& opened = store.native();
    space found{.map_bytes = opened.map_bytes};
    MDB_envinfo info{};
    if (::mdb_env_info(opened.env, &info) == 0)
        found.used_bytes = (info.me_last_pgno + 1) * opened.page_bytes;
    int descriptor = -1;
    struct stat status{};
    if (::mdb_env_get_fd(opened.env, &descriptor) == 0 && ::fstat(descriptor, &status) == 0)
        found.disk_bytes = static_cast<std::uint64_t>(status.st_blocks) * 512;
    return found;
}

}  // namespace latchkey::store
