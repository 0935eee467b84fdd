#include "helpers/replicate/protocol/replicate_messages.hpp"

#include "helpers/kit/codec.hpp"

namespace latchkey::replicate::protocol {
namespace {

using kit::bounded, kit::is;

constexpr std::size_t list_count_max = 1 << 20;

struct layout : kit::hello_layout {
    using hello_layout::walk;
    static void walk(auto& archive, is<log_row> auto& row) {
        archive(row.position, row.nonce, row.schema, row.urgent,
                bounded{row.effects, effects_bytes_max});
    }
    static void walk(auto& archive, is<state_record> auto& record) {
        archive(record.table, bounded{record.key, record_key_bytes_max},
                bounded{record.value, effects_bytes_max});
    }
    static void walk(auto& archive, is<node_state> auto& node) {
        archive(bounded{node.name, name_bytes_max}, node.instance, node.position, node.renewal,
                node.lease_ms, node.schema, bounded{node.version, name_bytes_max}, node.departed,
                node.alive, node.renewal_seen, node.lease_end);
    }
    static void walk(auto& archive, is<configure> auto& message) {
        archive(message.session, bounded{message.conninfo, conninfo_bytes_max},
                bounded{message.node, name_bytes_max}, message.instance, message.cluster,
                message.key_check, bounded{message.version, name_bytes_max}, message.schema,
                message.lease_ms);
    }
    static void walk(auto& archive, is<append> auto& message) {
        archive(message.row, message.row.previous);
    }
    static void walk(auto& archive, is<resolve> auto& message) {
        archive(message.position, message.nonce, message.schema, message.previous);
    }
    static void walk(auto& archive, is<reserve> auto& message) {
        archive(message.position, message.nonce);
    }
    static void walk(auto& archive, is<tail> auto& message) {
        archive(message.position, message.nonce);
    }
    static void walk(auto& archive, is<applied> auto& message) {
        archive(message.position, message.urgent);
    }
    static void walk(auto& archive, is<watch> auto& message) { archive(message.position); }
    static void walk(auto& archive, is<leave> auto& message) {
        archive(bounded{message.node, name_bytes_max});
    }
    static void walk(auto& archive, is<read_state> auto& message) { archive(message.fold); }
    static void walk(auto& archive, is<init_begin> auto& message) { archive(message.cluster); }
    static void walk(auto& archive, is<init_end> auto& message) {
        archive(message.position, message.schema);
    }
    static void walk(auto& archive, is<ready> auto& message) {
        archive(message.cluster, message.head, message.folded, message.first);
    }
    static void walk(auto& archive, is<failed> auto& message) {
        archive(message.reason, message.fatal, bounded{message.text, text_bytes_max});
    }
    static void walk(auto& archive, is<appended> auto& message) {
        archive(message.result, message.position);
    }
    static void walk(auto& archive, is<reserved> auto& message) {
        archive(message.granted, message.head);
    }
    static void walk(auto& archive, is<rows> auto& message) {
        archive(bounded{message.list, list_count_max});
    }
    static void walk(auto& archive, is<lease> auto& message) {
        archive(message.start, message.head);
    }
    static void walk(auto& archive, is<confirmed> auto& message) {
        archive(message.position, message.lease_end, message.watched);
    }
    static void walk(auto& archive, is<nodes> auto& message) {
        archive(bounded{message.list, nodes_max});
    }
    static void walk(auto& archive, is<engine> auto& message) {
        archive(message.connected, bounded{message.text, text_bytes_max});
    }
    static void walk(auto& archive, is<status_report> auto& message) {
        archive(bounded{message.server, text_bytes_max}, bounded{message.host, text_bytes_max},
                message.standby_synchronous, message.cluster, message.head, message.folded,
                message.first, message.version, bounded{message.nodes, nodes_max});
    }
    static void walk(auto& archive, is<state_begin> auto& message) {
        archive(message.position, message.head, message.schema, message.nonce);
    }
    static void walk(auto& archive, is<state_chunk> auto& message) {
        archive(bounded{message.records, list_count_max});
    }
    static void walk(auto& archive, is<state_end> auto& message) { archive(message.records); }
    static void walk(auto& archive, is<quota_rule> auto& rule) {
        archive(rule.slot, rule.generation, rule.interval_ns, rule.burst);
    }
    static void walk(auto& archive, is<quota_origin> auto& origin) {
        archive(origin.rule, origin.key, origin.slot, origin.generation);
    }
    static void walk(auto& archive, is<quota_want> auto& want) {
        archive(want.key, want.policy, want.tokens, want.hold_ns,
                bounded{want.rules, quota_rules_max}, bounded{want.origins, quota_origins_max});
    }
    static void walk(auto& archive, is<quota_ask> auto& message) {
        archive(message.process, message.presence, message.clock, message.share, message.reserve,
                bounded{message.wants, quota_wants_max});
    }
    static void walk(auto& archive, is<quota_grant> auto& grant) {
        archive(grant.key, grant.policy, grant.tokens, grant.wait_ns,
                bounded{grant.arrivals, quota_rules_max});
    }
    static void walk(auto& archive, is<quota_member> auto& member) {
        archive(bounded{member.name, name_bytes_max}, member.process, member.presence, member.share,
                member.clock);
    }
    static void walk(auto& archive, is<quota_answer> auto& message) {
        archive(message.is_member, message.share, message.clock,
                bounded{message.members, nodes_max}, bounded{message.grants, quota_wants_max});
    }
};

using node_codec = kit::codec<layout, std::uint32_t>;

}  // namespace

std::string encode(envelope const& parcel) {
    return node_codec::encode(parcel.content, 0, parcel.request);
}

base::result<envelope> decode(std::string_view bytes) {
    envelope parcel;
    auto const result = node_codec::decode(bytes, parcel.content, parcel.request);
    if (!result) return result.error();
    return parcel;
}

}  // namespace latchkey::replicate::protocol
