// Users and posts that look like real ones, for trials and benchmarks: the same for the same seed
// and number, each made from its number alone. Addresses are of domains that belong to nobody (RFC
// 2606). People write around the time they join, so a user's posts lie near each other. Values, any
// thread.
#pragma once

#include "model/post.hpp"
#include "model/user.hpp"

namespace latchkey::cli {

class made_up {
  public:
    made_up(std::uint64_t seed, std::uint64_t users, std::uint64_t posts)
        : seed_(seed), users_(users), posts_(posts) {}

    // Numbers from 0. The ids are `first_user + number` and so on.
    model::user user(std::uint64_t number, model::id first_user) const;
    model::post post(std::uint64_t number, model::id first_post, model::id first_user) const;

  private:
    std::uint64_t seed_, users_, posts_;
};

}  // namespace latchkey::cli
