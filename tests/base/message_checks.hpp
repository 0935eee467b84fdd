// What holds of every encoding of messages between the service and its helpers. `encode` is found
// by the type of the samples.
//
//     base::expect_whole_messages(sample_messages(), decode);
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

#include "base/hash.hpp"

namespace latchkey::base {

// Neither the beginning of a message nor one with something behind it is a message.
template <class Messages, class Decode>
void expect_whole_messages(Messages const& samples, Decode decode) {
    for (auto const& each : samples) {
        auto const bytes = encode(each);
        for (std::size_t size = 0; size < bytes.size(); ++size)
            EXPECT_FALSE(decode(std::string_view(bytes).substr(0, size)))
                << "type " << int{bytes[0]} << " cut to " << size;
        EXPECT_FALSE(decode(bytes + '\0')) << "type " << int{bytes[0]};
    }
}

// What a damaged message still decodes to is encoded to the same bytes: nothing is guessed.
template <class Messages, class Decode>
void expect_nothing_guessed(Messages const& samples, int rounds, Decode decode) {
    std::mt19937 random(1);  // NOLINT: repeatable
    for (auto const& each : samples) {
        auto const bytes = encode(each);
        for (int round = 0; round < rounds; ++round) {
            auto damaged = bytes;
            for (auto i = random() % 3 + 1; i > 0; --i)
                damaged[random() % damaged.size()] = static_cast<char>(random());
            auto const decoded = decode(damaged);
            if (decoded) EXPECT_EQ(encode(*decoded), damaged);
        }
    }
}

// Changes with the encoding of any of them, and then the protocol has another version.
template <class Messages>
std::uint64_t fingerprint(Messages const& samples) {
    std::string all;
    for (auto const& each : samples) all += encode(each);
    return hash(all);
}

}  // namespace latchkey::base
