// Processes that have a store open and not the same lock file of LMDB.
#include "store/files/lock_mark.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "../../domain/support.hpp"
#include "domain/admin/backup.hpp"
#include "domain/admin/inspect.hpp"

namespace latchkey::store {
using namespace domain;  // whose commands fill the store

namespace {

struct lock_marks : testing::Test {
    lock_marks() { touch(data); }
    // Keeps its inode in use, as LMDB does.
    base::descriptor touch(std::string const& path) {
        return base::open_file(path, O_RDWR | O_CREAT);
    }

    temporary_directory directory;
    std::string data = directory.path() + "/store.mdb", lock = data + "-lock";
};

// A descriptor is a process here: the locks are those of open files.
TEST_F(lock_marks, are_set_by_those_who_use_the_same_lock_file) {
    auto const first_file = touch(lock);
    {
        lock_mark first, second;
        EXPECT_FALSE(is_marked(data));
        ASSERT_TRUE(first.set(data));
        EXPECT_TRUE(is_marked(data));
        ASSERT_TRUE(second.set(data));
        EXPECT_TRUE(first.is_current());
        ::unlink(lock.c_str());
        EXPECT_FALSE(first.is_current());
        auto const second_file = touch(lock);
        EXPECT_FALSE(first.is_current());
        lock_mark third;
        auto const refusal = third.set(data);
        ASSERT_FALSE(refusal);
        EXPECT_NE(refusal.error().message.find("was removed or replaced"), std::string::npos);
    }
    EXPECT_FALSE(is_marked(data));
    lock_mark fourth;
    EXPECT_TRUE(fourth.set(data)) << "none of the others is there any more";
    std::filesystem::rename(data, data + ".old");
    touch(data);
    EXPECT_FALSE(fourth.is_current());
}

TEST_F(lock_marks, are_not_needed_where_there_is_no_lock_file) {
    lock_mark mark;
    EXPECT_TRUE(mark.set(data));
    EXPECT_TRUE(mark.is_current());
}

// A process that has the store open until it is told to end.
class other_process {
  public:
    explicit other_process(std::string const& directory) {
        int ready[2], end[2];
        EXPECT_EQ(::pipe(ready) | ::pipe(end), 0);
        if ((child_ = ::fork()) == 0) {
            ::close(end[1]);
            auto const store = environment::open({.directory = directory});
            char byte = store ? '1' : '0';
            if (::write(ready[1], &byte, 1) == 1 && ::read(end[0], &byte, 1) == 0) ::_exit(0);
            ::_exit(1);
        }
        ::close(ready[1]);
        ::close(end[0]);
        end_ = base::descriptor(end[1]);
        char byte = 0;
        EXPECT_EQ(::read(ready[0], &byte, 1), 1);
        EXPECT_EQ(byte, '1');
        ::close(ready[0]);
    }
    void stop() {
        end_.close();
        EXPECT_EQ(::waitpid(child_, nullptr, 0), child_);
    }

  private:
    pid_t child_ = -1;
    base::descriptor end_;
};

TEST(lock_files, that_are_removed_beneath_a_process_keep_others_out) {
    temporary_directory const directory;
    auto const path = directory.path() + "/data";
    other_process service(path);
    std::filesystem::remove(path + "/store.mdb-lock");
    for (bool const read_only : {false, true}) {
        auto const store = environment::open({.directory = path, .read_only = read_only});
        ASSERT_FALSE(store);
        EXPECT_NE(store.error().message.find("was removed or replaced"), std::string::npos);
    }
    EXPECT_FALSE(inspect(path));
    auto const copy = directory.path() + "/copy";
    std::filesystem::copy_file(path + "/store.mdb", copy);
    auto const replaced = replace(path, copy, true);
    ASSERT_FALSE(replaced);
    EXPECT_NE(replaced.error().message.find("open: wait until"), std::string::npos);
    service.stop();
    EXPECT_TRUE(environment::open({.directory = path}));
}

}  // namespace
}  // namespace latchkey::store
