// Reads bodies about webhooks (api.md §17); the counterpart of webhook_json.hpp. All faults of the
// members are collected. Values; any thread.
#pragma once

#include <span>
#include <vector>

#include "api/frame/api_error.hpp"
#include "domain/command.hpp"
#include "model/cidr.hpp"
#include "wire/http/request.hpp"

namespace latchkey::api {

// POST /webhooks. The caller adds secret and public key.
api_result<domain::create_webhook> read_new_webhook(http::request const& request,
                                                    std::span<model::cidr const> allowed,
                                                    std::vector<base::fault>& faults);
// PATCH /webhooks/{id}. The caller adds the id.
api_result<domain::change_webhook> read_webhook_change(http::request const& request,
                                                       std::span<model::cidr const> allowed,
                                                       std::vector<base::fault>& faults);
// POST /webhooks/{id}/replay. The caller adds the id.
api_result<domain::replay_webhook> read_replay(http::request const& request,
                                               std::vector<base::fault>& faults);

}  // namespace latchkey::api
