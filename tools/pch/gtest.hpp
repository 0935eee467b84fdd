// As std.hpp, with GoogleTest.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "std.hpp"
