#include "helpers/replicate/confine_replicate.hpp"

#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/system/call_lists.hpp"
#include "helpers/kit/confine_helper.hpp"
#include "helpers/replicate/confine_files.hpp"

namespace latchkey::replicate {
namespace {

// Netlink: which address families there are.
constexpr base::allowed_call calls[] = {
    {__NR_socket, 0, UINT32_MAX, AF_UNIX}, {__NR_socket, 0, UINT32_MAX, AF_NETLINK}, {__NR_getcwd}};

}  // namespace

base::result<void> confine(std::vector<conninfo::setting> const& settings) {
    return kit::confine(readable_places(settings), {base::common_calls, base::client_calls, calls});
}

}  // namespace latchkey::replicate
