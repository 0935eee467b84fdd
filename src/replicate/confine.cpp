#include "replicate/confine.hpp"

#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/client_calls.hpp"
#include "base/file_access.hpp"
#include "replicate/confine_files.hpp"

namespace latchkey::replicate {
namespace {

// Netlink: which address families there are.
constexpr base::allowed_call calls[] = {
    {__NR_socket, 0, UINT32_MAX, AF_UNIX}, {__NR_socket, 0, UINT32_MAX, AF_NETLINK}, {__NR_getcwd}};

}  // namespace

base::result<void> confine([[maybe_unused]] std::vector<conninfo::setting> const& settings) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return {};
#endif
#endif
    if (auto const result = base::give_up_privileges(); !result) return result;
    auto const restriction = base::restrict_files({.read = readable_places(settings)});
    if (!restriction) return restriction.error();
    return base::filter_calls({base::client_calls, calls});
}

}  // namespace latchkey::replicate
