#include "cli/frame/secret_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/bytes.hpp"
#include "base/system/descriptor.hpp"
#include "cli/frame/standard_input.hpp"

namespace latchkey::cli {
namespace {

constexpr std::size_t secret_bytes_min = 32;

}  // namespace

base::result<base::secret> read_secret(std::string const& path, std::string const& subject) {
    base::descriptor file;
    if (path == "-")
        if (auto const claim = claim_standard_input(subject); !claim) return claim.error();
    if (path != "-") file = base::open_file(path, O_RDONLY);
    if (path != "-" && !file.is_open()) {
        // A secret in the place of a path is not shown.
        if (errno == ENOENT && path.find('/') == path.npos && path.size() >= secret_bytes_min)
            return base::error{subject + " is read from a file, or from standard input with -: " +
                               "there is no file of that name, which is as long as a key"};
        return base::errno_error(subject + " cannot be read from " + path, errno);
    }
    // Without a stream of the library, whose buffer would keep the secret.
    std::array<char, base::secret::bytes_max + 2> bytes;
    std::size_t size = 0;
    ssize_t count = 1;
    while (count != 0 && size < bytes.size()) {
        count = ::read(path == "-" ? STDIN_FILENO : file.get(), bytes.data() + size,
                       bytes.size() - size);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) break;
        size += static_cast<std::size_t>(count);
    }
    auto const failure = count < 0 ? errno : 0;
    if (size != 0 && bytes[size - 1] == '\n') --size;
    if (size != 0 && bytes[size - 1] == '\r') --size;
    base::result<base::secret> result = base::error{
        subject + " has more than " + std::to_string(base::secret::bytes_max) + " bytes"};
    if (failure != 0)
        result = base::errno_error(subject + " cannot be read from " + path, failure);
    else if (size <= base::secret::bytes_max)
        result = base::secret(std::string_view(bytes.data(), size));
    auto const text = std::string_view(bytes.data(), std::min(size, base::secret::bytes_max));
    if (result && text.find_first_of(std::string_view("\n\r\0", 3)) != text.npos)
        result = base::error{subject + " must be the one line of " +
                             (path == "-" ? "standard input" : path) + ", which has more"};
    base::wipe(bytes.data(), bytes.size());
    return result;
}

}  // namespace latchkey::cli
