// A request as handlers see it, without framing, so that HTTP/2 can deliver the same type. Every
// view points into memory of the connection and is valid until the handler returns; copy what must
// outlive a suspension.
//
//     if (auto const value = request.find(http::field_name::accept)) …
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/limits.hpp"

namespace latchkey::http {

// `other` is any other token: a method that the service does not use (405 on a known path).
enum class method : std::uint8_t { get, head, post, put, patch, delete_, options, other };
// "GET"; "OTHER" for `other`, whose own name is in request::method_text.
std::string_view name_of(method verb);
method method_of(std::string_view text);  // case-sensitive (RFC 9110 §9.1)

// The fields that the service reads; of all others only name and value are kept. A new one that
// belongs to one request, or whose value may be a secret, needs a line in `is_cacheable`.
enum class field_name : std::uint8_t {
    accept,
    accept_encoding,
    authorization,
    connection,
    consistency_token,
    content_encoding,
    content_length,
    content_type,
    cookie,
    expect,
    forwarded_for,
    forwarded_proto,
    host,
    idempotency_key,
    if_match,
    if_none_match,
    last_event_id,
    origin,
    request_id,
    requested_with,
    sec_fetch_site,
    traceparent,
    transfer_encoding,
    user_agent,
    x_api_key,
    count_,
    unknown = count_
};

// Case-insensitive; `unknown` when the service does not read that field. `name` is a token.
field_name field_name_of(std::string_view name);

struct field {
    std::string_view name;   // as received, in any case
    std::string_view value;  // trimmed
    field_name id = field_name::unknown;
};

// May a field of this kind outlive its request in the section cache? Not one that identifies a
// single request, and of fields that the service does not read only those of an allow-list: any
// other may carry a secret. Authorization and X-API-Key are cacheable, because the cache removes
// the key itself.
bool is_cacheable(field const& entry);

// The path of an OPTIONS request for the server as a whole (RFC 9112 §3.2.4).
inline constexpr std::string_view asterisk_path = "*";

struct request {
    http::method method = method::get;
    std::string_view method_text;
    // Raw, from the first '/' to the '?', absolute form already reduced; "*" on OPTIONS.
    std::string_view path;
    std::string_view query;          // raw, after the '?'; empty when there is none
    std::string_view authority;      // of the absolute form, else Host; empty on 1.0 without Host
    std::uint8_t minor_version = 1;  // HTTP/1.minor
    // The content, with chunks decoded. Set by the code that collected it.
    std::string_view body;

    // In order of arrival, repeats included.
    std::span<field const> fields() const { return {fields_.data(), field_count_}; }
    // The first field of that name; nullopt when absent. One array look-up.
    std::optional<std::string_view> find(field_name name) const {
        auto const index = first_[static_cast<std::size_t>(name)];
        if (index == 0) return std::nullopt;
        return fields_[index - 1u].value;
    }
    std::size_t count(field_name name) const;
    // The value of a field that may be there once; nullopt when it is absent or repeated, even with
    // the same value: whoever reads another line than this one would judge the request otherwise.
    std::optional<std::string_view> find_only(field_name name) const {
        return find(name) && count(name) == 1 ? find(name) : std::nullopt;
    }

    void clear();
    // False when the table is full (header_fields_max).
    bool add(std::string_view name, std::string_view value) {
        return add(name, value, field_name_of(name));
    }
    bool add(std::string_view name, std::string_view value, field_name id);

  private:
    // Index + 1 of the first field of each known name; 0: absent.
    std::array<std::uint8_t, static_cast<std::size_t>(field_name::count_)> first_{};
    std::uint16_t field_count_ = 0;
    std::array<field, base::limits::header_fields_max> fields_;
};

// Message framing: how the body is delimited and what happens to the connection. Set by the parser.
struct framing {
    enum class body_kind : std::uint8_t { none, sized, chunked };
    body_kind body = body_kind::none;
    std::uint64_t content_length = 0;  // of a sized body
    bool keep_alive = true;            // as the client requests
    bool expect_continue = false;      // `Expect: 100-continue` (ignored on 1.0)
    bool expect_unknown = false;       // any other expectation: 417
};

}  // namespace latchkey::http
