#include "api/frame/json/member_names.hpp"

#include <utility>

#include "auth/key_form.hpp"

namespace latchkey::api {
namespace {

base::hash_key const& process_key() {
    static base::hash_key const key = [] {
        base::hash_key fresh;
        auth::random_bytes(&fresh, sizeof fresh);
        return fresh;
    }();
    return key;
}

constexpr base::fingerprint free_slot{};

}  // namespace

bool member_names::insert(std::uint64_t object, std::string_view name) {
    auto print = base::keyed_hash(process_key(), object, name);
    if (print == free_slot) print.low = 1;
    if (2 * count_ == slots_.size()) grow();
    auto& slot = find(print);
    if (slot == print) return false;
    slot = print;
    ++count_;
    return true;
}

base::fingerprint& member_names::find(base::fingerprint const& name) {
    auto const mask = slots_.size() - 1;
    auto index = name.low & mask;
    while (slots_[index] != free_slot && slots_[index] != name) index = (index + 1) & mask;
    return slots_[index];
}

void member_names::grow() {
    std::vector<base::fingerprint> larger(2 * slots_.size());
    auto const old_slots = std::exchange(slots_, larger);
    for (auto const& each : old_slots)
        if (each != free_slot) find(each) = each;
    rest_ = std::move(larger);  // its elements stay in place
}

}  // namespace latchkey::api
