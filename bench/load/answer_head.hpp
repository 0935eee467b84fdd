// The head of an answer: its status and the answer's length.
#pragma once

#include <optional>
#include <string_view>

namespace load {

struct answer_head {
    unsigned status = 0;
    std::size_t bytes = 0, content = 0;  // head and content; content alone
};

// The head of an answer with Content-Length, or without content; nullopt: incomplete.
inline std::optional<answer_head> read_head(std::string_view bytes) {
    auto const end = bytes.find("\r\n\r\n");
    if (end == bytes.npos) return std::nullopt;
    auto const head = bytes.substr(0, end + 2);
    answer_head result;
    if (head.size() < 14 || !head.starts_with("HTTP/1.")) return answer_head{0, end + 4, 0};
    for (char const digit : head.substr(9, 3))
        result.status = result.status * 10 + static_cast<unsigned>(digit - '0');
    for (std::string_view const name : {"\r\nContent-Length: ", "\r\ncontent-length: "}) {
        auto position = head.find(name);
        if (position == head.npos) continue;
        for (position += name.size(); head[position] >= '0' && head[position] <= '9'; ++position)
            result.content = result.content * 10 + static_cast<std::size_t>(head[position] - '0');
        break;
    }
    if (result.status == 204 || result.status == 304) result.content = 0;
    result.bytes = end + 4 + result.content;
    return result;
}

}  // namespace load
