// Generator of realistic users and posts for trials and benchmarks. A record depends on the seed
// and its number only. Addresses use reserved domains (RFC 2606). Users write posts soon after they
// join, so the posts of a user lie close together. Any thread.
#pragma once

#include "model/post.hpp"
#include "model/user.hpp"

namespace latchkey::cli {

class sample_data {
  public:
    sample_data(std::uint64_t seed, std::uint64_t users, std::uint64_t posts)
        : seed_(seed), users_(users), posts_(posts) {}

    // Numbers from 0. The ids are `first_user + number` and so on.
    model::user user(std::uint64_t number, model::id first_user) const;
    model::post post(std::uint64_t number, model::id first_post, model::id first_user) const;

  private:
    std::uint64_t seed_, users_, posts_;
};

}  // namespace latchkey::cli
