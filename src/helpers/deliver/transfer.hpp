// One attempt as a transfer of libcurl: its options, the check of the address that it connects to,
// what is kept of the answer, and the words for what went wrong. It belongs to one multi handle and
// its thread; libcurl keeps its address, so it does not move.
//
//     transfer post(std::move(attempt), authorities_file);
//     curl_multi_add_handle(multi, post.handle()); …  curl_multi_remove_handle(multi, …);
//     auto const result = post.finish(code);
//
// A status is final once the head of the answer is complete, whatever becomes of its content.
#pragma once

#include <curl/curl.h>

#include <optional>
#include <string>

#include "base/clock.hpp"
#include "helpers/deliver/protocol/deliver_messages.hpp"
#include "helpers/kit/curl_options.hpp"

namespace latchkey::deliver {

class transfer {
  public:
    // The file outlives the call alone.
    transfer(deliver::protocol::attempt&& attempt, std::string const& authorities_file);
    transfer(transfer const&) = delete;
    transfer& operator=(transfer const&) = delete;

    CURL* handle() { return easy_.get(); }
    deliver::protocol::attempt const& attempt() const { return attempt_; }

    // After its end, with the code of libcurl.
    deliver::protocol::result finish(CURLcode code);

  private:
    void set_request();
    void set_callbacks();
    bool may_connect(model::address const& peer);
    curl_socket_t open_socket(curl_sockaddr const& place);
    bool take_head(std::string_view line);
    bool take_content(std::string_view bytes);
    std::string explain(CURLcode code) const;
    std::string explain_timeout() const;

    template <auto member>
    static std::size_t on_bytes(char* bytes, std::size_t size, std::size_t count, void* self);

    deliver::protocol::attempt attempt_;
    bool encrypted_;
    base::mono_ns start_;
    kit::field_list fields_;
    char error_[CURL_ERROR_SIZE] = {};
    kit::easy_handle easy_;  // after what it refers to

    std::optional<model::address> refusal_;  // the last address that may not be reached
    bool has_opened_ = false;                // a socket: the name is resolved
    bool has_begun_ = false;                 // the request: the connection is there
    bool is_complete_ = false;               // the final head
    std::uint16_t status_ = 0;
    std::size_t head_bytes_ = 0, content_bytes_ = 0;
    std::string response_;
};

}  // namespace latchkey::deliver
