// What a client of the service must receive, to the byte: the text of a response in which marks
// stand for what only the service can know, and a matcher that takes the received bytes one by one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace latchkey::fake {

// Marks in an expected text: a time as in `Date`; one or more bytes up to the one behind the mark;
// with its length in the next byte, any so many bytes.
inline constexpr char any_date = '\1', any_text = '\2', sized_text = '\3';
inline std::string any_bytes(std::size_t bytes) {
    return {sized_text, static_cast<char>(bytes)};
}

class text_matcher {
  public:
    explicit text_matcher(std::string text) : text_(std::move(text)) {}

    // False: the byte does not match. After `complete` none does.
    bool take(char byte);
    bool complete() const { return position_ == text_.size(); }
    std::string const& text() const { return text_; }
    // What matched `any_text` and `sized_text`, in order.
    std::vector<std::string> const& parts() const { return parts_; }

  private:
    std::string text_;
    std::size_t position_ = 0;
    std::size_t mark_bytes_ = 0;  // bytes of the mark so far
    std::vector<std::string> parts_;
};

// Matches one of several texts.
class response_matcher {
  public:
    void add_alternative(std::string text);
    bool take(char byte);
    bool started() const { return started_; }
    // The text that matched, by its number; -1 as long as none is complete.
    int index() const;
    std::vector<std::string> const& parts() const;
    // All texts, for a message.
    std::string texts() const;

  private:
    struct candidate {
        text_matcher text;
        bool possible = true;
    };
    std::vector<candidate> all_;
    bool started_ = false;
};

// ---- the responses of the service

struct response_text {
    std::string status = "200 OK";
    std::string cache = "private, no-cache";
    std::string fields;  // lines, each with its end
    std::string request_id;
    std::string body;
    std::string type = "application/json; charset=utf-8";
    std::string later_fields = "Vary: Authorization, X-API-Key\r\n";
    bool close = false;
    bool head = false;  // without the body
};
std::string text_of(response_text const& response);

response_text problem_response(std::string_view status, std::string_view code,
                               std::string_view title, std::string_view detail,
                               std::string_view request_id);
// To a request whose head could not be parsed; it ends the connection.
response_text unparsed_response(std::string_view status, std::string_view code,
                                std::string_view title, std::string_view detail);

}  // namespace latchkey::fake
