// How a token is written: base64url, the number of its parts, other serialisations.
#include <array>

#include "token_cases.hpp"

namespace latchkey::jwt {
namespace {

using token_parts = std::array<std::string, 3>;
constexpr std::string_view part_names[] = {"header", "payload", "signature"};

std::string joined(token_parts const& parts) {
    return parts[0] + '.' + parts[1] + '.' + parts[2];
}

// The parts of a valid token, one of them changed before the rest is signed.
template <class Change>
std::string with_part(std::string_view algorithm_name, std::size_t index, Change change,
                      std::string_view claims) {
    token_parts parts{base64url(header_of(algorithm_name)), base64url(claims), {}};
    if (index < 2) change(parts[index]);
    auto const input = parts[0] + '.' + parts[1];
    parts[2] = base64url(signer_of(algorithm_name).sign(algorithm_name, input));
    if (index == 2) change(parts[2]);
    return joined(parts);
}

// One text stands for one sequence of bytes: what decoders accept beyond that is refused.
void add_character_cases(case_list& list, std::string_view algorithm_name) {
    auto const claims = claims_with();
    auto const append = [](std::string tail) {
        return [tail](std::string& part) { part += tail; };
    };
    auto const insert = [](std::size_t place, std::string text) {
        return
            [place, text](std::string& part) { part.insert(std::min(place, part.size()), text); };
    };
    auto const replace = [](char character) {
        return [character](std::string& part) { part[part.size() / 2] = character; };
    };
    for (std::size_t i = 0; i < 3; ++i) {
        auto const add = [&](std::string_view fault, auto change) {
            list.add(std::string(algorithm_name) + ": " + std::string(part_names[i]) + " with " +
                         std::string(fault),
                     with_part(algorithm_name, i, change, claims), has_other_encoding);
        };
        add("one padding character", append("="));
        add("two padding characters", append("=="));
        add("padding in front", insert(0, "="));
        add("a space behind", append(" "));
        add("a space in front", insert(0, " "));
        add("a line feed behind", append("\n"));
        add("a line feed within", insert(4, "\n"));
        add("a carriage return within", insert(4, "\r\n"));
        add("a tab within", insert(4, "\t"));
        add("a NUL behind", append(std::string(1, '\0')));
        add("a NUL within", insert(4, std::string(1, '\0')));
        add("a plus sign", replace('+'));
        add("a slash", replace('/'));
        add("a percent sign", replace('%'));
        add("a byte above 127", replace('\xc3'));
        add("a comma", replace(','));
        add("an asterisk at the end", append("*"));
    }
}

// The bits of the last character that no byte takes must be zero.
void add_leftover_bit_cases(case_list& list) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    auto const set_lowest = [&](unsigned bits) {
        return [=](std::string& part) { part.back() = digits[digits.find(part.back()) | bits]; };
    };
    // Payloads of which one or two bytes are left over behind groups of three.
    for (std::size_t rest : {1u, 2u}) {
        auto claims = claims_with();
        while (claims.size() % 3 != rest) claims.insert(1, " ");
        for (unsigned bits : {1u, 2u, 3u})
            list.add("payload with the leftover bits " + std::to_string(bits) + " of " +
                         std::to_string(rest),
                     with_part("ES256", 1, set_lowest(bits), claims), has_other_encoding);
        list.add("payload with leftover bits that are zero, " + std::to_string(rest),
                 with_part("ES256", 1, set_lowest(0), claims), is_accepted);
    }
    auto const claims = claims_with();
    // 256 and 64 bytes of signature leave one over: four bits of the last character.
    for (auto const name : {"RS256", "PS512", "ES256", "EdDSA"})
        for (unsigned bits : {1u, 2u, 4u, 8u, 15u})
            list.add(
                std::string(name) + ": signature with the leftover bits " + std::to_string(bits),
                with_part(name, 2, set_lowest(bits), claims), has_other_encoding);
    // A single character is six bits, which are no byte.
    for (std::size_t i = 0; i < 3; ++i)
        list.add(std::string(part_names[i]) + " of one character more than groups of four",
                 with_part(
                     "ES256", i,
                     [](std::string& part) {
                         while (part.size() % 4 != 1) part += 'A';
                     },
                     claims),
                 has_other_encoding);
}

void add_part_cases(case_list& list) {
    auto const header = base64url(header_of("ES256")), payload = base64url(claims_with());
    auto const sign = [](std::string const& input) {
        return base64url(p256_signer().sign("ES256", input));
    };
    auto const signature = sign(header + '.' + payload);
    auto const valid = joined({header, payload, signature});
    list.add("nothing", "", has_other_parts);
    list.add("one dot", ".", has_other_parts);
    list.add("two dots", "..", has_no_object_as_header);
    list.add("three dots", "...", has_other_parts);
    list.add("a header alone", header, has_other_parts);
    list.add("no signature and no dot for it", header + '.' + payload, has_other_parts);
    list.add("four parts", valid + '.' + signature, has_other_parts);
    list.add("a dot behind", valid + '.', has_other_parts);
    list.add("a dot in front", '.' + valid, has_other_parts);
    list.add("the five parts of an encrypted token", valid + '.' + header + '.' + payload,
             has_other_parts);
    list.add("no header", joined({"", payload, sign('.' + payload)}), has_no_object_as_header);
    list.add("a detached payload", joined({header, "", signature}), has_no_object_as_claims);
    list.add("an empty payload", joined({header, "", sign(header + '.')}), has_no_object_as_claims);
    list.add("an empty signature", joined({header, payload, ""}), has_wrong_signature);
    list.add("a space in front", ' ' + valid, has_other_encoding);
    list.add("a space behind", valid + ' ', has_other_encoding);
    list.add("a line feed behind", valid + '\n', has_other_encoding);
    list.add("quotation marks", '"' + valid + '"', has_other_encoding);
    list.add("the scheme in front", "Bearer " + valid, has_other_encoding);
    list.add("the general serialisation",
             R"({"payload":")" + payload + R"(","signatures":[{"protected":")" + header +
                 R"(","signature":")" + signature + "\"}]}",
             has_other_parts);
    list.add("the flattened serialisation",
             R"({"payload":")" + payload + R"(","protected":")" + header + R"(","signature":")" +
                 signature + "\"}",
             has_other_parts);
    list.add("a JSON text of three parts", R"({"a":1}.{"b":2}.c)", has_other_encoding);
    list.add("the header in plain text", joined({header_of("ES256"), payload, signature}),
             has_other_encoding);
    list.add("payload and header exchanged",
             joined({payload, header, sign(payload + '.' + header)}), has_no_algorithm);
}

void add_size_cases(case_list& list) {
    auto const header = header_of("ES256");
    // The signature has 86 characters.
    auto const other_bytes = base64url(header).size() + 86 + 2;
    auto claims = claims_with();
    auto const token_bytes = [&] { return other_bytes + (claims.size() * 4 + 2) / 3; };
    while (token_bytes() <= token_bytes_max) claims.insert(1, " ");
    list.add("a token of " + std::to_string(token_bytes()) + " bytes",
             p256_signer().token("ES256", header, claims), refused_for("8192 bytes"));
    claims.erase(1, 1);
    list.add("a token of " + std::to_string(token_bytes()) + " bytes",
             p256_signer().token("ES256", header, claims), is_accepted);
    claims.insert(1, std::string(48 * 1024, ' '));
    list.add("a token of 64 KiB", p256_signer().token("ES256", header, claims),
             refused_for("8192 bytes"));
    list.add("8192 dots", std::string(token_bytes_max, '.'), has_other_parts);
    list.add("8192 letters", std::string(token_bytes_max, 'A'), has_other_parts);
}

}  // namespace

void add_encoding_cases(case_list& list) {
    for (auto const name : {"RS256", "ES256"}) add_character_cases(list, name);
    add_leftover_bit_cases(list);
    add_part_cases(list);
    add_size_cases(list);
}

}  // namespace latchkey::jwt
