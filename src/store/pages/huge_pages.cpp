#include "store/pages/huge_pages.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace latchkey::store {

void request_huge_pages(environment_state const& store) {
    int fd = -1;
    struct stat file{};
    if (::mdb_env_get_fd(store.env, &fd) != 0 || ::fstat(fd, &file) != 0) return;
    auto const memory = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
    if (static_cast<std::uint64_t>(file.st_size) > memory / 2) return;
    ::madvise(const_cast<char*>(store.map.data()), store.map.size(), MADV_HUGEPAGE);
}

}  // namespace latchkey::store
