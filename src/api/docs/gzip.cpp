#include "api/docs/gzip.hpp"

#include <zlib.h>

#include "base/check.hpp"

namespace latchkey::api {

// One call with a buffer of the upper bound, so it cannot stop half-way.
std::string gzip(std::string_view content) {
    constexpr int gzip_framing = 16;
    z_stream stream{};
    // It compresses pages of this program, when that starts.
    base::check(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + gzip_framing,
                             MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK,
                "zlib has no memory");
    std::string result(deflateBound(&stream, content.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    stream.avail_in = static_cast<uInt>(content.size());
    stream.next_out = reinterpret_cast<Bytef*>(result.data());
    stream.avail_out = static_cast<uInt>(result.size());
    base::check(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib did not finish");
    result.resize(stream.total_out);
    deflateEnd(&stream);
    return result;
}

}  // namespace latchkey::api
