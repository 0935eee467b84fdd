// Lists (API §7): which part a query asks for, the `pagination` object and the Link field (RFC
// 8288).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/route.hpp"

namespace latchkey::api {

// What `page`, `limit` and `sort` come to.
struct page {
    std::uint64_t number = 1;
    std::uint32_t limit = base::limits::page_limit_default;
    bool descending = false;

    store::range range() const {
        return {.skip = (number - 1) * limit, .after = 0, .limit = limit, .descending = descending};
    }
};
or_trouble<page> take_page(api::query& query);

// A filter of the list as it goes into links, `value` not yet encoded.
struct filter {
    std::string_view name, value;
};

// `{"data":[` … `],"pagination":{…}}` around the elements that `each` appends, and the Link field.
// `path` with the prefix.
void begin_list(std::string& to);
void end_list(page const& part, store::listed const& seen, http::response& answer);
void append_pagination(page const& part, store::listed const& seen, std::string& to);
void add_links(page const& part, store::listed const& seen, std::string_view path,
               std::vector<filter> const& filters, settings const& rules, http::response& answer);

}  // namespace latchkey::api
