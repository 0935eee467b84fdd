// A line of the access log (docs/api.md §13): one JSON object per request, with the id of the key
// and never the key. What the requests of a key or of a client have in common is rendered once and
// kept in two small tables, so that a line is a few copies.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/exchange/exchange.hpp"
#include "base/clock.hpp"
#include "base/text.hpp"
#include "session/log_entry.hpp"

namespace latchkey::server {

using session::log_entry;

// One worker's; its thread only. Allocates nothing.
class access_lines {
  public:
    // Bounds the longest line: what it has beside the texts of clients, and their growth by JSON
    // escapes.
    static constexpr std::size_t bytes_max =
        1024 +
        6 * (log_entry::method_bytes_max + log_entry::path_bytes_max + log_entry::agent_bytes_max);

    // Appends the line. `exchange` is null if the parser refused the request.
    void append(log_entry const& entry, api::exchange const* exchange, api::peer const& peer,
                base::mono_ns duration, std::string& output);

  private:
    // A text in place. One that is longer is not kept.
    template <std::size_t Bytes>
    class kept_text {
      public:
        operator std::string_view() const { return {text_.data(), size_}; }
        bool keep(std::string_view text) {
            size_ = text.size() <= Bytes ? text.size() : 0;
            std::copy_n(text.data(), size_, text_.data());
            return text.size() <= Bytes;
        }

      private:
        std::size_t size_ = 0;
        std::array<char, Bytes> text_;
    };

    // What a line says of an operation and its key.
    struct operation {
        model::id key;
        std::string_view project, method, route;
        void put(base::text_writer& line) const;
    };
    // Of the client.
    struct client {
        std::optional<model::address> address;
        std::string_view agent, key_source, protocol;
        void put(base::text_writer& line) const;
    };

    // Places of the tables; the text is empty where they are free.
    struct operation_place {
        model::id key = 0;
        std::string_view route;  // a constant of the program
        kept_text<8> method;
        kept_text<256> text;
        bool holds(operation const& part) const;
        bool keep(operation const& part, std::string_view rendered);
    };
    struct client_place {
        std::optional<model::address> address;
        std::string_view key_source, protocol;  // constants of the program
        kept_text<160> agent;
        kept_text<320> text;
        bool holds(client const& part) const;
        bool keep(client const& part, std::string_view rendered);
    };

    static constexpr std::size_t places = 64;

    std::array<operation_place, places> operations_;
    std::array<client_place, places> clients_;
};

}  // namespace latchkey::server
