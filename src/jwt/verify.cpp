#include "jwt/verify.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace latchkey::jwt {

void throw_exception_from_error(refusal const& failure, boost::source_location const&) {
    throw std::runtime_error(std::string(failure.detail));
}

bool looks_like_jwt(std::string_view) {
    return false;
}

verification verify(std::string_view, std::span<issuer const>, std::int64_t) {
    return refusal{refusal_reason::invalid, "No token is accepted by this version."};
}

}  // namespace latchkey::jwt
