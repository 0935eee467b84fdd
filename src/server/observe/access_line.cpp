// Memoisation in two direct-mapped tables: one finds what a line says of key and operation, the
// other what it says of the client. A place is compared with all that its text was made of, but for
// the project, which a key never leaves. A line is put together on the stack, whose size bounds the
// longest one.
#include "server/observe/access_line.hpp"

#include <cstring>

#include "api/frame/json/json_writer.hpp"

namespace latchkey::server {
namespace {

void put_text(base::text_writer& output, std::string_view value) {
    value.empty() ? void(output.put("null")) : api::append_string(output, value);
}
// A member whose `opening` ends with the quote of its value. The value is our own text and needs no
// escaping.
template <std::size_t Size>
void put_plain(base::text_writer& output, char const (&opening)[Size], std::string_view value) {
    if (value.empty())
        output.put({opening, Size - 2}).put("null");
    else
        output.put({opening, Size - 1}).put(value).put('"');
}

// Fibonacci hashing: the upper half of the product, which all bits of the value have reached.
std::size_t place_of(std::uint64_t value, std::size_t places) {
    return (value * 0x9e3779b97f4a7c15 >> 32) % places;
}
std::size_t place_of(std::optional<model::address> const& address, std::size_t places) {
    std::uint64_t halves[2] = {};
    if (address) std::memcpy(halves, address->bytes.data(), sizeof halves);
    return place_of(halves[0] ^ halves[1], places);
}

// Of constants of the program, of which equal ones lie at one place.
bool is_same(std::string_view one, std::string_view other) {
    return one.data() == other.data() && one.size() == other.size();
}

// Puts what `part` says, which is rendered if its place has something else.
void put_kept(base::text_writer& line, auto& place, auto const& part) {
    if (place.holds(part)) [[likely]] {
        line.put(place.text);
        return;
    }
    char const* const begin = line.position();
    part.put(line);
    std::string_view const rendered(begin, line.position());
    if (!place.keep(part, rendered)) place.text.keep({});
}

}  // namespace

void access_lines::operation::put(base::text_writer& line) const {
    line.put(",\"key_id\":");
    key != 0 ? line.number(key) : line.put("null");
    put_plain(line, ",\"project\":\"", project);
    put_text(line.put(",\"method\":"), method);
    put_plain(line, ",\"route\":\"", route);
    line.put(",\"path\":");
}
bool access_lines::operation_place::holds(operation const& part) const {
    return key == part.key && is_same(route, part.route) && method == part.method &&
           !std::string_view(text).empty();
}
bool access_lines::operation_place::keep(operation const& part, std::string_view rendered) {
    key = part.key;
    route = part.route;
    return method.keep(part.method) && text.keep(rendered);
}

void access_lines::client::put(base::text_writer& line) const {
    line.put(",\"ip\":");
    address ? address->put(line.put('"')), void(line.put('"')) : void(line.put("null"));
    put_text(line.put(",\"user_agent\":"), agent);
    put_plain(line, ",\"key_source\":\"", key_source);
    line.put(",\"protocol\":\"").put(protocol).put("\"}\n");
}
bool access_lines::client_place::holds(client const& part) const {
    return address == part.address && agent == part.agent && is_same(key_source, part.key_source) &&
           is_same(protocol, part.protocol) && !std::string_view(text).empty();
}
bool access_lines::client_place::keep(client const& part, std::string_view rendered) {
    address = part.address;
    key_source = part.key_source;
    protocol = part.protocol;
    return agent.keep(part.agent) && text.keep(rendered);
}

void access_lines::append(log_entry const& entry, api::exchange const* exchange,
                          api::peer const& peer, base::mono_ns duration, std::string& output) {
    char text[bytes_max];  // left uninitialized: only the used part is touched
    base::text_writer line(text, sizeof text);
    line.put("{\"ts\":");
    api::append_timestamp(line, entry.began.clock);
    operation call{.key = 0, .method = entry.method};
    client caller{
        .address = peer.client, .agent = entry.user_agent, .protocol = name_of(entry.protocol)};
    std::string_view request_id = entry.request_id, trace_id;
    if (exchange != nullptr) {
        request_id = exchange->request_id();
        trace_id = exchange->trace_id();
        call.key = exchange->key_id();
        call.project = exchange->project();
        call.route = exchange->route();
        caller.key_source = name_of(exchange->source());
        if (exchange->client()) caller.address = exchange->client();
    }
    put_plain(line, ",\"request_id\":\"", request_id);
    put_plain(line, ",\"trace_id\":\"", trace_id);
    auto const routes = reinterpret_cast<std::uintptr_t>(call.route.data());
    auto const operation_hash = static_cast<std::uint64_t>(call.key) ^ routes ^ call.method.size();
    put_kept(line, operations_[place_of(operation_hash, places)], call);
    put_text(line, entry.path);
    line.put(",\"status\":").number(entry.status);
    put_plain(line, ",\"code\":\"", base::describe(entry.code).name);
    line.put(",\"bytes_in\":").number(entry.bytes_in);
    line.put(",\"bytes_out\":").number(entry.bytes_out);
    line.put(",\"duration_us\":").number(duration / 1000);
    put_kept(line, clients_[place_of(caller.address, places)], caller);
    output.append(text, line.position());
}

}  // namespace latchkey::server
