// Names of algorithms: those that are accepted, and none of the others of RFC 7518.
#include "wire/jwt/algorithm.hpp"

#include <gtest/gtest.h>

#include <string>

namespace latchkey::jwt {
namespace {

TEST(jwt_algorithm, has_the_name_that_it_is_read_from) {
    for (auto const name :
         {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"}) {
        auto const value = parse_algorithm(name);
        ASSERT_TRUE(value) << name;
        EXPECT_EQ(name_of(*value), name);
        EXPECT_NE(algorithm_names().find(name), std::string_view::npos) << name;
    }
}

// RFC 9864.
TEST(jwt_algorithm, has_a_fully_specified_name) {
    EXPECT_EQ(parse_algorithm("Ed25519"), algorithm::eddsa);
    EXPECT_EQ(parse_algorithm("ESP256"), algorithm::es256);
    EXPECT_EQ(parse_algorithm("ESP384"), algorithm::es384);
}

TEST(jwt_algorithm, is_neither_none_nor_symmetric_nor_another_case) {
    for (auto const name :
         {"none", "None", "", "HS256", "HS384", "HS512", "ES512", "ES256K", "rs256", "RS256 ",
          "eddsa", "A128KW", "RSA-OAEP", "Ed448", "ESP512", "ed25519"})
        EXPECT_FALSE(parse_algorithm(name)) << name;
}

TEST(jwt_algorithm_set, contains_what_was_inserted) {
    algorithm_set set{algorithm::rs256, algorithm::eddsa};
    EXPECT_TRUE(set.contains(algorithm::rs256));
    EXPECT_TRUE(set.contains(algorithm::eddsa));
    EXPECT_FALSE(set.contains(algorithm::ps256));
    EXPECT_FALSE(set.empty());
    EXPECT_TRUE(algorithm_set().empty());
    for (unsigned i = 0; i < static_cast<unsigned>(algorithm::count_); ++i) {
        EXPECT_TRUE(algorithm_set::all().contains(static_cast<algorithm>(i)));
        set.insert(static_cast<algorithm>(i));
    }
    EXPECT_EQ(set, algorithm_set::all());
}

}  // namespace
}  // namespace latchkey::jwt
