// The conversation by which a service hands its listening sockets to the process that replaces it
// (`serve --take-over`, docs/decisions/shutdown.md). A Unix socket of packets (SOCK_SEQPACKET) in
// the data directory, mode 0600; each side checks that the other is of its own user (SO_PEERCRED).
// Packets are text of one line, sockets come beside them (SCM_RIGHTS, unix(7)).
//
//     successor                         predecessor, which serves
//     hello VERSION NAME           →
//                                  ←    socket KIND N ADDRESS + its descriptors, once or more each
//                                  ←    claim                 + the claim on the store
//                                  ←    all PID               or: refusal SENTENCE
//     ready N,N,…                  →                          the sockets that it keeps
//                                  ←    accept                the predecessor accepts no more
//     the end of the stream        ←                          the predecessor has ended
//
// Before `ready` either side may close, and nothing has changed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/system/descriptor.hpp"

namespace latchkey::server::handover {

inline constexpr unsigned version = 1;
// The kernel takes 253 with a packet (SCM_MAX_FD).
inline constexpr std::size_t descriptors_per_packet_max = 64;
inline constexpr std::size_t packet_bytes_max = 4096;

enum class socket_kind : std::uint8_t { listener, management, handover };

// The descriptors of one address, as they are passed.
struct passed_listener {
    socket_kind kind = socket_kind::listener;
    std::string address;  // as it was configured, `https://127.0.0.1:0`; empty for `handover`
    std::vector<base::descriptor> descriptors;
};

struct packet {
    std::string text;
    std::vector<base::descriptor> descriptors;
};

// False: the peer has ended, does not read, or errno says otherwise. `descriptors` stay the
// caller's. Never blocks.
bool send(int socket, std::string_view text, std::vector<int> const& descriptors = {});
// Waits until `deadline` (monotonic), whose passing is an error. An empty text: the peer has ended.
base::result<packet> receive(int socket, base::mono_ns deadline);
// The same without descriptors: of the system calls that a confined service makes.
base::result<packet> receive_text(int socket, base::mono_ns deadline);
// Whether the process at the other end has this process's user.
bool has_own_user(int socket);

std::string text_of(socket_kind kind);
std::optional<socket_kind> socket_kind_of(std::string_view text);

// The socket's file. A socket that listens there, or one that is connected to it; the error has
// errno's text. Paths longer than an address of a Unix socket work too.
inline constexpr std::string_view file_name = "handover.socket";
base::result<base::descriptor> listen_in(std::string const& directory);
base::descriptor connect_in(std::string const& directory);  // not open: errno says why

}  // namespace latchkey::server::handover
