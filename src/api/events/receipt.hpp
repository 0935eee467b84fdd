// What came in from an external service (api.md §12): the header fields that name and sign it, and
// the marks by which a repeat is recognised. No ownership; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "auth/signature.hpp"
#include "model/event.hpp"
#include "wire/http/request.hpp"

namespace latchkey::api {

// Views of the request.
auth::signed_request signed_request_of(http::request const& request);

struct receipt {
    std::string id;  // empty: none
    std::vector<model::event_mark> marks;
};
// The receipt of a request whose signature is valid; `mac` is that signature, `stripe_id` the
// payload's member id if it can be a delivery id.
receipt verified_receipt(model::event_format format, auth::signed_request const& request,
                         std::string_view stripe_id, auth::hmac_digest const& mac);
// The receipt from a source without a secret: webhook-id, else X-GitHub-Delivery, else (with
// Stripe-Signature) the payload's id. Its marks differ from those of verified receipts, so that a
// sender with a key and no secret cannot make a later genuine one look like a repeat.
receipt unverified_receipt(auth::signed_request const& request, std::string_view stripe_id);

}  // namespace latchkey::api
