// The head of an answer: its status and how long the answer is.
#pragma once

#include <optional>
#include <string_view>

namespace load {

struct answer_head {
    unsigned status = 0;
    std::size_t bytes = 0, content = 0;  // head and content; content alone
};

// The head of an answer with Content-Length, or without content; nullopt: not complete yet.
inline std::optional<answer_head> read_head(std::string_view in) {
    auto const end = in.find("\r\n\r\n");
    if (end == in.npos) return std::nullopt;
    auto const head = in.substr(0, end + 2);
    answer_head found;
    if (head.size() < 14 || !head.starts_with("HTTP/1.")) return answer_head{0, end + 4, 0};
    for (char const digit : head.substr(9, 3))
        found.status = found.status * 10 + static_cast<unsigned>(digit - '0');
    for (std::string_view const name : {"\r\nContent-Length: ", "\r\ncontent-length: "}) {
        auto at = head.find(name);
        if (at == head.npos) continue;
        for (at += name.size(); head[at] >= '0' && head[at] <= '9'; ++at)
            found.content = found.content * 10 + static_cast<std::size_t>(head[at] - '0');
        break;
    }
    if (found.status == 204 || found.status == 304) found.content = 0;
    found.bytes = end + 4 + found.content;
    return found;
}

}  // namespace load
