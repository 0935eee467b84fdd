// latchkey-remote: sends the requests of `latchkey COMMAND --url` over HTTPS. The command starts it
// with a stream socket as standard input and output; over that come, as netstrings, first the URL,
// the key and the file with authorities, then for each request its method, target and body. Each is
// answered by status, request id, seconds of Retry-After and body. It ends when the stream does.
#include <curl/curl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <optional>
#include <string>

#include "base/bytes.hpp"
#include "base/system/standard_streams.hpp"
#include "helpers/remote/protocol/netstring.hpp"
#include "helpers/remote/remote_request.hpp"

namespace {

using latchkey::remote::connection;

constexpr std::size_t request_bytes_max = 16u << 20;

constexpr char const* help =
    "latchkey-remote: the helper through which latchkey COMMAND --url asks a service elsewhere\n"
    "It is started by such a command, over a socket, and is of no use alone.\n";

// Three netstrings; nullopt: the stream has ended.
std::optional<std::array<std::string, 3>> read_three(latchkey::remote::netstring_reader& input) {
    std::array<std::string, 3> texts;
    for (auto& text : texts) {
        auto next = input.next();
        if (!next) return std::nullopt;
        text = std::move(*next);
    }
    return texts;
}

int serve(int socket) {
    latchkey::remote::netstring_reader input(socket, request_bytes_max);
    auto address = read_three(input);
    if (!address) return 1;
    connection service(
        {std::move((*address)[0]), std::move((*address)[1]), std::move((*address)[2])});
    for (auto words = read_three(input); words; words = read_three(input)) {
        auto& [method, target, body] = *words;
        auto answer = service.send({method, target, body});
        std::string text;
        latchkey::remote::append_netstring(text, std::to_string(answer.status));
        latchkey::remote::append_netstring(text, answer.request_id);
        latchkey::remote::append_netstring(text, std::to_string(answer.retry_after_seconds));
        latchkey::remote::append_netstring(text, answer.body);
        bool const is_sent = latchkey::remote::write_stream(socket, text);
        for (auto* const each : {&text, &answer.body, &body})
            latchkey::base::wipe(each->data(), each->size());
        if (!is_sent) return 1;
    }
    return 0;
}

}  // namespace

int main() {
    latchkey::base::open_standard_streams();
    int type = 0;
    socklen_t size = sizeof type;
    if (::getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
        std::fputs(help, stderr);
        return 2;
    }
    if (::curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return 1;
    int const code = serve(STDIN_FILENO);
    ::curl_global_cleanup();
    return code;
}
