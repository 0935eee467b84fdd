// The header list of a request as an http::request (RFC 9113 §8.3): pseudo-headers, the fields that
// HTTP/2 forbids, the target, the content's length. The rules on targets, authorities and values
// are those of HTTP/1.1 (wire/http/guard.hpp); what an HTTP/1.1 client is answered a client of
// HTTP/2 is, too.
//
//     request_head head(limits, request, framing);
//     decoder.decode(block, text, [&](header_field const& field) { head.add(field); });
//     switch (head.finish(end_stream)) …
//
// The request's views are those of the fields. Lives as long as one block is decoded.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/problem.hpp"
#include "wire/http/request.hpp"
#include "wire/http/size_limits.hpp"
#include "wire/http2/frame.hpp"
#include "wire/http2/hpack_decoder.hpp"

namespace latchkey::http2 {

// A field about an HTTP/1.1 connection, or a TE other than "trailers": a message with it, in its
// head or in its trailers, is malformed (RFC 9113 §8.2.2).
bool is_connection_specific(header_field const& field);

class request_head {
  public:
    enum class verdict : std::uint8_t {
        complete,
        refused,    // to be answered with `problem`
        malformed,  // PROTOCOL_ERROR on the stream (RFC 9113 §8.1.1)
    };

    // All are the caller's; `request` and `framing` are cleared.
    request_head(http::size_limits const& limits, http::request& request, http::framing& framing);

    void add(header_field const& field);
    // `end_stream`: no content follows. `too_large`: the decoder found the list so.
    verdict finish(bool end_stream, bool too_large);

    base::problem problem() const { return problem_; }
    std::string_view detail() const { return detail_; }
    // The value of the `priority` field (RFC 9218 §5), where it can be read.
    std::optional<priority> const& urgency() const { return urgency_; }

  private:
    void add_pseudo(header_field const& field);
    void add_regular(header_field const& field);
    bool take_once(std::string_view& place, std::string_view value);
    void read_length(std::string_view value);
    void refuse(base::problem problem, std::string_view detail);
    void judge_tunnel();
    void judge_target();
    void judge_authority();

    http::size_limits const& limits_;
    http::request& request_;
    http::framing& framing_;
    std::string_view method_, scheme_, path_, authority_, host_;
    std::optional<std::uint64_t> length_;
    std::optional<priority> urgency_;
    base::problem problem_ = base::problem::none;
    std::string_view detail_;
    std::size_t section_bytes_ = 0;
    bool malformed_ = false;
    bool field_seen_ = false;
    bool host_seen_ = false;
};

}  // namespace latchkey::http2
