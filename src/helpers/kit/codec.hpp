// The encoding of messages between the service and its helpers. Each message is a struct; a layout
// names the members of each once, and serves both directions.
//
//     struct layout {
//         static void walk(auto& archive, is<hello> auto& message) {
//             archive(message.version, bounded{message.name, name_bytes_max});
//             archive.require(message.version != 0);
//         }
//     };
//     using message = std::variant<hello, …>;
//     codec<layout, std::uint32_t>::encode(message)
//
// The encoding is the type (1 byte, the index in the variant), then the members in the order of
// their layout, without gaps. Integers are big-endian, a bool and an enumeration (which ends with
// `count_`) are one byte, arrays are their bytes. Texts and lists follow their length, an integer
// of the type `Length`, and are named with a bound. Decoding checks every length against what is
// there and against its bound, and takes no byte beyond the last member. A struct without members
// needs no `walk`. Values; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/variant.hpp"

namespace latchkey::kit {

template <class Message, class Type>
concept is = std::same_as<std::remove_const_t<Message>, Type>;

template <class Type>
concept enumeration = std::is_enum_v<Type>;

// A text, or a list, which may be so long: in bytes, or in elements.
template <class Value>
struct bounded {
    static constexpr bool is_text = std::convertible_to<Value const&, std::string_view>;
    Value& value;
    std::size_t size_max;
};
template <class Value>
bounded(Value&, std::size_t) -> bounded<Value>;

template <class Layout, class Length>
class writer {
  public:
    explicit writer(std::string& output) : output_(output) {}

    void operator()(auto const&... members) { (put(members), ...); }
    void require(bool /*condition*/) {}

  private:
    template <class Member>
    void put(Member const& member) {
        if constexpr (!std::is_empty_v<Member>) Layout::walk(*this, member);
    }
    template <std::integral Integer>
    void put(Integer const& value) {
        base::append(output_, value);
    }
    void put(bool const& value) { output_ += static_cast<char>(value); }
    template <enumeration Choice>
    void put(Choice const& value) {
        output_ += static_cast<char>(value);
    }
    template <class Byte, std::size_t size>
    void put(std::array<Byte, size> const& bytes) {
        output_.append(bytes.begin(), bytes.end());
    }
    // A value that is longer than its length can say is cut, and is still beyond its bound: the
    // other side refuses it, as it does everything beyond a bound.
    template <class Value>
    void put(bounded<Value> const& member) {
        auto const size = std::min<std::size_t>(member.value.size(), length_max);
        base::append(output_, static_cast<Length>(size));
        if constexpr (bounded<Value>::is_text)
            output_.append(std::string_view(member.value).substr(0, size));
        else
            for (std::size_t i = 0; i < size; ++i) put(member.value[i]);
    }

    static constexpr std::size_t length_max = std::numeric_limits<Length>::max();
    std::string& output_;
};

template <class Layout, class Length>
class parser {
  public:
    explicit parser(std::string_view bytes) : input_(bytes) {}

    void operator()(auto&&... members) { (take(members), ...); }
    // Refuses the message unless `condition`, about members that were already read, holds.
    void require(bool condition) { is_valid_ = is_valid_ && condition; }
    bool is_done() const { return is_valid_ && input_.done(); }

  private:
    template <class Member>
    void take(Member& member) {
        if constexpr (!std::is_empty_v<Member>) Layout::walk(*this, member);
    }
    template <std::integral Integer>
    void take(Integer& value) {
        value = input_.integer<Integer>();
    }
    void take(bool& value) {
        auto const byte = input_.integer<std::uint8_t>();
        require(byte <= 1);
        value = byte == 1;
    }
    template <enumeration Choice>
    void take(Choice& value) {
        auto const byte = input_.integer<std::uint8_t>();
        require(byte < static_cast<std::uint8_t>(Choice::count_));
        value = static_cast<Choice>(byte);
    }
    template <class Byte, std::size_t size>
    void take(std::array<Byte, size>& bytes) {
        std::ranges::copy(input_.bytes(size), bytes.begin());
    }
    // Nothing is reserved for a count that the bytes do not bear out.
    template <class Value>
    void take(bounded<Value>& member) {
        auto const size = input_.integer<Length>();
        require(size <= member.size_max);
        if constexpr (bounded<Value>::is_text) {
            if (is_valid_) member.value = input_.bytes(size);
        } else {
            for (Length i = 0; is_valid_ && input_.ok() && i < size; ++i)
                take(member.value.emplace_back());
        }
    }

    base::reader input_;
    bool is_valid_ = true;
};

// `head`: integers between the type and the members, such as the number of a request.
template <class Layout, class Length>
struct codec {
    // The result has room for `bytes_expected`.
    template <class... Types>
    static std::string encode(std::variant<Types...> const& content, std::size_t bytes_expected,
                              std::integral auto... head) {
        std::string bytes;
        bytes.reserve(bytes_expected);
        base::append(bytes, static_cast<std::uint8_t>(content.index()));
        (base::append(bytes, head), ...);
        writer<Layout, Length> output(bytes);
        std::visit(output, content);
        return bytes;
    }
    // Texts that are views are into `bytes`. The error says what is wrong with them.
    template <class... Types>
    static base::result<void> decode(std::string_view bytes, std::variant<Types...>& content,
                                     std::integral auto&... head) {
        base::reader input(bytes);
        auto const type = input.integer<std::uint8_t>();
        ((head = input.integer<std::remove_reference_t<decltype(head)>>()), ...);
        bool const is_known = input.ok() && base::emplace_alternative(content, type);
        parser<Layout, Length> members(input.rest());
        if (is_known) std::visit(members, content);
        if (!is_known || !members.is_done())
            return base::error{"a message of type " + std::to_string(type) + " has a wrong form"};
        return {};
    }
};

}  // namespace latchkey::kit
