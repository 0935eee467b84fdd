// A renewal and commits that complete while it runs. The linker redirects mdb_txn_renew here
// (--wrap), so that a commit can happen between the number that a read transaction notes and its
// check.
#include "store/pages/read_version.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "../../domain/support.hpp"
#include "store/environment_state.hpp"

namespace latchkey::store {
using namespace domain;  // whose commands fill the store

namespace {

thread_local std::function<void()> after_renewal;  // called once, for the thread that set it

extern "C" {
// NOLINTBEGIN: the linker's names of mdb_txn_renew
int __real_mdb_txn_renew(MDB_txn* txn);

int __wrap_mdb_txn_renew(MDB_txn* txn) {
    int const code = __real_mdb_txn_renew(txn);
    if (auto const once = std::exchange(after_renewal, {})) once();
    return code;
}
// NOLINTEND
}

// The transaction number on a meta page (mdb.c, MDB_meta).
constexpr std::size_t meta_number_offset = 16 + 4 + 4 + 8 + 8 + 2 * 48 + 8;

class read_version : public testing::Test {
  protected:
    ~read_version() override { after_renewal = {}; }

    void commit(std::string const& name) { get_user(one(*store, new_user(name, name + "@a.org"))); }

    // A commit whose meta page is written and whose number is not.
    void write_meta_number(std::uint64_t version) {
        int const file = ::open((directory.path() + "/store.mdb").c_str(), O_RDWR | O_CLOEXEC);
        auto const place = store->native().page_bytes * (version & 1) + meta_number_offset;
        EXPECT_EQ(::pwrite(file, &version, sizeof version, static_cast<off_t>(place)), 8);
        ::close(file);
    }
    std::uint64_t newest_meta() {
        MDB_envinfo info;
        ::mdb_env_info(store->native().env, &info);
        return info.me_last_txnid;
    }

    temporary_directory directory;
    std::unique_ptr<environment> store = open_store(directory.path());
};

// The commit after that one may overwrite the roots while they are copied.
TEST_F(read_version, a_renewal_during_which_a_commit_completes_is_repeated) {
    snapshot seen(*store);
    after_renewal = [&] { commit("ada"); };
    seen.renew();
    EXPECT_EQ(seen.version(), newest_meta());
    EXPECT_TRUE(seen.user(1));
}

// It may take as long as a disk does, or a process that was stopped.
TEST_F(read_version, an_unfinished_commit_delays_no_renewal) {
    commit("ada");
    auto const version = newest_meta();
    write_meta_number(version + 1);
    ASSERT_EQ(newest_meta(), version + 1);
    snapshot seen(*store);
    seen.renew();
    EXPECT_EQ(seen.version(), version);
    EXPECT_TRUE(seen.user(1));
    write_meta_number(version - 1);
}

TEST_F(read_version, a_snapshot_waits_for_a_reader_slot) {
    commit("ada");
    std::vector<MDB_txn*> readers;
    MDB_txn* txn = nullptr;
    while (::mdb_txn_begin(store->native().env, nullptr, MDB_RDONLY, &txn) == 0)
        readers.push_back(txn);
    ASSERT_GT(readers.size(), 1000u);
    std::atomic<bool> freed = false;
    std::thread releasing([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        freed = true;
        for (auto* const each : readers) ::mdb_txn_abort(each);
    });
    snapshot waiting(*store);
    EXPECT_TRUE(freed);
    releasing.join();
    waiting.renew();
    EXPECT_TRUE(waiting.user(1));
}

}  // namespace
}  // namespace latchkey::store
