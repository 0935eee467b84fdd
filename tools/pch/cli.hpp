// json.hpp with CLI11, for src/cli.
#pragma once

#include <CLI/CLI.hpp>

#include "json.hpp"
