#include "known_content.hpp"

namespace latchkey::store {
namespace {

std::string user_name(model::id id) {
    return "user/" + std::to_string(id) + "/";
}
std::string post_name(model::id user, model::id id) {
    return user_name(user) + "post/" + std::to_string(id);
}
std::string key_name(model::id id) {
    return "key/" + std::to_string(id);
}
std::string use_name(model::id key) {
    return "use/" + std::to_string(key);
}

template <class Record>
std::string bytes_of(Record const& record) {
    std::string bytes;
    encode(record, bytes);
    return bytes;
}

std::string line_of(std::string_view source, std::string_view delivery, std::string_view payload) {
    return std::string(source) + " " + std::string(delivery) + " " + std::string(payload);
}

// Of what is kept under an Idempotency-Key: how it ended and, in full, what came of it.
std::string line_of(outcome const& answer) {
    auto line = std::string(base::describe(answer.problem).name);
    if (auto const* user = std::get_if<model::user>(&answer.record))
        line += " " + std::to_string(user->id) + " " + bytes_of(*user);
    return line;
}

std::int64_t number_in(std::string const& text) {
    return text.empty() ? 0 : std::stoll(text);
}

}  // namespace

idempotency once_number(unsigned number) {
    return {1, key_number(1'000'000 + number).digest, key_number(2'000'000 + number).digest};
}

void known_content::note(command const& asked, outcome const& answer) {
    if (answer.replayed) return;
    for (unsigned i = 0; asked.once && i < once_max; ++i)
        if (asked.once->key == once_number(i).key && is_kept(answer.problem))
            things["once/" + std::to_string(i)] = line_of(answer);
    if (answer.problem == base::problem::none) note(asked.what, answer);
}

void known_content::note(command::kind const& asked, outcome const& answer) {
    if (auto const* user = std::get_if<model::user>(&answer.record)) {
        last[0] = std::max(last[0], user->id);
        things[user_name(user->id)] = bytes_of(*user);
    } else if (auto const* post = std::get_if<model::post>(&answer.record)) {
        last[1] = std::max(last[1], post->id);
        things[post_name(post->user_id, post->id)] = bytes_of(*post);
    } else if (auto const* key = std::get_if<model::key>(&answer.record)) {
        last[2] = std::max(last[2], key->id);
        things[key_name(key->id)] = bytes_of(*key);
        if (auto const* rotation = std::get_if<rotate_key>(&asked))
            note_rotation(*rotation, *key, answer.at);
    } else if (auto const* event = std::get_if<receive_event>(&asked)) {
        auto const id = std::get<received_event>(answer.record).id;
        if (id <= last[3]) return;  // it was there
        last[3] = id;
        things["event/" + std::to_string(id)] =
            line_of(event->source, event->delivery_id, event->payload);
    } else if (auto const* put = std::get_if<put_event_secret>(&asked)) {
        things["secret/" + put->source] = put->secret.text();
    } else if (auto const* gone = std::get_if<delete_event_secret>(&asked)) {
        things.erase("secret/" + gone->source);
    } else if (auto const* user_gone = std::get_if<delete_user>(&asked)) {
        auto const prefix = user_name(user_gone->id);
        std::erase_if(things, [&](auto const& each) { return each.first.starts_with(prefix); });
    } else if (auto const* post_gone = std::get_if<delete_post>(&asked)) {
        auto const suffix = "/post/" + std::to_string(post_gone->id);
        std::erase_if(things, [&](auto const& each) { return each.first.ends_with(suffix); });
    } else if (auto const* noted = std::get_if<note_key_uses>(&asked)) {
        for (auto const& use : noted->uses) {
            if (!things.contains(key_name(use.key))) continue;
            auto& count = things[use_name(use.key)];
            count = std::to_string(number_in(count) +
                                   static_cast<std::int64_t>(use.counted.requests()));
        }
    }
}

// The outcome has the new key; the old one changed as well.
void known_content::note_rotation(rotate_key const& asked, model::key const& made,
                                  base::wall_ms at) {
    auto& bytes = things.at(key_name(asked.id));
    auto old = model::decode_key(asked.id, bytes).value();
    old.replaced_by = made.id;
    old.rotation_ends_at = at + asked.overlap_ms;
    bytes = bytes_of(old);
}

std::map<std::string, std::string> content_of(environment& store) {
    constexpr range all{.limit = 1'000'000};
    std::map<std::string, std::string> found;
    snapshot seen(store);
    seen.renew();
    auto const now = base::read_clocks().wall;
    seen.users(all, [&](auto const& user) { found[user_name(user.id)] = bytes_of(copy_of(user)); });
    seen.posts({}, all, [&](auto const& post) {
        found[post_name(post.user_id, post.id)] = bytes_of(copy_of(post));
    });
    for (auto const& key : seen.keys()) {
        found[key_name(key.id)] = bytes_of(key);
        std::uint64_t uses = 0;
        constexpr auto day = model::length_of(model::granularity::day);
        seen.usage(key.id, model::granularity::day, now - day, now + day,
                   [&](auto, model::usage const& counted) { uses += counted.requests(); });
        if (uses != 0) found[use_name(key.id)] = std::to_string(uses);
    }
    seen.events({}, all, [&](auto const& event) {
        found["event/" + std::to_string(event.id)] =
            line_of(event.source, event.delivery_id, event.payload);
    });
    for (std::string const source : {"shop", "till"})
        if (auto const secrets = seen.event_secrets(source, now))
            found["secret/" + source] = secrets->current.text.text();
    for (unsigned i = 0; i < once_max; ++i)
        if (auto const kept = seen.recall(once_number(i), now))
            found["once/" + std::to_string(i)] = line_of(*kept);
    if (seen.damaged()) found["damage"] = "records that cannot be read";
    return found;
}

std::string difference(std::map<std::string, std::string> const& found,
                       std::map<std::string, std::string> const& expected) {
    for (auto const& [name, bytes] : expected) {
        auto const at = found.find(name);
        if (at == found.end()) return name + " is not there";
        if (at->second != bytes) return name + " is another";
    }
    for (auto const& [name, bytes] : found)
        if (!expected.contains(name)) return name + " should not be there";
    return {};
}

}  // namespace latchkey::store
