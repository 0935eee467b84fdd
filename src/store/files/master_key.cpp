#include "store/files/master_key.hpp"

#include <fcntl.h>
#include <openssl/digest.h>
#include <openssl/hkdf.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/check.hpp"
#include "base/system/descriptor.hpp"
#include "base/system/read_within.hpp"

namespace latchkey::store {
namespace {

using secret = std::array<char, 32>;

// Written to a temporary file and renamed, so that a crash leaves no short key behind.
base::result<secret> create_key_file(std::string const& directory) {
    secret key;
    if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size()))
        return base::errno_error("cannot get random bytes", errno);
    auto const path = directory + "/master.key";
    auto const temporary = path + ".new";
    ::unlink(temporary.c_str());  // left over from an attempt that was cut short
    auto file = base::open_file(temporary, O_WRONLY | O_CREAT | O_EXCL);
    if (!file.is_open()) return base::errno_error("cannot make " + temporary, errno);
    auto const size = ::write(file.get(), key.data(), key.size());
    if (size != static_cast<ssize_t>(key.size()) || ::fsync(file.get()) != 0)
        return base::errno_error("cannot write " + temporary, errno);
    file.close();
    if (::rename(temporary.c_str(), path.c_str()) != 0)
        return base::errno_error("cannot make " + path, errno);
    if (auto const synced = sync_directory(directory); !synced) return synced.error();
    return key;
}

// Says that the key of this directory is elsewhere.
constexpr std::string_view marker_name = "/master.key.elsewhere";

base::result<secret> read_key_file(base::descriptor const& file, std::string const& path) {
    secret key;
    std::array<char, key.size() + 1> bytes;
    auto const size = base::read_within(file, path, bytes);
    if (!size) return size.error();
    if (*size != key.size()) return base::error{path + " is damaged: it must be exactly 32 bytes"};
    std::ranges::copy_n(bytes.begin(), static_cast<std::ptrdiff_t>(key.size()), key.begin());
    return key;
}

base::result<void> mark_elsewhere(std::string const& directory) {
    auto const path = directory + std::string(marker_name);
    if (!base::open_file(path, O_WRONLY | O_CREAT).is_open())
        return base::errno_error("cannot make " + path, errno);
    return sync_directory(directory);
}

base::result<std::optional<secret>> load_external_key(std::string const& directory,
                                                      std::string const& path, bool read_only) {
    auto const file = base::open_to_read(path);
    if (!file.is_open()) return base::errno_error("cannot open the master key " + path, errno);
    auto const key = read_key_file(file, path);
    if (!key) return key.error();
    auto const own_path = directory + "/master.key";
    if (auto const own = base::open_to_read(own_path); own.is_open()) {
        auto const other = read_key_file(own, own_path);
        if (!other || *other != *key)
            return base::error{own_path + " and store.master_key_file are different keys: remove " +
                               "the one that is not this store's"};
    }
    if (!read_only)
        if (auto const marked = mark_elsewhere(directory); !marked) return marked.error();
    return std::optional<secret>(*key);
}

}  // namespace

base::result<std::optional<secret>> load_master_key(std::string const& directory,
                                                    std::string const& external_file,
                                                    bool read_only) {
    if (!external_file.empty()) return load_external_key(directory, external_file, read_only);
    auto const path = directory + "/master.key";
    auto const file = base::open_to_read(path);
    if (!file.is_open() && errno == ENOENT) {
        if (read_only) return std::optional<secret>();
        if (::access((directory + std::string(marker_name)).c_str(), F_OK) == 0)
            return base::error{"the master key of " + directory +
                               " is kept elsewhere: name its file with store.master_key_file, or "
                               "copy it to " +
                               path};
        auto const key = create_key_file(directory);
        if (!key) return key.error();
        return std::optional<secret>(*key);
    }
    if (!file.is_open()) return base::errno_error("cannot open " + path, errno);
    auto const key = read_key_file(file, path);
    if (!key) return key.error();
    return std::optional<secret>(*key);
}

std::array<char, 32> derive(std::string_view master_key, std::string_view label) {
    secret key;
    auto const bytes = [](auto* data) { return reinterpret_cast<std::uint8_t const*>(data); };
    // All sizes are fixed.
    base::check(::HKDF(reinterpret_cast<std::uint8_t*>(key.data()), key.size(), ::EVP_sha256(),
                       bytes(master_key.data()), master_key.size(), nullptr, 0, bytes(label.data()),
                       label.size()) == 1,
                "a key that cannot be derived");
    return key;
}

base::result<void> sync_directory(std::string const& directory) {
    auto const file = base::open_file(directory, O_RDONLY | O_DIRECTORY);
    if (!file.is_open()) return base::errno_error("cannot open " + directory, errno);
    if (::fsync(file.get()) != 0) return base::errno_error("cannot sync " + directory, errno);
    return {};
}

}  // namespace latchkey::store
