#include "store/kept_outcome.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/limits.hpp"

namespace latchkey::store {
namespace {

using record = decltype(outcome::record);

constexpr std::uint8_t kept_outcome_version = 1;

void put_text(std::string& to, std::string_view text) {
    base::append(to, static_cast<std::uint32_t>(text.size()));
    to.append(text);
}
std::string_view take_text(base::reader& from) {
    return from.bytes(from.integer<std::uint32_t>());
}

std::optional<base::problem> find_problem(std::string_view name) {
    for (auto const& each : base::problems)
        if (each.name == name) return each.code;
    return std::nullopt;
}
std::optional<base::field_code> find_field_code(std::string_view name) {
    for (unsigned i = 0; i <= static_cast<unsigned>(base::field_code::reference_not_found); ++i)
        if (auto const each = static_cast<base::field_code>(i); base::name_of(each) == name)
            return each;
    return std::nullopt;
}

void put_faults(std::string& to, std::vector<base::fault> const& faults) {
    auto const count = std::min(faults.size(), base::limits::faults_max);
    base::append(to, static_cast<std::uint8_t>(count));
    for (std::size_t i = 0; i < count; ++i) {
        base::append(to, static_cast<std::uint8_t>(faults[i].where));
        put_text(to, faults[i].at);
        put_text(to, base::name_of(faults[i].code));
        put_text(to, faults[i].detail);
    }
}
bool take_faults(base::reader& from, std::vector<base::fault>& faults) {
    auto const count = from.integer<std::uint8_t>();
    if (count > base::limits::faults_max) return false;
    for (unsigned i = 0; i < count; ++i) {
        auto const where = from.integer<std::uint8_t>();
        std::string at(take_text(from));
        auto const code = find_field_code(take_text(from));
        if (!code || where > static_cast<std::uint8_t>(base::fault::place::header)) return false;
        faults.push_back({static_cast<base::fault::place>(where), std::move(at), *code,
                          std::string(take_text(from))});
    }
    return from.ok();
}

// A record of any kind that has an encoding of its own.
struct put_record {
    std::string& to;

    void operator()(std::monostate) const { base::append(to, std::uint8_t{0}); }
    void operator()(model::user const& user) const { put(1, user); }
    void operator()(model::post const& post) const { put(2, post); }
    void operator()(model::key const& key) const { put(3, key); }
    void operator()(received_event const& event) const {
        base::append(to, std::uint8_t{4});
        base::append(to, event.id);
    }
    // PUT, which takes no Idempotency-Key, is all that has one.
    void operator()(kept_secret const&) const {
        base::check(false, "a secret is not kept under an Idempotency-Key");
    }

  private:
    template <class Record>
    void put(std::uint8_t kind, Record const& whole) const {
        std::string bytes;
        encode(whole, bytes);
        base::append(to, kind);
        base::append(to, whole.id);
        to.append(bytes);
    }
};
std::optional<record> take_record(base::reader& from) {
    auto const kind = from.integer<std::uint8_t>();
    if (kind == 0) return from.done() ? std::optional(record()) : std::nullopt;
    auto const id = from.integer<model::id>();
    if (kind == 4 && from.done()) return received_event{id};
    if (kind == 1)
        if (auto const user = model::decode_user(id, from.rest())) return model::copy_of(*user);
    if (kind == 2)
        if (auto const post = model::decode_post(id, from.rest())) return model::copy_of(*post);
    if (kind == 3)
        if (auto key = model::decode_key(id, from.rest())) return std::move(*key);
    return std::nullopt;
}

}  // namespace

void encode(kept_outcome const& whole, std::string& to) {
    auto const& answer = whole.answer;
    to.clear();
    base::append(to, kept_outcome_version);
    base::append(to, whole.until);
    to.append(reinterpret_cast<char const*>(whole.request.data()), whole.request.size());
    base::append(to, answer.at);
    base::append(to, answer.last_used_at);
    put_text(to, base::describe(answer.problem).name);
    put_text(to, answer.detail);
    put_faults(to, answer.faults);
    std::visit(put_record{to}, answer.record);
}

std::optional<kept_outcome> decode_kept_outcome(std::string_view bytes) {
    base::reader from(bytes);
    if (from.integer<std::uint8_t>() != kept_outcome_version) return std::nullopt;
    kept_outcome whole;
    auto& answer = whole.answer;
    whole.until = from.integer<base::wall_ms>();
    std::ranges::copy(from.bytes(whole.request.size()), whole.request.begin());
    answer.at = from.integer<base::wall_ms>();
    answer.last_used_at = from.integer<base::wall_ms>();
    auto const problem = find_problem(take_text(from));
    answer.detail = take_text(from);
    if (!problem || !take_faults(from, answer.faults)) return std::nullopt;
    auto record = take_record(from);
    if (!record) return std::nullopt;
    answer.problem = *problem;
    answer.record = std::move(*record);
    return whole;
}

}  // namespace latchkey::store
