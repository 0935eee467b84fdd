#include "jwt/key_set.hpp"

#include <utility>

#include "jwt/public_key.hpp"

namespace latchkey::jwt {

key_set::key_set(std::vector<public_key> keys) : keys_(std::move(keys)) {}
key_set::~key_set() = default;

std::size_t key_set::size() const {
    return keys_.size();
}

public_key const* key_set::find(std::string_view key_id) const {
    for (auto const& each : keys_)
        if (each.id() == key_id) return &each;
    return nullptr;
}

public_key const* key_set::find_only(algorithm value) const {
    public_key const* only = nullptr;
    for (auto const& each : keys_) {
        if (each.own_algorithm() != value) continue;
        if (only != nullptr) return nullptr;
        only = &each;
    }
    return only;
}

key_set_reading read_key_set(std::string_view, algorithm_set) {
    return {.keys = nullptr, .errors = {"no key set can be read by this version"}, .skipped = {}};
}

}  // namespace latchkey::jwt
