// The store's map in huge pages. A read by id among millions of users misses the TLB on most pages
// of the store, and the page walk costs more than the read; with pages of 2 MiB there are 512 times
// fewer entries. Private to the store.
#pragma once

#include "store/environment_state.hpp"

namespace latchkey::store {

// Asks for huge pages (MADV_HUGEPAGE) if the file is smaller than half of the memory; of a larger
// store 2 MiB for each record read would evict the rest. Best effort: where the file system has
// large folios (ext4 from Linux 6.16 on, xfs), later reads from the disk come in huge pages.
void request_huge_pages(environment_state const& store);

}  // namespace latchkey::store
