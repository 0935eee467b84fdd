// A read by id among millions of users meets a page of the store that the processor has no address
// of at hand, and finding it out costs more than the read. In pages of 2 MiB there are 512 times
// fewer. Where the file system has such (ext4 from Linux 6.16 on, xfs), what is read from the disk
// from now on comes in them.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/environment_state.hpp"

namespace latchkey::store {

void ask_for_huge_pages(environment::state const& store) {
    int fd = -1;
    struct stat file{};
    if (::mdb_env_get_fd(store.env, &fd) != 0 || ::fstat(fd, &file) != 0) return;
    // Of a store that does not fit into memory, 2 MiB for each record would drive out the rest.
    auto const memory = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
    if (static_cast<std::uint64_t>(file.st_size) > memory / 2) return;
    ::madvise(const_cast<char*>(store.map.data()), store.map.size(), MADV_HUGEPAGE);
}

}  // namespace latchkey::store
