#include "helpers/replicate/statement.hpp"

#include <charconv>

#include "base/bytes.hpp"

namespace latchkey::replicate {
namespace {

// Numbers from pg_type, the same in all servers that speak the protocol.
constexpr Oid bytea_type = 17, bigint_type = 20, int_type = 23, text_type = 25;

}  // namespace

statement& statement::number(std::uint64_t value) {
    parameter added{.type = bigint_type};
    base::append(added.bytes, value);
    parameters_.push_back(std::move(added));
    return *this;
}

statement& statement::small(std::uint32_t value) {
    parameter added{.type = int_type};
    base::append(added.bytes, value);
    parameters_.push_back(std::move(added));
    return *this;
}

statement& statement::bytes(std::string_view value) {
    parameters_.push_back({bytea_type, std::string(value)});
    return *this;
}

statement& statement::text(std::string_view value) {
    parameters_.push_back({text_type, std::string(value)});
    return *this;
}

std::size_t statement::wire_bytes() const {
    std::size_t bytes = sql_.size();
    for (auto const& each : parameters_) bytes += each.bytes.size() + 2 * sizeof(std::uint32_t);
    return bytes;
}

std::size_t answer::rows() const {
    return result_ ? static_cast<std::size_t>(::PQntuples(result_.get())) : 0;
}

std::uint64_t answer::changes() const {
    if (!result_) return 0;
    std::string_view const text(::PQcmdTuples(result_.get()));
    std::uint64_t count = 0;
    std::from_chars(text.data(), text.data() + text.size(), count);
    return count;
}

bool answer::is_null(std::size_t row, int column) const {
    return ::PQgetisnull(result_.get(), static_cast<int>(row), column) != 0;
}

std::uint64_t answer::number(std::size_t row, int column) const {
    std::uint64_t value = 0;
    for (char const byte : bytes(row, column))
        value = value << 8 | static_cast<unsigned char>(byte);
    return value;
}

std::string_view answer::bytes(std::size_t row, int column) const {
    auto const line = static_cast<int>(row);
    auto const size = ::PQgetlength(result_.get(), line, column);
    return {::PQgetvalue(result_.get(), line, column), static_cast<std::size_t>(size)};
}

}  // namespace latchkey::replicate
