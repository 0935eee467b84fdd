// The times of rate limits across nodes; docs/decisions/cluster-limits.md says how they depend on
// each other.
#pragma once

#include <cstdint>

#include "base/time_units.hpp"

namespace latchkey::cluster {

// A node asks at least so often, also for nothing.
inline constexpr base::mono_ns quota_heartbeat = 100 * base::millisecond;
// An estimate of the cluster's clock is good for so long after it was last confirmed.
inline constexpr base::mono_ns quota_validity = 250 * base::millisecond;
// A later answer is none.
inline constexpr base::mono_ns quota_answer_max = 500 * base::millisecond;
// A node may use its share so long after it has last asked; until then others take it for present.
inline constexpr base::mono_ns quota_silence = base::second;
// Tokens hold for at most so long.
inline constexpr base::mono_ns quota_window_max = base::second;
// A request waits for tokens for at most so long.
inline constexpr base::mono_ns quota_patience = base::second;
// Between two tries to reach an engine that does not answer.
inline constexpr base::mono_ns quota_retry = 50 * base::millisecond;
// A process whose number was too low to join tries again with one so much higher: as the time of a
// start in milliseconds, about four hours.
inline constexpr std::uint64_t quota_process_step = 1ull << 24;
// A key that was refused is asked for again after at most so long.
inline constexpr base::mono_ns quota_refusal_max = base::second;

// Whoever judges by an answer that is so old judges by members that had not changed their share
// since, or cannot use it yet.
static_assert(quota_validity + quota_answer_max <= quota_silence);

}  // namespace latchkey::cluster
