// Lists (API §7): which part a query asks for, by page or by cursor, the `pagination` object and
// the Link field (RFC 8288). Lives while its handler runs.
//
//     listing list(of, "/api/v1/posts");
//     if (auto wrong = list.take()) return wrong;
//     if (auto const name = of.query.take("status")) … list.select("status", *name); …
//     if (auto wrong = list.open()) return wrong;
//     list.begin(answer);
//     auto const each = [&](auto const& post) { append_post(list.element(answer.body), post); };
//     list.end(snapshot.posts(which, list.range(), each), answer);
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "api/cursor.hpp"
#include "api/route.hpp"

namespace latchkey::api {

class listing {
  public:
    // `pattern` is the route's, where {id} stands for the call's. Without `take` it is the list's
    // first page, which may be part of something else.
    explicit listing(call const& of, std::string_view pattern,
                     std::uint32_t limit = base::limits::page_limit_default);

    // `page` or `cursor`, `limit` and `sort`.
    std::optional<trouble> take();
    // A filter: as the client wrote it, for links, and for the cursor, which is good for this value
    // of it only. The two can differ, and either can be needed alone. At most 64 bytes are bound.
    void select(std::string_view name, std::string_view value) {
        show(name, value);
        bind(name, value);
    }
    void show(std::string_view name, std::string_view value);
    void bind(std::string_view name, std::string_view value) { name_.add(name, value); }
    void bind(std::string_view name, std::int64_t value) { name_.add(name, value); }
    // When all is taken and bound: refuses what is left of the query, and a cursor of another list.
    std::optional<trouble> open();

    store::range range() const;
    // Is it the first page? For a list that never has another.
    bool is_first() const { return number_ == 1; }

    // `{"data":[` … `],"pagination":{…}}` around the elements, and the Link field.
    void begin(http::response& answer);
    // Where the next element goes.
    std::string& element(std::string& to);
    void end(store::listed const& seen, http::response& answer);
    // The object alone.
    void append_pagination(store::listed const& seen, std::string& to);

  private:
    struct filter {
        std::string_view name, value;
    };

    bool by_cursor() const { return number_ == 0; }
    std::string_view next_cursor(store::listed const& seen);
    void add_links(store::listed const& seen, http::response& answer);
    template <class Value>
    void add_link(http::response& answer, std::string_view relation, std::string_view parameter,
                  Value const& value);

    call const& of_;
    std::string_view pattern_;
    std::uint64_t number_ = 1;  // 0: by cursor
    std::uint32_t limit_;
    bool descending_ = false;
    std::string_view cursor_;  // as it came
    model::id after_ = 0;
    list_name name_;
    std::array<filter, 8> filters_;
    std::size_t filter_count_ = 0;
    bool any_element_ = false, any_link_ = false;
    std::optional<cursor_text> next_;
};

}  // namespace latchkey::api
