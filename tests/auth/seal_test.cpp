#include "auth/seal.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/bytes.hpp"

namespace latchkey::auth {
namespace {

std::array<char, 32> key_of(std::string_view text) {
    std::array<char, 32> key{};
    std::ranges::copy(text, key.begin());
    return key;
}

std::string hex_of(seal const& by, std::string_view text) {
    auto const mark = by.of(text);
    return base::to_hex({mark.data(), mark.size()});
}

// RFC 4231 §4.2 to §4.5 (a shorter key is one with zeros behind it), and two of our own size that
// Python's hmac made.
TEST(seals, are_hmac_sha_256) {
    std::string counted(25, '\0');
    for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<char>(i + 1);
    struct {
        std::string key, text, mark;
    } const rows[] = {
        {std::string(20, '\x0b'), "Hi There", "b0344c61d8db38535ca8afceaf0bf12b"},
        {"Jefe", "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c7"},
        {std::string(20, '\xaa'), std::string(50, '\xdd'), "773ea91e36800e46854db8ebd09181a7"},
        {counted, std::string(50, '\xcd'), "82558a389a443c0ea4cc819899f2083a"},
        {std::string(32, 'k'), "", "a4ad8e340e32bf1d916005cb1dc92795"},
        {std::string(32, 'k'), std::string(200, 'x'), "92776f6786db707649a484d55a1da0e9"},
    };
    for (auto const& row : rows) {
        seal const by(key_of(row.key));
        EXPECT_EQ(hex_of(by, row.text), row.mark) << row.text;
        EXPECT_EQ(hex_of(by, row.text), row.mark) << "a second time";
    }
}

TEST(seals, hold_for_their_text_and_key_only) {
    seal const by(key_of(std::string(32, 'k'))), other(key_of(std::string(32, 'l')));
    auto const mark = by.of("text");
    std::string given(mark.data(), mark.size());
    EXPECT_TRUE(by.holds("text", given));
    EXPECT_FALSE(by.holds("texT", given));
    EXPECT_FALSE(other.holds("text", given));
    EXPECT_FALSE(by.holds("text", ""));
    EXPECT_FALSE(by.holds("text", given.substr(1)));
    EXPECT_FALSE(by.holds("text", given + given));
    for (std::size_t i = 0; i < given.size() * 8; ++i) {
        auto bent = given;
        bent[i / 8] = static_cast<char>(bent[i / 8] ^ 1 << i % 8);
        EXPECT_FALSE(by.holds("text", bent)) << "bit " << i;
    }
}

}  // namespace
}  // namespace latchkey::auth
