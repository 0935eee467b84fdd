#include "model/entity_tag.hpp"

#include <initializer_list>

#include "base/base62.hpp"
#include "base/hash.hpp"

namespace latchkey::model {
namespace {

constexpr std::size_t first_digits = 8, second_digits = 11;
static_assert(first_digits + second_digits == entity_tag{}.size());

entity_tag encode_tag(std::uint64_t first, std::uint64_t second) {
    entity_tag tag;
    base::put_base62_fraction(first, tag.data(), first_digits);
    base::put_base62_fraction(second, tag.data() + first_digits, second_digits);
    return tag;
}

// Scaled so that eight base-62 digits distinguish milliseconds: 47 bits, 4,400 years.
std::uint64_t time_prefix(base::wall_ms time) {
    return static_cast<std::uint64_t>(time) << 17;
}

std::uint64_t hash_of(std::initializer_list<std::int64_t> numbers) {
    return base::hash(
        {reinterpret_cast<char const*>(numbers.begin()), numbers.size() * sizeof(std::int64_t)});
}

}  // namespace

entity_tag tag_of(user_view const& user) {
    auto const numbers = hash_of({user.id, user.created_at});
    return encode_tag(time_prefix(user.updated_at),
                      base::hash(user.email, base::hash(user.name, numbers)));
}

entity_tag tag_of(post_view const& post) {
    auto const numbers = hash_of({post.id, post.user_id, static_cast<std::int64_t>(post.status),
                                  post.published_at, post.created_at});
    return encode_tag(time_prefix(post.updated_at),
                      base::hash(post.body, base::hash(post.title, numbers)));
}

entity_tag tag_of(key const& record, base::wall_ms now) {
    // Without the digest: a tag must not let clients test guesses at an imported key.
    auto public_part = record;
    public_part.digest = {};
    std::string bytes;
    encode(public_part, bytes);
    auto const end = record.ending_at(now);
    auto const numbers = hash_of({record.id, static_cast<std::int64_t>(record.state_at(now)),
                                  end.time, static_cast<std::int64_t>(end.reason)});
    return encode_tag(base::hash(bytes, numbers), base::hash(bytes, ~numbers));
}

entity_tag tag_of(webhook const& record, base::wall_ms now) {
    bool const overlaps = record.rotation_ends_at > now;
    auto const revision = static_cast<std::int64_t>(record.revision);
    return encode_tag(time_prefix(record.updated_at),
                      hash_of({record.id, revision, record.created_at, overlaps ? 1 : 0}));
}

}  // namespace latchkey::model
