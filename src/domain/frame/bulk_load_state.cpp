#include "domain/frame/bulk_load_state.hpp"

#include "base/bytes.hpp"

namespace latchkey::domain {
namespace {

constexpr std::uint8_t state_version = 1;

void append(std::string& output, load_progress const& progress) {
    for (auto const number : {progress.offset, progress.line, progress.created, progress.new_ids,
                              progress.unchanged, progress.refusals})
        base::append(output, number);
    base::append(output, static_cast<std::uint8_t>(progress.complete));
}

load_progress read_progress(base::reader& input) {
    load_progress progress;
    for (auto* const number : {&progress.offset, &progress.line, &progress.created,
                               &progress.new_ids, &progress.unchanged, &progress.refusals})
        *number = input.integer<std::uint64_t>();
    progress.complete = input.integer<std::uint8_t>() != 0;
    return progress;
}

}  // namespace

void encode(load_state const& state, std::string& output) {
    output.clear();
    base::append(output, state_version);
    for (auto const number : {state.begun_at, state.finished_at, state.user_floor, state.user_kept,
                              state.post_floor, state.post_kept})
        base::append(output, number);
    append(output, state.users);
    append(output, state.posts);
}

std::optional<load_state> decode_load_state(std::string_view bytes) {
    base::reader input(bytes);
    bool const is_known = input.integer<std::uint8_t>() == state_version;
    load_state state;
    for (auto* const number : {&state.begun_at, &state.finished_at, &state.user_floor,
                               &state.user_kept, &state.post_floor, &state.post_kept})
        *number = input.integer<std::int64_t>();
    state.users = read_progress(input);
    state.posts = read_progress(input);
    if (!is_known || !input.done()) return std::nullopt;
    return state;
}

}  // namespace latchkey::domain
