#include "helpers/kit/program.hpp"

#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string>
#include <utility>

#include "base/system/log.hpp"
#include "base/system/write_now.hpp"
#include "base/version.hpp"

namespace latchkey::kit {
namespace {

int print(std::string_view text) {
    return ::write(STDOUT_FILENO, text.data(), text.size()) < 0 ? 1 : 0;
}

// A SEQPACKET socket, or none.
base::descriptor parse_socket(std::string_view text) {
    int number = -1;
    auto const end = std::from_chars(text.data(), text.data() + text.size(), number);
    int type = 0;
    socklen_t size = sizeof type;
    bool const valid = end.ec == std::errc() && end.ptr == text.data() + text.size() &&
                       ::getsockopt(number, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
                       type == SOCK_SEQPACKET;
    return base::descriptor(valid ? number : -1);
}

}  // namespace

int run_helper(helper_program const& program, serve_function* serve, int argument_count,
               char** arguments) {
    base::set_log_style(base::log_style_of_environment());
    base::drop_unread_messages();
    std::string const name(program.name);
    std::string_view const option = argument_count > 1 ? arguments[1] : "";
    if (option == "--help" || option == "-h") return print(program.help);
    if (option == "--version") return print(name + " " LATCHKEY_VERSION "\n");
    auto socket = option == "--descriptor" && argument_count == 3 ? parse_socket(arguments[2])
                                                                  : base::descriptor();
    if (!socket.is_open()) {
        base::log(base::severity::failure, name +
                                               " takes --descriptor N, a SEQPACKET socket; it is "
                                               "started by latchkey, not by people");
        return 2;
    }
    ::umask(077);
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // what it gets may hold a password or a signature
    std::uint64_t session = 0;
    auto const result = ::getrandom(&session, sizeof session, 0) == sizeof session
                            ? serve(std::move(socket), session)
                            : base::errno_error("there is no randomness", errno);
    if (!result) base::log(base::severity::failure, name + ": " + result.error().message);
    ::_exit(result ? 0 : 1);
}

}  // namespace latchkey::kit
