#include "cli/data/sample_data.hpp"

#include <algorithm>
#include <array>

namespace latchkey::cli {
namespace {

struct sample_name {
    std::string_view name, plain;  // display form, and form in an address
};
constexpr sample_name first_names[] = {
    {"Ada", "ada"},         {"Alan", "alan"},     {"Amélie", "amelie"}, {"Anton", "anton"},
    {"Barbara", "barbara"}, {"Bjørn", "bjorn"},   {"Carlos", "carlos"}, {"Chen", "chen"},
    {"Dana", "dana"},       {"Edsger", "edsger"}, {"Elif", "elif"},     {"Emeka", "emeka"},
    {"Fatima", "fatima"},   {"Frances", "fran"},  {"Grace", "grace"},   {"Hana", "hana"},
    {"Ibrahim", "ibrahim"}, {"Ingrid", "ingrid"}, {"Jamal", "jamal"},   {"José", "jose"},
    {"Kofi", "kofi"},       {"Lena", "lena"},     {"Łukasz", "lukasz"}, {"Mai", "mai"},
    {"Niklas", "niklas"},   {"Olga", "olga"},     {"Priya", "priya"},   {"Rosa", "rosa"},
    {"Søren", "soren"},     {"Tomás", "tomas"},   {"Yuki", "yuki"},     {"Zoë", "zoe"},
};
constexpr sample_name last_names[] = {
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
class random_numbers {
  public:
    random_numbers(std::uint64_t seed, std::uint64_t kind, std::uint64_t number)
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

void append_words(std::string& output, random_numbers& random, std::uint64_t count) {
    auto const begin = output.size();
    for (std::uint64_t i = 0; i < count; ++i)
        output.append(i == 0 ? "" : " ").append(random.one_of(words));
    output[begin] = static_cast<char>(output[begin] - 'a' + 'A');
}

// The time in the year by which number / total of the records exist.
base::wall_ms sample_time_of(std::uint64_t number, std::uint64_t total) {
    auto const part =
        static_cast<double>(number) / static_cast<double>(std::max(total, number + 1));
    return year_begins + static_cast<base::wall_ms>(part * static_cast<double>(year_ms));
}

}  // namespace

model::user sample_data::user(std::uint64_t number, model::id first_user) const {
    random_numbers random(seed_, 1, number);
    auto const& first = random.one_of(first_names);
    auto const& last = random.one_of(last_names);
    model::user result;
    result.id = first_user + static_cast<model::id>(number);
    result.name.append(first.name).append(" ").append(last.name);
    result.email.append(first.plain)
        .append(".")
        .append(last.plain)
        .append(std::to_string(number + 1));
    result.email.append("@");
    // Users of different seeds must not share addresses.
    if (seed_ != 1) result.email.append("s").append(std::to_string(seed_)).append(".");
    result.email.append(random.one_of(domains));
    result.created_at = result.updated_at = sample_time_of(number, users_);
    return result;
}

model::post sample_data::post(std::uint64_t number, model::id first_post,
                              model::id first_user) const {
    random_numbers random(seed_, 2, number);
    auto const progress = static_cast<double>(number) / static_cast<double>(posts_);
    auto const newest =
        std::min(static_cast<std::uint64_t>(progress * static_cast<double>(users_)), users_ - 1);
    model::post result;
    result.id = first_post + static_cast<model::id>(number);
    result.user_id = first_user + static_cast<model::id>(
                                      newest - random.below(std::min(newest, neighbourhood) + 1));
    append_words(result.title, random, 2 + random.below(5));
    for (auto sentences = 1 + random.below(5); sentences != 0; --sentences) {
        append_words(result.body, random, 5 + random.below(12));
        result.body.append(sentences == 1 ? "." : ". ");
    }
    result.created_at = result.updated_at = sample_time_of(number, posts_);
    auto const fate = random.below(10);
    result.status = fate < 7   ? model::post_status::published
                    : fate < 9 ? model::post_status::draft
                               : model::post_status::archived;
    if (result.status != model::post_status::draft) result.published_at = result.created_at;
    return result;
}

}  // namespace latchkey::cli
