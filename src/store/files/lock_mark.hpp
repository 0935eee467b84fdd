// Which lock file of LMDB (store.mdb-lock) this process uses, told to the others by a lock on the
// data file itself. In the lock file are the readers and the last transaction: if it is removed
// beneath a process, the next one makes another, and what both write is lost. Private to store and
// domain.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "base/system/descriptor.hpp"

namespace latchkey::store {

class lock_mark {
  public:
    // Once LMDB has opened the data file `path` and its lock file, and before anything is read. The
    // error: another process uses another lock file. Holds until the end of this object; on a file
    // system without such locks it does nothing.
    base::result<void> set(std::string const& path);
    // Are both files still those that were opened?
    bool is_current() const;

  private:
    std::string path_;
    base::descriptor file_;
    std::uint64_t lock_inode_ = 0;  // 0: there is none
};

// Does any process have the data file open, whichever lock file it uses?
bool is_marked(std::string const& path);

}  // namespace latchkey::store
