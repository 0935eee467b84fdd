#include "cli/made_up.hpp"

#include <algorithm>
#include <array>

namespace latchkey::cli {
namespace {

struct given_name {
    std::string_view name, plain;  // as it is written, and in an address
};
constexpr given_name first_names[] = {
    {"Ada", "ada"},         {"Alan", "alan"},     {"Amélie", "amelie"}, {"Anton", "anton"},
    {"Barbara", "barbara"}, {"Bjørn", "bjorn"},   {"Carlos", "carlos"}, {"Chen", "chen"},
    {"Dana", "dana"},       {"Edsger", "edsger"}, {"Elif", "elif"},     {"Emeka", "emeka"},
    {"Fatima", "fatima"},   {"Frances", "fran"},  {"Grace", "grace"},   {"Hana", "hana"},
    {"Ibrahim", "ibrahim"}, {"Ingrid", "ingrid"}, {"Jamal", "jamal"},   {"José", "jose"},
    {"Kofi", "kofi"},       {"Lena", "lena"},     {"Łukasz", "lukasz"}, {"Mai", "mai"},
    {"Niklas", "niklas"},   {"Olga", "olga"},     {"Priya", "priya"},   {"Rosa", "rosa"},
    {"Søren", "soren"},     {"Tomás", "tomas"},   {"Yuki", "yuki"},     {"Zoë", "zoe"},
};
constexpr given_name last_names[] = {
    {"Adeyemi", "adeyemi"},     {"Bauer", "bauer"},     {"Berg", "berg"},
    {"Costa", "costa"},         {"Dijkstra", "dijk"},   {"Dubois", "dubois"},
    {"Eriksson", "eriksson"},   {"Fischer", "fischer"}, {"García", "garcia"},
    {"Haddad", "haddad"},       {"Hopper", "hopper"},   {"Ivanova", "ivanova"},
    {"Jensen", "jensen"},       {"Kaya", "kaya"},       {"Kowalski", "kowalski"},
    {"Lamport", "lamport"},     {"Lovelace", "love"},   {"Mensah", "mensah"},
    {"Moreau", "moreau"},       {"Müller", "mueller"},  {"Nakamura", "nakamura"},
    {"Nguyen", "nguyen"},       {"O'Brien", "obrien"},  {"Okafor", "okafor"},
    {"Papadopoulos", "papado"}, {"Rossi", "rossi"},     {"Sato", "sato"},
    {"Silva", "silva"},         {"Singh", "singh"},     {"Turing", "turing"},
    {"Virtanen", "virtanen"},   {"Zhang", "zhang"},
};
constexpr std::string_view domains[] = {"example.com", "example.net", "example.org"};
constexpr std::string_view words[] = {
    "the",     "a",       "small",   "quiet",  "morning",  "garden",  "we",     "found",
    "in",      "city",    "under",   "river",  "letter",   "bread",   "and",    "walked",
    "with",    "old",     "new",     "ideas",  "about",    "machine", "paper",  "learned",
    "slowly",  "summer",  "winter",  "train",  "between",  "friends", "spoke",  "of",
    "nothing", "light",   "over",    "bridge", "music",    "made",    "it",     "was",
    "never",   "quite",   "enough",  "for",    "everyone", "who",     "stayed", "until",
    "coffee",  "evening", "numbers", "turned", "into",     "stories", "again",  "before",
    "market",  "opened",  "rain",    "began",  "window",   "open",    "house",  "home",
};
constexpr base::wall_ms year_begins = 1'704'067'200'000;  // 2024
constexpr base::wall_ms year_ms = 366LL * 86'400'000;
constexpr std::uint64_t neighbourhood = 5000;  // users who write at the same time

// SplitMix64 (Steele, Lea, Flood 2014): a stream of numbers from one.
class numbers {
  public:
    numbers(std::uint64_t seed, std::uint64_t kind, std::uint64_t number)
        : state_(seed * 0x9e3779b97f4a7c15 + kind * 0xd1b54a32d192ed03 + number) {
        state_ = next();
    }
    std::uint64_t below(std::uint64_t most) { return next() % most; }
    template <class List>
    auto const& one_of(List const& list) {
        return list[below(std::size(list))];
    }

  private:
    std::uint64_t next() {
        auto mixed = state_ += 0x9e3779b97f4a7c15;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
        return mixed ^ (mixed >> 31);
    }
    std::uint64_t state_;
};

void append_words(std::string& to, numbers& from, std::uint64_t count) {
    auto const begin = to.size();
    for (std::uint64_t i = 0; i < count; ++i)
        to.append(i == 0 ? "" : " ").append(from.one_of(words));
    to[begin] = static_cast<char>(to[begin] - 'a' + 'A');
}

// The moment of the year when so much of it had come.
base::wall_ms moment(std::uint64_t number, std::uint64_t of) {
    auto const part = static_cast<double>(number) / static_cast<double>(std::max(of, number + 1));
    return year_begins + static_cast<base::wall_ms>(part * static_cast<double>(year_ms));
}

}  // namespace

model::user made_up::user(std::uint64_t number, model::id first_user) const {
    numbers from(seed_, 1, number);
    auto const& first = from.one_of(first_names);
    auto const& last = from.one_of(last_names);
    model::user made;
    made.id = first_user + static_cast<model::id>(number);
    made.name.append(first.name).append(" ").append(last.name);
    made.email.append(first.plain)
        .append(".")
        .append(last.plain)
        .append(std::to_string(number + 1));
    made.email.append("@");
    // So that users of two seeds do not take each other's addresses.
    if (seed_ != 1) made.email.append("s").append(std::to_string(seed_)).append(".");
    made.email.append(from.one_of(domains));
    made.created_at = made.updated_at = moment(number, users_);
    return made;
}

model::post made_up::post(std::uint64_t number, model::id first_post, model::id first_user) const {
    numbers from(seed_, 2, number);
    auto const progress = static_cast<double>(number) / static_cast<double>(posts_);
    auto const newest =
        std::min(static_cast<std::uint64_t>(progress * static_cast<double>(users_)), users_ - 1);
    model::post made;
    made.id = first_post + static_cast<model::id>(number);
    made.user_id = first_user +
                   static_cast<model::id>(newest - from.below(std::min(newest, neighbourhood) + 1));
    append_words(made.title, from, 2 + from.below(5));
    for (auto sentences = 1 + from.below(5); sentences != 0; --sentences) {
        append_words(made.body, from, 5 + from.below(12));
        made.body.append(sentences == 1 ? "." : ". ");
    }
    made.created_at = made.updated_at = moment(number, posts_);
    auto const fate = from.below(10);
    made.status = fate < 7   ? model::post_status::published
                  : fate < 9 ? model::post_status::draft
                             : model::post_status::archived;
    if (made.status != model::post_status::draft) made.published_at = made.created_at;
    return made;
}

}  // namespace latchkey::cli
