#include "api/docs/documents.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "api/docs/guide_pages.hpp"
#include "api/docs/gzip.hpp"
#include "api/docs/operation_pages.hpp"
#include "api/docs/page_frame.hpp"
#include "api/docs/problem_pages.hpp"
#include "api/docs/schema_pages.hpp"
#include "api/docs/search_index.hpp"
#include "api/exchange/openapi.hpp"
#include "base/ascii.hpp"
#include "base/bytes.hpp"
#include "base/hash.hpp"
#include "web/guides.hpp"

namespace latchkey::api {
namespace {

using std::string;
using std::string_view;

string hash_of(string_view bytes) {
    string number;
    base::append(number, base::hash(bytes));
    return base::to_hex(number);
}

documents::page page_of(string path, http::content type, string content, bool compress = true) {
    auto compressed = compress ? gzip(content) : string();
    auto hash = hash_of(content);
    return {.path = std::move(path),
            .type = type,
            .plain = std::move(content),
            .gzip = std::move(compressed),
            .hash = std::move(hash)};
}

class page_set {
  public:
    page_set(reference const& reference, settings const& settings,
             std::span<client_package const> packages)
        : reference_(reference),
          settings_(settings),
          packages_(packages),
          frame_(reference, settings.console) {}

    documents::page missing() const {
        auto page =
            page_of({}, http::content::html,
                    frame_.page({}, "There is no such page", missing_content(settings_.console)));
        page.hash.clear();
        return page;
    }
    std::vector<documents::page> all() && {
        add("/docs", "Documents", start_content(reference_, settings_.base_url));
        for (auto const& guide : web::guides())
            add("/docs/" + string(guide.name), guide.title, guide_content(reference_, guide));
        for (auto const& group : reference_.groups()) {
            auto const name = text_of(group.as_object(), "name");
            add("/docs/" + base::to_lower(name), name,
                group_content(reference_, group.as_object()));
        }
        add("/docs/schemas", "Schemas", schema_list_content(reference_));
        schema_uses const uses(reference_);
        for (auto const& [name, schema] : reference_.schemas())
            add("/docs/schemas/" + string(name), name,
                schema_content(reference_, uses, name, schema.as_object()));
        add(string(clients_path), "Client packages",
            clients_content(packages_, settings_.base_url));
        for (auto const& each : packages_) {
            auto path = string(clients_path).append("/").append(each.kind->name);
            pages_.push_back(page_of(std::move(path), each.kind->type, each.bytes, false));
        }
        add("/problems", "Problems", problem_list_content());
        for (auto const& entry : base::problems)
            if (entry.code != base::problem::none)
                add("/problems/" + string(entry.name), entry.title,
                    problem_content(reference_, entry, settings_.base_url));
        pages_.push_back(page_of("/docs/search.json", http::content::json,
                                 boost::json::serialize(search_index(reference_))));
        std::ranges::sort(pages_, {}, &documents::page::path);
        return std::move(pages_);
    }

  private:
    void add(string path, string_view title, string_view content) {
        auto text = frame_.page(path, title, content);
        pages_.push_back(page_of(std::move(path), http::content::html, std::move(text)));
    }

    reference const& reference_;
    settings const& settings_;
    std::span<client_package const> packages_;
    frame frame_;
    std::vector<documents::page> pages_;
};

}  // namespace

documents::page const* documents::find(string_view path) const {
    auto const place = std::ranges::lower_bound(
        pages, path, {}, [](page const& each) { return string_view(each.path); });
    return place == pages.end() || place->path != path ? nullptr : &*place;
}

std::shared_ptr<documents const> make_documents(settings const& settings,
                                                std::span<client_package const> packages) {
    auto const whole = describe_interface(settings);
    auto result = std::make_shared<documents>();
    result->openapi = boost::json::serialize(whole);
    result->openapi_tag = '"' + hash_of(result->openapi) + '"';
    reference const reference(whole);
    page_set pages(reference, settings, packages);
    result->missing = pages.missing();
    result->pages = std::move(pages).all();
    return result;
}

}  // namespace latchkey::api
