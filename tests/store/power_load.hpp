// Random commands of every kind through a writer, in groups, and the record of what they came to
// and of what the disk was asked for meanwhile.
#pragma once

#include <random>
#include <vector>

#include "disk_recording.hpp"
#include "known_content.hpp"

namespace latchkey::store {

struct step {
    store::command command;
    store::outcome outcome;
};

// From the opening of a store to its end.
struct life {
    std::vector<disk_event> events;
    std::vector<step> steps;  // in the order in which they were carried out and answered
    known_content known;      // in the end
};

// `before` is what the store in the directory holds, if there is one.
life live(std::string const& directory, known_content const& before, std::mt19937_64& random,
          std::size_t groups, bool sync = true);

environment_options power_options(std::string const& directory, bool sync = true);

}  // namespace latchkey::store
