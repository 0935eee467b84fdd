// Requests of the command line to a service elsewhere, over one connection that is kept between
// them. Certificates are verified; redirects are not followed, since they would carry the key to
// another host. One thread; blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "helpers/kit/curl_options.hpp"

namespace latchkey::remote {

struct service_address {
    std::string url;      // of the origin, without a slash at its end
    std::string key;      // sent as `Authorization: Bearer …`
    std::string ca_file;  // certificates that are trusted; empty: those of the system
};

struct request {
    std::string method, target;  // "/api/v1/keys?limit=100"
    std::string body;            // JSON; empty: none
};

// `status` 0: there was no answer, and `body` is a sentence that says why.
struct answer {
    long status = 0;
    std::string request_id, body;
    std::uint32_t retry_after_seconds = 0;
};

class connection {
  public:
    explicit connection(service_address address);
    ~connection();  // wipes the key
    connection(connection const&) = delete;
    connection& operator=(connection const&) = delete;

    answer send(request const& request);

  private:
    void set_protocol();
    std::string explain(CURLcode code, char const* detail) const;

    service_address address_;
    kit::easy_handle easy_;
};

}  // namespace latchkey::remote
