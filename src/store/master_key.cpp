#include "store/master_key.hpp"

#include <fcntl.h>
#include <openssl/digest.h>
#include <openssl/hkdf.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/check.hpp"

namespace latchkey::store {
namespace {

using secret = std::array<char, 32>;

// Written beside and renamed, so that a crash leaves no short key behind.
base::result<secret> make(std::string const& directory) {
    secret key;
    if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size()))
        return base::errno_error("cannot get random bytes", errno);
    auto const path = directory + "/master.key";
    auto const beside = path + ".new";
    int const to = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (to < 0) return base::errno_error("cannot make " + beside, errno);
    auto const written = ::write(to, key.data(), key.size());
    bool const whole = written == static_cast<ssize_t>(key.size()) && ::fsync(to) == 0;
    int const failure = whole ? 0 : errno;
    ::close(to);
    if (!whole) return base::errno_error("cannot write " + beside, failure);
    if (::rename(beside.c_str(), path.c_str()) != 0)
        return base::errno_error("cannot make " + path, errno);
    if (auto const synced = sync_directory(directory); !synced) return synced.error();
    return key;
}

}  // namespace

base::result<std::optional<secret>> load_master_key(std::string const& directory, bool read_only) {
    auto const path = directory + "/master.key";
    int const from = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (from < 0 && errno == ENOENT) {
        if (read_only) return std::optional<secret>();
        auto const made = make(directory);
        if (!made) return made.error();
        return std::optional<secret>(*made);
    }
    if (from < 0) return base::errno_error("cannot open " + path, errno);
    secret key;
    char more;
    bool const whole = ::read(from, key.data(), key.size()) == static_cast<ssize_t>(key.size()) &&
                       ::read(from, &more, 1) == 0;
    ::close(from);
    if (!whole) return base::error{path + " is damaged: it must be exactly 32 bytes"};
    return std::optional<secret>(key);
}

std::array<char, 32> derive(std::string_view master_key, std::string_view label) {
    secret key;
    auto const bytes = [](auto* data) { return reinterpret_cast<std::uint8_t const*>(data); };
    base::check(::HKDF(reinterpret_cast<std::uint8_t*>(key.data()), key.size(), ::EVP_sha256(),
                       bytes(master_key.data()), master_key.size(), nullptr, 0, bytes(label.data()),
                       label.size()) == 1,
                "a key that cannot be derived");
    return key;
}

base::result<void> sync_directory(std::string const& directory) {
    int const descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return base::errno_error("cannot open " + directory, errno);
    bool const synced = ::fsync(descriptor) == 0;
    int const failure = errno;
    ::close(descriptor);
    if (!synced) return base::errno_error("cannot sync " + directory, failure);
    return {};
}

}  // namespace latchkey::store
