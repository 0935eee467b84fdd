// What the transfers of all programs with libcurl have in common. One thread for each handle.
#pragma once

#include <curl/curl.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

#include "base/check.hpp"

namespace latchkey::kit {

struct easy_closer {
    void operator()(CURL* easy) const { ::curl_easy_cleanup(easy); }
};
struct list_closer {
    void operator()(curl_slist* list) const { ::curl_slist_free_all(list); }
};
using easy_handle = std::unique_ptr<CURL, easy_closer>;
using field_list = std::unique_ptr<curl_slist, list_closer>;

inline void append(field_list& fields, std::string const& line) {
    auto* const longer = ::curl_slist_append(fields.get(), line.c_str());
    base::check(longer != nullptr, "out of memory");
    std::ignore = fields.release();
    fields.reset(longer);
}

template <class Value>
void set(CURL* easy, CURLoption option, Value value) {
    // Texts are refused from 8 MB on, and numbers below 0: neither a message nor a command has any.
    base::check(::curl_easy_setopt(easy, option, value) == CURLE_OK,
                "libcurl lacks an option that is needed");
}

// HTTP alone, TLS 1.2 at least, and no redirect, which would carry the request to another host.
inline void set_protocol(CURL* easy) {
    set(easy, CURLOPT_PROTOCOLS_STR, "https,http");
    set(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
    set(easy, CURLOPT_FOLLOWLOCATION, 0L);
    set(easy, CURLOPT_NETRC, CURL_NETRC_IGNORED);
    set(easy, CURLOPT_NOSIGNAL, 1L);
}

inline void set_authorities(CURL* easy, std::string const& file) {
    set(easy, CURLOPT_CAINFO, file.c_str());
    set(easy, CURLOPT_CAPATH, static_cast<char const*>(nullptr));  // beside the file it would count
}

// A POST for a service: whatever the environment of the process says.
inline void set_post(CURL* easy, std::string const& authorities_file) {
    set_protocol(easy);
    set(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    set(easy, CURLOPT_PROXY, "");
    set(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    // A look-up of a name that has not ended by the time-out goes on in its own thread: waiting for
    // it would hold up all others.
    set(easy, CURLOPT_QUICK_EXIT, 1L);
    set_authorities(easy, authorities_file);
    set(easy, CURLOPT_POST, 1L);
}

// The bytes stay where they are until the end of the transfer.
inline void set_content(CURL* easy, std::string const& bytes) {
    set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(bytes.size()));
    set(easy, CURLOPT_POSTFIELDS, bytes.data());
}

// The pause that the answer's Retry-After asks for; 0: it names none.
inline std::uint32_t retry_after_seconds(CURL* easy) {
    curl_off_t seconds = 0;
    ::curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
    return static_cast<std::uint32_t>(std::clamp<curl_off_t>(seconds, 0, UINT32_MAX));
}

}  // namespace latchkey::kit
