#include "helpers/deliver/error_text.hpp"

#include <errno.h>

#include <algorithm>

#include "base/result.hpp"
#include "helpers/deliver/protocol/deliver_messages.hpp"

namespace latchkey::deliver {
namespace {

std::string connection_text(int system_error) {
    switch (system_error) {
        case ECONNREFUSED:
            return "connection refused";
        case EHOSTUNREACH:
            return "the host cannot be reached";
        case ENETUNREACH:
            return "the network cannot be reached";
        case ETIMEDOUT:
            return "the host does not answer";
        case ECONNRESET:
            return "connection reset";
        default:
            return "no connection";
    }
}

// libcurl over OpenSSL tells what is wrong with a chain, over GnuTLS it does not.
std::string certificate_text(std::string_view detail) {
    constexpr std::string_view problem = "SSL certificate problem: ";
    if (detail.find("target host name") != detail.npos) return "certificate: it is of another name";
    if (auto const place = detail.find(problem); place != detail.npos)
        return "certificate: " + std::string(detail.substr(place + problem.size()));
    return "certificate: its issuer is not known here, or it is not valid now";
}

std::string words_of(failure const& failure) {
    switch (failure.code) {
        case CURLE_COULDNT_RESOLVE_HOST:
            return "the name does not resolve";
        case CURLE_COULDNT_CONNECT:
            return connection_text(failure.system_error);
        case CURLE_PEER_FAILED_VERIFICATION:
            return certificate_text(failure.detail);
        case CURLE_SSL_CACERT_BADFILE:
            return "certificate: no authorities are installed here";
        case CURLE_SSL_CONNECT_ERROR:
            return "TLS: " + std::string(failure.detail.empty() ? "no handshake" : failure.detail);
        case CURLE_GOT_NOTHING:
        case CURLE_PARTIAL_FILE:
        case CURLE_SEND_ERROR:
        case CURLE_RECV_ERROR:
            return "the connection ended before an answer";
        case CURLE_WEIRD_SERVER_REPLY:
        case CURLE_UNSUPPORTED_PROTOCOL:
        case CURLE_HTTP2:
            return "the answer is not HTTP";
        case CURLE_WRITE_ERROR:
            return "the head of the answer is too large";
        case CURLE_URL_MALFORMAT:
            return "the URL is malformed";
        case CURLE_OUT_OF_MEMORY:
            return "out of memory";
        default:
            return ::curl_easy_strerror(failure.code);
    }
}

}  // namespace

std::string error_text(failure const& failure) {
    auto text = words_of(failure);
    if (text.size() > deliver::protocol::error_bytes_max)
        text.resize(deliver::protocol::error_bytes_max);
    std::ranges::replace_if(text, [](char byte) { return byte < ' ' || byte >= 0x7f; }, '?');
    return text;
}

}  // namespace latchkey::deliver
