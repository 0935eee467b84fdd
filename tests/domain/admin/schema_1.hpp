// Stores of earlier schema versions: one that a program of version 1 wrote, and large ones derived
// from a current store by removing what later versions added.
#pragma once

#include <map>
#include <string>

#include "../support.hpp"
#include "store/layout.hpp"

namespace latchkey::domain {

// The content of a store by table and key, as LMDB has it.
using raw_content = std::map<std::pair<table, std::string>, std::string>;
// Call it in a process that has not opened the store; uses LMDB directly.
raw_content content_of_file(std::string const& directory);
// Removes the checksums, each of which must be right, and sets the versions to 1.
raw_content as_schema_1(raw_content const& content);

// The same for version 2, which has checksums: makes the store in the directory one of that version.
void make_schema_2(std::string const& directory);
// What a store of version 2 had: without the tables of later ones, the schema and the counters.
raw_content records_of_schema_2(raw_content const& content);

// Makes the directory.
void write_schema_1_file(std::string const& directory);
// Replaces the content of the store.
void replace_content(std::string const& directory, raw_content const& content);
// Fills a store: users, a post and a key for some of them, an event, usage and an outcome.
void fill(environment& store, unsigned users);

}  // namespace latchkey::domain
