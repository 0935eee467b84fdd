#include "known_content.hpp"

#include "domain/events/event_lists.hpp"
#include "domain/usage/usage_lists.hpp"

namespace latchkey::domain {
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
std::string encoding_of(Record const& record) {
    std::string bytes;
    encode(record, bytes);
    return bytes;
}

std::string line_of(std::string_view source, std::string_view delivery, std::string_view payload) {
    return std::string(source) + " " + std::string(delivery) + " " + std::string(payload);
}

// An outcome under an Idempotency-Key: its problem and the whole record.
std::string line_of(outcome const& answer) {
    auto line = std::string(base::describe(answer.problem).name);
    if (auto const* user = std::get_if<model::user>(&answer.record))
        line += " " + std::to_string(user->id) + " " + encoding_of(*user);
    return line;
}

std::int64_t number_in(std::string const& text) {
    return text.empty() ? 0 : std::stoll(text);
}

}  // namespace

idempotency once_number(unsigned number) {
    return {1, key_number(1'000'000 + number).digest, key_number(2'000'000 + number).digest};
}

void known_content::note(command const& command, outcome const& answer) {
    if (answer.replayed) return;
    for (unsigned i = 0; command.idempotency && i < once_max; ++i)
        if (command.idempotency->key == once_number(i).key && is_kept(answer.problem))
            things["once/" + std::to_string(i)] = line_of(answer);
    if (answer.problem == base::problem::none) note(command.action, answer);
}

void known_content::note(command::any_action const& kind, outcome const& answer) {
    if (auto const* user = std::get_if<model::user>(&answer.record)) {
        last[0] = std::max(last[0], user->id);
        things[user_name(user->id)] = encoding_of(*user);
    } else if (auto const* post = std::get_if<model::post>(&answer.record)) {
        last[1] = std::max(last[1], post->id);
        things[post_name(post->user_id, post->id)] = encoding_of(*post);
    } else if (auto const* key = std::get_if<model::key>(&answer.record)) {
        last[2] = std::max(last[2], key->id);
        things[key_name(key->id)] = encoding_of(*key);
        if (auto const* rotation = std::get_if<rotate_key>(&kind))
            note_rotation(*rotation, *key, answer.time);
    } else if (auto const* event = std::get_if<receive_event>(&kind)) {
        auto const id = std::get<received_event>(answer.record).id;
        if (id <= last[3]) return;  // it existed already
        last[3] = id;
        things["event/" + std::to_string(id)] =
            line_of(event->source, event->delivery_id, event->payload);
    } else if (auto const* put = std::get_if<put_event_secret>(&kind)) {
        things["secret/" + put->source] = put->secret.text();
    } else if (auto const* secret_removal = std::get_if<delete_event_secret>(&kind)) {
        things.erase("secret/" + secret_removal->source);
    } else if (auto const* user_removal = std::get_if<delete_user>(&kind)) {
        auto const prefix = user_name(user_removal->id);
        std::erase_if(things, [&](auto const& each) { return each.first.starts_with(prefix); });
    } else if (auto const* post_removal = std::get_if<delete_post>(&kind)) {
        auto const suffix = "/post/" + std::to_string(post_removal->id);
        std::erase_if(things, [&](auto const& each) { return each.first.ends_with(suffix); });
    } else if (auto const* uses = std::get_if<note_key_uses>(&kind)) {
        for (auto const& use : uses->uses) {
            if (!things.contains(key_name(use.key))) continue;
            auto& count = things[use_name(use.key)];
            count = std::to_string(number_in(count) +
                                   static_cast<std::int64_t>(use.counted.requests()));
        }
    }
}

// The outcome has the new key; the old key changed as well.
void known_content::note_rotation(rotate_key const& command, model::key const& key,
                                  base::wall_ms time) {
    auto& bytes = things.at(key_name(command.id));
    auto old = model::decode_key(command.id, bytes).value();
    old.replaced_by = key.id;
    old.rotation_ends_at = time + command.overlap_ms;
    bytes = encoding_of(old);
}

std::map<std::string, std::string> content_of(environment& store) {
    constexpr range all{.limit = 1'000'000};
    std::map<std::string, std::string> content;
    domain::snapshot snapshot(store);
    snapshot.renew();
    auto const now = base::read_clocks().wall;
    snapshot.users(
        all, [&](auto const& user) { content[user_name(user.id)] = encoding_of(copy_of(user)); });
    snapshot.posts({}, all, [&](auto const& post) {
        content[post_name(post.user_id, post.id)] = encoding_of(copy_of(post));
    });
    for (auto const& key : snapshot.keys()) {
        content[key_name(key.id)] = encoding_of(key);
        std::uint64_t uses = 0;
        constexpr auto day = model::length_of(model::granularity::day);
        list_usage(snapshot, key.id, model::granularity::day, now - day, now + day,
                   [&](auto, model::usage const& counted) { uses += counted.requests(); });
        if (uses != 0) content[use_name(key.id)] = std::to_string(uses);
    }
    list_events(snapshot, {}, all, [&](auto const& event) {
        content["event/" + std::to_string(event.id)] =
            line_of(event.source, event.delivery_id, event.payload);
    });
    for (std::string const source : {"shop", "till"})
        if (auto const secrets = find_event_secrets(snapshot, source, now))
            content["secret/" + source] = secrets->current.text.text();
    for (unsigned i = 0; i < once_max; ++i)
        if (auto const outcome = snapshot.find_outcome(once_number(i), now))
            content["once/" + std::to_string(i)] = line_of(*outcome);
    if (snapshot.damaged()) content["damage"] = "records that cannot be read";
    return content;
}

std::string difference(std::map<std::string, std::string> const& content,
                       std::map<std::string, std::string> const& expected) {
    for (auto const& [name, bytes] : expected) {
        auto const entry = content.find(name);
        if (entry == content.end()) return name + " is not there";
        if (entry->second != bytes) return name + " is another";
    }
    for (auto const& [name, bytes] : content)
        if (!expected.contains(name)) return name + " should not be there";
    return {};
}

}  // namespace latchkey::domain
