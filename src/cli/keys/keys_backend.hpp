// The interface through which the commands about keys work, on the store of this machine or on a
// service elsewhere: bodies and documents are those of the API (api.md §4) on both sides. One
// thread; blocks.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "cli/frame/api_command.hpp"
#include "model/id.hpp"

namespace latchkey::cli {

// Empty texts: any.
struct key_selection {
    std::string project, state, environment, search;
};

struct deactivations {
    std::size_t count = 0;
    base::wall_ms effective_by = 0;  // the last one's (api.md §15); 0: they hold on every node
    base::wall_ms effective_in = 0;
};

class keys_backend {
  public:
    virtual ~keys_backend() = default;

    virtual bool is_remote() const = 0;

    virtual answer_of<std::string> show(model::id id) = 0;
    using sink = base::function_ref<void(std::string_view key)>;
    virtual std::optional<refusal> each(key_selection const& selection, sink sink) = 0;
    virtual answer_of<std::string> create(std::string_view body) = 0;
    virtual answer_of<std::string> change(model::id id, std::string_view body) = 0;
    virtual answer_of<std::string> rotate(model::id id, std::int64_t overlap_seconds) = 0;
    virtual answer_of<std::string> deactivate(model::id id, std::string_view reason) = 0;
    // One after the other; adds each that is done to `total`.
    virtual std::optional<refusal> deactivate_all(std::vector<model::id> const& ids,
                                                  std::string_view reason,
                                                  deactivations& total) = 0;
    // The key to ask with, after whose end nothing can be asked; 0: none is needed.
    virtual answer_of<model::id> own_id() = 0;
    virtual answer_of<std::string> reactivate(model::id id) = 0;
    virtual answer_of<std::string> verify(std::string_view body) = 0;
    // `id` 0: of many keys.
    virtual answer_of<std::string> usage(model::id id, query_text const& query) = 0;
};

// On failure prints the error, sets `code` and returns none.
std::unique_ptr<keys_backend> open_keys(api_command const& command, int& code,
                                        store_access access = store_access::writes);
std::unique_ptr<keys_backend> open_local_keys(api_command const& command, int& code,
                                              store_access access);

}  // namespace latchkey::cli
