#include "helpers/remote/protocol/netstring.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "base/bytes.hpp"

namespace latchkey::remote {
namespace {

constexpr std::size_t digits_max = 10;

}  // namespace

void append_netstring(std::string& output, std::string_view text) {
    output.append(std::to_string(text.size())).append(1, ':').append(text).push_back(',');
}

bool write_stream(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        auto const count = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

netstring_reader::~netstring_reader() {
    base::wipe(buffer_.data(), buffer_.size());
}

bool netstring_reader::fill() {
    std::array<char, 16 * 1024> bytes;
    ssize_t count = 0;
    do count = ::read(descriptor_, bytes.data(), bytes.size());
    while (count < 0 && errno == EINTR);
    if (count <= 0) return false;
    buffer_.append(bytes.data(), static_cast<std::size_t>(count));
    base::wipe(bytes.data(), static_cast<std::size_t>(count));
    return true;
}

std::optional<std::string> netstring_reader::next() {
    auto colon = buffer_.find(':', begin_);
    while (colon == buffer_.npos) {
        if (buffer_.size() - begin_ > digits_max || !fill()) return std::nullopt;
        colon = buffer_.find(':', begin_);
    }
    std::size_t length = 0;
    auto const* const end = buffer_.data() + colon;
    auto const read = std::from_chars(buffer_.data() + begin_, end, length);
    if (read.ec != std::errc() || read.ptr != end || length > bytes_max_) return std::nullopt;
    auto const start = colon + 1;
    while (buffer_.size() < start + length + 1)
        if (!fill()) return std::nullopt;
    if (buffer_[start + length] != ',') return std::nullopt;
    auto text = buffer_.substr(start, length);
    base::wipe(buffer_.data() + begin_, start + length + 1 - begin_);
    begin_ = start + length + 1;
    if (begin_ == buffer_.size()) buffer_.clear(), begin_ = 0;
    return text;
}

}  // namespace latchkey::remote
