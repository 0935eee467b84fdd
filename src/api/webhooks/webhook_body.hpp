// Reads bodies about webhooks (api.md §17); the counterpart of webhook_json.hpp. All faults of the
// members are collected. Values; any thread.
#pragma once

#include <span>
#include <vector>

#include "api/frame/api_error.hpp"
#include "http/request.hpp"
#include "model/cidr.hpp"
#include "store/command.hpp"

namespace latchkey::api {

// POST /webhooks. The caller adds secret and public key.
api_result<store::create_webhook> read_new_webhook(http::request const& request,
                                                   std::span<model::cidr const> allowed,
                                                   std::vector<base::fault>& faults);
// PATCH /webhooks/{id}. The caller adds the id.
api_result<store::change_webhook> read_webhook_change(http::request const& request,
                                                      std::span<model::cidr const> allowed,
                                                      std::vector<base::fault>& faults);
// POST /webhooks/{id}/replay. The caller adds the id.
api_result<store::replay_webhook> read_replay(http::request const& request,
                                              std::vector<base::fault>& faults);

}  // namespace latchkey::api
