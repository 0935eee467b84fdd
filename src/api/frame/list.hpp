// Lists (api.md §7): the range that a query selects, by page or by cursor, the `pagination` object
// and the Link field (RFC 8288). Lives while its handler runs.
//
//     listing list(context, "/api/v1/posts");
//     if (auto error = list.take()) return error;
//     if (auto const name = context.query.take("status")) … list.select("status", *name); …
//     if (auto error = list.open()) return error;
//     list.begin(response);
//     auto const each = [&](auto const& post) { append_post(list.element(response.body), post); };
//     return list.end(snapshot.posts(filter, list.range(response), each), response);
//
// A page ends before its limit where it has many bytes, and where much was read that is not in the
// list; then the cursor goes on.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "api/frame/cursor.hpp"
#include "api/frame/route.hpp"

namespace latchkey::api {

class listing {
  public:
    // `pattern` is the route's; {id} stands for the id of `context`. Without `take` this is the
    // first page, which may be part of another document.
    explicit listing(request_context const& context, std::string_view pattern,
                     std::uint32_t limit = base::limits::page_limit_default);

    // `page` or `cursor`, `limit` and `sort`.
    std::optional<api_error> take();
    // The filter `search`, as a search_text can be made of it unless the query is refused.
    std::optional<std::string_view> take_search();
    // A filter. `show`: the client's text, for links. `bind`: the value, for which alone a cursor
    // is valid. The two can differ, and either can be needed alone. A value that the query does not
    // refuse has 100 bytes at most; a list whose query is refused needs no name.
    void select(std::string_view name, std::string_view value) {
        show(name, value);
        bind(name, value);
    }
    void show(std::string_view name, std::string_view value);
    template <class Value>
    void bind(std::string_view name, Value const& value) {
        if (!context_.query.is_refused()) name_.add(name, value);
    }
    // After all filters: refuses other parameters of the query, and a cursor of another list.
    std::optional<api_error> open();

    // The range of a page whose elements are appended to the content of `response`.
    domain::range range(http::response const& response) const;
    // For a list that has one page only.
    bool is_first() const { return number_ == 1; }

    // `{"data":[` … `],"pagination":{…}}` around the elements, and the Link field.
    void begin(http::response& response);
    // `output`, ready for the next element.
    std::string& element(std::string& output);
    // Refuses a `page` that is further than one request reads.
    std::optional<api_error> end(domain::list_result const& page, http::response& response);
    // The `pagination` object alone.
    void append_pagination(domain::list_result const& page, std::string& output);
    // The response to a HEAD for which not all of that page was made.
    bool is_partial(domain::list_result const& page) const;

  private:
    struct filter {
        std::string_view name, value;
    };

    bool by_cursor() const { return number_ == 0; }
    std::string_view next_cursor(domain::list_result const& page);
    void add_links(domain::list_result const& page, http::response& response);
    template <class Value>
    void add_link(http::response& response, std::string_view relation, std::string_view parameter,
                  Value const& value);

    request_context const& context_;
    std::string_view pattern_;
    std::uint64_t number_ = 1;  // 0: by cursor
    std::uint32_t limit_;
    bool descending_ = false;
    std::string_view cursor_;  // the client's text
    model::id cursor_id_ = 0;
    list_name name_;
    std::array<filter, 8> filters_;
    std::size_t filter_count_ = 0;
    bool any_element_ = false, any_link_ = false;
    std::optional<cursor_text> next_;
};

}  // namespace latchkey::api
