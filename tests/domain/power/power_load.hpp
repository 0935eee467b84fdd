// Random commands of every kind through a writer, in groups, and a record of their outcomes and of
// the requests to the disk meanwhile.
#pragma once

#include <random>
#include <vector>

#include "disk_recording.hpp"
#include "known_content.hpp"

namespace latchkey::domain {

struct step {
    domain::command command;
    domain::outcome outcome;
};

// The life of a store, from opening to closing.
struct life {
    std::vector<disk_event> events;
    std::vector<step> steps;  // in the order of execution
    known_content content;    // at the end
};

// `start` is the content of the store in the directory, if there is one.
life live(std::string const& directory, known_content const& start, std::mt19937_64& random,
          std::size_t groups, bool sync = true);

environment_options power_options(std::string const& directory, bool sync = true);

}  // namespace latchkey::domain
