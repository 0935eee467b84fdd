#include "replication/messages.hpp"

#include <concepts>
#include <type_traits>

#include "base/bytes.hpp"
#include "base/variant.hpp"

namespace latchkey::replication {
namespace {

template <class Message, class Type>
concept is = std::same_as<std::remove_const_t<Message>, Type>;

// One list of members serves both directions: an archive writes the members it is called with, or
// reads them.
class writer {
  public:
    explicit writer(std::string& output) : output_(output) {}

    void text(std::string const& value, std::size_t /*bytes_max*/) {
        base::append(output_, static_cast<std::uint32_t>(value.size()));
        output_.append(value);
    }
    template <std::size_t size>
    void array(std::array<char, size> const& value) {
        output_.append(value.data(), size);
    }
    template <std::integral Integer>
    void number(Integer value) {
        if constexpr (std::same_as<Integer, bool>)
            base::append(output_, static_cast<std::uint8_t>(value));
        else
            base::append(output_, value);
    }
    template <class Enumeration>
    void choice(Enumeration value) {
        base::append(output_, static_cast<std::uint8_t>(value));
    }
    template <class Element>
    void list(std::vector<Element> const& elements, std::size_t /*count_max*/) {
        base::append(output_, static_cast<std::uint32_t>(elements.size()));
        for (auto const& each : elements) walk(*this, each);
    }
    template <class Integer>
    void numbers(std::vector<Integer> const& values, std::size_t /*count_max*/) {
        base::append(output_, static_cast<std::uint32_t>(values.size()));
        for (auto const each : values) number(each);
    }

  private:
    std::string& output_;
};

class parser {
  public:
    explicit parser(std::string_view bytes) : input_(bytes) {}

    void text(std::string& value, std::size_t bytes_max) {
        auto const size = input_.integer<std::uint32_t>();
        if (size > bytes_max) valid_ = false;
        if (valid_) value = input_.bytes(size);
    }
    template <std::size_t size>
    void array(std::array<char, size>& value) {
        input_.bytes(size).copy(value.data(), size);
    }
    template <std::integral Integer>
    void number(Integer& value) {
        if constexpr (std::same_as<Integer, bool>) {
            auto const byte = input_.integer<std::uint8_t>();
            if (byte > 1) valid_ = false;
            value = byte == 1;
        } else {
            value = input_.integer<Integer>();
        }
    }
    template <class Enumeration>
    void choice(Enumeration& value) {
        auto const byte = input_.integer<std::uint8_t>();
        if (byte >= static_cast<std::uint8_t>(Enumeration::count_)) valid_ = false;
        value = static_cast<Enumeration>(byte);
    }
    // Nothing is reserved for a count that the bytes do not bear out.
    template <class Element>
    void list(std::vector<Element>& elements, std::size_t count_max) {
        auto const count = input_.integer<std::uint32_t>();
        if (count > count_max) valid_ = false;
        for (std::uint32_t i = 0; valid_ && input_.ok() && i < count; ++i)
            walk(*this, elements.emplace_back());
    }
    template <class Integer>
    void numbers(std::vector<Integer>& values, std::size_t count_max) {
        auto const count = input_.integer<std::uint32_t>();
        if (count > count_max) valid_ = false;
        for (std::uint32_t i = 0; valid_ && input_.ok() && i < count; ++i)
            number(values.emplace_back());
    }

    bool done() const { return valid_ && input_.done(); }

  private:
    base::reader input_;
    bool valid_ = true;
};

constexpr std::size_t list_count_max = 1 << 20;

void walk(auto& archive, is<log_row> auto& row) {
    archive.number(row.position);
    archive.array(row.nonce);
    archive.number(row.schema);
    archive.number(row.urgent);
    archive.text(row.effects, effects_bytes_max);
}
void walk(auto& archive, is<state_record> auto& record) {
    archive.number(record.table);
    archive.text(record.key, record_key_bytes_max);
    archive.text(record.value, effects_bytes_max);
}
void walk(auto& archive, is<node_state> auto& node) {
    archive.text(node.name, name_bytes_max);
    archive.array(node.instance);
    archive.number(node.position);
    archive.number(node.renewal);
    archive.number(node.lease_ms);
    archive.number(node.schema);
    archive.text(node.version, name_bytes_max);
    archive.number(node.departed);
    archive.number(node.alive);
    archive.number(node.renewal_seen);
    archive.number(node.lease_end);
}
void walk(auto& archive, is<configure> auto& message) {
    archive.number(message.session);
    archive.text(message.conninfo, conninfo_bytes_max);
    archive.text(message.node, name_bytes_max);
    archive.array(message.instance);
    archive.array(message.cluster);
    archive.array(message.key_check);
    archive.text(message.version, name_bytes_max);
    archive.number(message.schema);
    archive.number(message.lease_ms);
}
void walk(auto& archive, is<append> auto& message) {
    walk(archive, message.row);
    archive.array(message.previous);
}
void walk(auto& archive, is<resolve> auto& message) {
    archive.number(message.position);
    archive.array(message.nonce);
    archive.number(message.schema);
    archive.array(message.previous);
}
void walk(auto& archive, is<reserve> auto& message) {
    archive.number(message.position);
    archive.array(message.nonce);
}
void walk(auto& archive, is<tail> auto& message) {
    archive.number(message.position);
    archive.array(message.nonce);
}
void walk(auto& archive, is<applied> auto& message) {
    archive.number(message.position);
    archive.number(message.urgent);
}
void walk(auto& archive, is<watch> auto& message) {
    archive.number(message.position);
}
void walk(auto& archive, is<leave> auto& message) {
    archive.text(message.node, name_bytes_max);
}
void walk(auto& archive, is<read_state> auto& message) {
    archive.number(message.fold);
}
void walk(auto& archive, is<init_begin> auto& message) {
    archive.array(message.cluster);
}
void walk(auto& archive, is<init_end> auto& message) {
    archive.number(message.position);
    archive.number(message.schema);
}
void walk(auto& archive, is<hello> auto& message) {
    archive.number(message.version);
    archive.number(message.session);
}
void walk(auto& archive, is<ready> auto& message) {
    archive.array(message.cluster);
    archive.number(message.head);
    archive.number(message.folded);
    archive.number(message.first);
}
void walk(auto& archive, is<failed> auto& message) {
    archive.choice(message.reason);
    archive.number(message.fatal);
    archive.text(message.text, text_bytes_max);
}
void walk(auto& archive, is<appended> auto& message) {
    archive.choice(message.result);
    archive.number(message.position);
}
void walk(auto& archive, is<reserved> auto& message) {
    archive.number(message.granted);
    archive.number(message.head);
}
void walk(auto& archive, is<rows> auto& message) {
    archive.list(message.list, list_count_max);
}
void walk(auto& archive, is<lease> auto& message) {
    archive.number(message.start);
    archive.number(message.head);
}
void walk(auto& archive, is<confirmed> auto& message) {
    archive.number(message.position);
    archive.number(message.lease_end);
    archive.number(message.watched);
}
void walk(auto& archive, is<nodes> auto& message) {
    archive.list(message.list, nodes_max);
}
void walk(auto& archive, is<engine> auto& message) {
    archive.number(message.connected);
    archive.text(message.text, text_bytes_max);
}
void walk(auto& archive, is<status_report> auto& message) {
    archive.text(message.server, text_bytes_max);
    archive.text(message.host, text_bytes_max);
    archive.number(message.standby_synchronous);
    archive.array(message.cluster);
    archive.number(message.head);
    archive.number(message.folded);
    archive.number(message.first);
    archive.number(message.version);
    archive.list(message.nodes, nodes_max);
}
void walk(auto& archive, is<state_begin> auto& message) {
    archive.number(message.position);
    archive.number(message.head);
    archive.number(message.schema);
    archive.array(message.nonce);
}
void walk(auto& archive, is<state_chunk> auto& message) {
    archive.list(message.records, list_count_max);
}
void walk(auto& archive, is<state_end> auto& message) {
    archive.number(message.records);
}
void walk(auto& archive, is<quota_rule> auto& rule) {
    archive.number(rule.slot);
    archive.number(rule.generation);
    archive.number(rule.interval_ns);
    archive.number(rule.burst);
}
void walk(auto& archive, is<quota_origin> auto& origin) {
    archive.number(origin.rule);
    archive.number(origin.key);
    archive.number(origin.slot);
    archive.number(origin.generation);
}
void walk(auto& archive, is<quota_want> auto& want) {
    archive.number(want.key);
    archive.number(want.policy);
    archive.number(want.tokens);
    archive.number(want.hold_ns);
    archive.list(want.rules, quota_rules_max);
    archive.list(want.origins, quota_origins_max);
}
void walk(auto& archive, is<quota_ask> auto& message) {
    archive.number(message.process);
    archive.number(message.presence);
    archive.number(message.clock);
    archive.number(message.share);
    archive.number(message.reserve);
    archive.list(message.wants, quota_wants_max);
}
void walk(auto& archive, is<quota_grant> auto& grant) {
    archive.number(grant.key);
    archive.number(grant.policy);
    archive.number(grant.tokens);
    archive.number(grant.wait_ns);
    archive.numbers(grant.arrivals, quota_rules_max);
}
void walk(auto& archive, is<quota_member> auto& member) {
    archive.text(member.name, name_bytes_max);
    archive.number(member.process);
    archive.number(member.presence);
    archive.number(member.share);
    archive.number(member.clock);
}
void walk(auto& archive, is<quota_answer> auto& message) {
    archive.number(message.is_member);
    archive.number(message.share);
    archive.number(message.clock);
    archive.list(message.members, nodes_max);
    archive.list(message.grants, quota_wants_max);
}
template <class Message>
    requires std::is_empty_v<Message>
void walk(auto& /*archive*/, Message& /*message*/) {}

}  // namespace

std::string encode(envelope const& parcel) {
    std::string bytes;
    base::append(bytes, static_cast<std::uint8_t>(parcel.content.index()));
    base::append(bytes, parcel.request);
    writer output(bytes);
    std::visit([&](auto const& content) { walk(output, content); }, parcel.content);
    return bytes;
}

base::result<envelope> decode(std::string_view bytes) {
    base::reader head(bytes);
    auto const type = head.integer<std::uint8_t>();
    envelope parcel{.request = head.integer<std::uint32_t>()};
    if (!head.ok() || !base::emplace_alternative(parcel.content, type))
        return base::error{"a message of an unknown type"};
    parser input(head.rest());
    std::visit([&](auto& content) { walk(input, content); }, parcel.content);
    if (!input.done())
        return base::error{"a message of type " + std::to_string(type) + " has a wrong form"};
    return parcel;
}

}  // namespace latchkey::replication
