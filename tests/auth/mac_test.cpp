#include "auth/mac.hpp"

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

std::string hex_of(mac const& subject, std::string_view text) {
    auto const tag = subject.compute(text);
    return base::to_hex({tag.data(), tag.size()});
}

// RFC 4231 §4.2 to §4.5 (a shorter key is padded with zeros), and two of our key size, computed
// with Python's hmac.
TEST(mac, is_hmac_sha_256) {
    std::string counted(25, '\0');
    for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<char>(i + 1);
    struct {
        std::string key, text, tag;
    } const rows[] = {
        {std::string(20, '\x0b'), "Hi There", "b0344c61d8db38535ca8afceaf0bf12b"},
        {"Jefe", "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c7"},
        {std::string(20, '\xaa'), std::string(50, '\xdd'), "773ea91e36800e46854db8ebd09181a7"},
        {counted, std::string(50, '\xcd'), "82558a389a443c0ea4cc819899f2083a"},
        {std::string(32, 'k'), "", "a4ad8e340e32bf1d916005cb1dc92795"},
        {std::string(32, 'k'), std::string(200, 'x'), "92776f6786db707649a484d55a1da0e9"},
    };
    for (auto const& row : rows) {
        mac const subject(key_of(row.key));
        EXPECT_EQ(hex_of(subject, row.text), row.tag) << row.text;
        EXPECT_EQ(hex_of(subject, row.text), row.tag) << "a second time";
    }
}

TEST(mac, matches_its_text_and_key_only) {
    mac const subject(key_of(std::string(32, 'k'))), other(key_of(std::string(32, 'l')));
    auto const tag = subject.compute("text");
    std::string received(tag.data(), tag.size());
    EXPECT_TRUE(subject.matches("text", received));
    EXPECT_FALSE(subject.matches("texT", received));
    EXPECT_FALSE(other.matches("text", received));
    EXPECT_FALSE(subject.matches("text", ""));
    EXPECT_FALSE(subject.matches("text", received.substr(1)));
    EXPECT_FALSE(subject.matches("text", received + received));
    for (std::size_t i = 0; i < received.size() * 8; ++i) {
        auto altered = received;
        altered[i / 8] = static_cast<char>(altered[i / 8] ^ 1 << i % 8);
        EXPECT_FALSE(subject.matches("text", altered)) << "bit " << i;
    }
}

}  // namespace
}  // namespace latchkey::auth
