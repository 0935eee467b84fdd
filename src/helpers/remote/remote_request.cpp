#include "helpers/remote/remote_request.hpp"

#include <strings.h>

#include <utility>

#include "base/ascii.hpp"
#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/version.hpp"

namespace latchkey::remote {
namespace {

using kit::set;

constexpr std::size_t answer_bytes_max = 64u << 20;
constexpr long connect_seconds_max = 15, answer_seconds_max = 60;

std::size_t take_content(char* bytes, std::size_t size, std::size_t count, void* self) {
    auto& body = static_cast<answer*>(self)->body;
    if (body.size() + size * count > answer_bytes_max) return CURL_WRITEFUNC_ERROR;
    body.append(bytes, size * count);
    return size * count;
}

std::size_t take_head(char* bytes, std::size_t size, std::size_t count, void* self) {
    static constexpr std::string_view name = "x-request-id:";
    std::string_view line(bytes, size * count);
    if (line.size() > name.size() && ::strncasecmp(line.data(), name.data(), name.size()) == 0) {
        line.remove_prefix(line.find_first_not_of(" \t", name.size()));
        static_cast<answer*>(self)->request_id = line.substr(0, line.find_last_not_of("\r\n") + 1);
    }
    return size * count;
}

}  // namespace

connection::connection(service_address address)
    : address_(std::move(address)), easy_(::curl_easy_init()) {
    base::check(easy_ != nullptr, "out of memory");
}

connection::~connection() {
    base::wipe(address_.key.data(), address_.key.size());
}

void connection::set_protocol() {
    auto* const easy = easy_.get();
    kit::set_protocol(easy);
    set(easy, CURLOPT_PATH_AS_IS, 1L);
    set(easy, CURLOPT_CONNECTTIMEOUT, connect_seconds_max);
    set(easy, CURLOPT_TIMEOUT, answer_seconds_max);
    set(easy, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(answer_bytes_max));
    set(easy, CURLOPT_USERAGENT, "latchkey/" LATCHKEY_VERSION);
    // Without TLS the key goes to this machine alone, never through a proxy.
    if (base::begins_ignoring_case(address_.url, "http://")) set(easy, CURLOPT_PROXY, "");
    if (!address_.ca_file.empty()) kit::set_authorities(easy, address_.ca_file);
}

answer connection::send(request const& request) {
    auto* const easy = easy_.get();
    ::curl_easy_reset(easy);  // connections are kept
    set_protocol();
    answer result;
    char error[CURL_ERROR_SIZE] = "";
    auto const url = address_.url + request.target;
    auto credential = "Authorization: Bearer " + address_.key;
    kit::field_list fields;
    kit::append(fields, credential);
    base::wipe(credential.data(), credential.size());
    for (auto const* const line : {"Accept: application/json", "Content-Type: application/json"})
        if (line[0] == 'A' || !request.body.empty()) kit::append(fields, line);
    set(easy, CURLOPT_HTTPHEADER, fields.get());
    set(easy, CURLOPT_URL, url.c_str());
    set(easy, CURLOPT_ERRORBUFFER, error);
    if (!request.body.empty()) kit::set_content(easy, request.body);
    set(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    set(easy, CURLOPT_WRITEDATA, static_cast<void*>(&result));
    set(easy, CURLOPT_WRITEFUNCTION, &take_content);
    set(easy, CURLOPT_HEADERDATA, static_cast<void*>(&result));
    set(easy, CURLOPT_HEADERFUNCTION, &take_head);
    auto const code = ::curl_easy_perform(easy);
    for (auto* field = fields.get(); field != nullptr; field = field->next)
        base::wipe(field->data, std::string_view(field->data).size());
    if (code != CURLE_OK) return {.body = explain(code, error)};
    ::curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &result.status);
    result.retry_after_seconds = kit::retry_after_seconds(easy);
    return result;
}

std::string connection::explain(CURLcode code, char const* detail) const {
    auto const reason = *detail != '\0' ? std::string(detail) : ::curl_easy_strerror(code);
    switch (code) {
        case CURLE_PEER_FAILED_VERIFICATION:
            return address_.url + " has a certificate that is not trusted (" + reason +
                   "): name its authority with --ca-file";
        case CURLE_SSL_CACERT_BADFILE:
            return "the certificates of --ca-file cannot be read (" + reason + ")";
        case CURLE_FILESIZE_EXCEEDED:  // by its Content-Length
        case CURLE_WRITE_ERROR:        // by what has come
            return address_.url +
                   " has sent more than 64 MiB, which no answer of a latchkey service has";
        case CURLE_OPERATION_TIMEDOUT:
            return address_.url + " does not answer in time (" + reason + ")";
        default:
            return address_.url + " cannot be asked: " + reason;
    }
}

}  // namespace latchkey::remote
