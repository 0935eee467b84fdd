// One write transaction. Errors stick: after the first one nothing more happens, reads find
// nothing, and whoever began the transaction looks at `failure()` before it believes any decision
// that was made. So commands read like the rules they carry out. One thread; private to the store.
//
// A view that `get` returned dies at the next put or erase: decode and decide first, then write.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.hpp"
#include "store/environment_state.hpp"

namespace latchkey::store {

class transaction {
  public:
    // Waits for the write lock, which another process may hold for one commit.
    explicit transaction(environment::state& store);
    ~transaction();  // aborts what was not committed
    transaction(transaction const&) = delete;
    transaction& operator=(transaction const&) = delete;

    int failure() const { return failure_; }  // an LMDB or errno code; 0: none
    void fail(int code);
    bool wrote() const { return wrote_; }
    void touch() { wrote_ = true; }  // commit even if nothing else changes

    // The same for all of the transaction: the wall clock, but never before an earlier write.
    base::wall_ms now() const { return now_; }
    store::heads& heads() { return heads_; }  // written with the commit, if anything else was
    room const& space();                      // found out when first asked for
    environment::state const& store() const { return store_; }

    std::optional<std::string_view> get(table where, std::string_view key);
    bool has(table where, std::string_view key) { return get(where, key).has_value(); }
    void put(table where, std::string_view key, std::string_view value) {
        put(where, key, value, 0);
    }
    // For a key greater than all there are: fills pages to the end.
    void append(table where, std::string_view key, std::string_view value) {
        put(where, key, value, MDB_APPEND);
    }
    bool erase(table where, std::string_view key);  // false: there was none
    // The first id of a table whose keys are ids.
    std::optional<model::id> first_id(table where);
    // Removes the first `most` entries of the index from `begin` up to and without `end`; how many.
    std::size_t erase_range(std::string_view begin, std::string_view end, std::size_t most);
    // The ids that end the first `most` keys of the index that begin with `prefix`.
    std::vector<model::id> ids_under(std::string_view prefix, std::size_t most);
    // Is there one of them that is accepted? In ascending order, until one is. Nothing may be
    // written meanwhile.
    bool any_under(std::string_view prefix, base::function_ref<bool(model::id)> accepts);

    // How much was done, in commands and in posts that went with a user.
    std::size_t weight() const { return weight_; }
    void weigh(std::size_t more) { weight_ += more; }

    // 0, or the code; nothing was kept then. A failed sync does not return, see the .cpp.
    int commit();

    // The caller that was last found to be allowed something, so that a thousand commands of one
    // key read its record once. Whoever changes a key must reset it.
    struct voucher {
        model::id caller = 0;
        std::optional<model::scope> needs;
    };
    voucher vouched;

    std::string scratch;  // for encoding records

  private:
    void put(table where, std::string_view key, std::string_view value, unsigned flags);
    int keep_heads();

    environment::state& store_;
    MDB_txn* txn_ = nullptr;
    int failure_ = 0;
    bool wrote_ = false;
    std::size_t weight_ = 0;
    base::wall_ms now_ = 0;
    store::heads heads_;
    std::optional<room> space_;
};

}  // namespace latchkey::store
