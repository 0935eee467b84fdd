// What an external service says of a delivery beside its payload (API §12): the fields of the
// request that name and sign it, and what the delivery is known again by. Views of the request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "auth/signature.hpp"
#include "http/request.hpp"
#include "model/event.hpp"

namespace latchkey::api {

auth::signed_request signed_request_of(http::request const& request);

// Who a delivery is.
struct delivery {
    std::string id;  // empty: it has none
    std::vector<model::event_mark> marks;
};
// Of one whose signature was valid; `mac` is that signature, `stripe_id` the payload's member id
// where it may be one.
delivery verified_delivery(model::event_format format, auth::signed_request const& from,
                           std::string_view stripe_id, auth::mac const& mac);
// Of one that nobody vouches for: by the fields that it has. Its marks are others than those of
// verified ones, so that it cannot stand in the way of the true one.
delivery unverified_delivery(auth::signed_request const& from, std::string_view stripe_id);

}  // namespace latchkey::api
