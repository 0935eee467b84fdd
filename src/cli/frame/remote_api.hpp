// The public API (docs/api.md) of a service elsewhere, for `latchkey COMMAND --url`. The requests
// go through the helper latchkey-remote, which alone links an HTTP client; the key reaches it over
// a socket, never as an argument. One thread; blocks.
//
//     auto elsewhere = remote_api::connect(options);
//     auto const key = elsewhere->call("GET", "/keys/7");
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.hpp"
#include "base/system/descriptor.hpp"
#include "cli/frame/cli11_names.hpp"
#include "cli/frame/refusal.hpp"
#include "helpers/remote/protocol/netstring.hpp"

namespace latchkey::cli {

// --url, --key-file and --ca-file, or LATCHKEY_URL, LATCHKEY_KEY_FILE and LATCHKEY_CA_FILE.
struct service_options {
    std::string url, key_file, ca_file;

    void add_to(CLI::App& command);
    // By the option or the environment.
    bool has_key_file() const;
    // The URL of the option, else of the environment; empty: the store of this machine is meant.
    std::string chosen_url() const;
};

// A query: "?limit=100&type=user.%2A". Empty values are left out.
class query_text {
  public:
    query_text& add(std::string_view name, std::string_view value);
    std::string const& text() const { return text_; }

  private:
    std::string text_;
};

class remote_api {
  public:
    static answer_of<std::unique_ptr<remote_api>> connect(service_options const& options);
    ~remote_api();
    remote_api(remote_api const&) = delete;
    remote_api& operator=(remote_api const&) = delete;

    // The body of an answer of 2xx: a JSON object, or nothing after a deletion. `target` is below
    // /api/v1. What is limited (429), and a GET that meets an overload (503), is sent again after
    // its Retry-After, up to a minute in all.
    answer_of<std::string> call(std::string_view method, std::string_view target,
                                std::string_view body = {});

    // Every element of a list (api.md §7), in its order, page by page.
    using element_sink = base::function_ref<void(std::string_view element)>;
    std::optional<refusal> each(std::string_view path, query_text const& filters,
                                element_sink sink);

  private:
    remote_api(base::descriptor socket, pid_t helper);

    struct answer {
        unsigned status = 0;
        std::string request_id, body;
        unsigned retry_after_seconds = 0;
    };
    static answer_of<std::string> content_of(std::string_view method, answer answer);
    answer exchange(std::string_view method, std::string_view target, std::string_view body);

    base::descriptor socket_;
    remote::netstring_reader input_;
    pid_t helper_;
};

// The elements of a page of a list, each an object, as the texts that they have there.
answer_of<std::vector<std::string_view>> page_elements(std::string_view page);

// A sentence about a problem document (api.md §11): title, detail, members and request id.
std::string problem_text(std::string_view document, unsigned status, std::string_view request_id);

}  // namespace latchkey::cli
