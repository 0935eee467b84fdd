// What a client of the service must hear, to the byte: the text of an answer in which what only the
// service can know is marked, and a reader that takes what comes byte by byte.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace latchkey::fake {

// In a text that is expected: a time as in `Date`; one or more bytes up to the one behind the mark;
// `sized`, any so many bytes.
inline constexpr char a_date = '\1', anything = '\2', sized = '\3';
inline std::string any(std::size_t bytes) {
    return {sized, static_cast<char>(bytes)};
}

class expected_text {
  public:
    explicit expected_text(std::string text) : text_(std::move(text)) {}

    // False: this byte is not what must come. After `complete` nothing more may.
    bool take(char byte);
    bool complete() const { return at_ == text_.size(); }
    std::string const& text() const { return text_; }
    // What came where `anything` and `sized` stand, in order.
    std::vector<std::string> const& found() const { return found_; }

  private:
    std::string text_;
    std::size_t at_ = 0;
    std::size_t in_mark_ = 0;  // bytes of the mark so far
    std::vector<std::string> found_;
};

// One of several texts, whichever it turns out to be.
class answer {
  public:
    void may_be(std::string text);
    bool take(char byte);
    bool begun() const { return begun_; }
    // The text that came, by its number; -1 as long as none is complete.
    int which() const;
    std::vector<std::string> const& found() const;
    // All that could have come, to be read by somebody.
    std::string texts() const;

  private:
    struct candidate {
        expected_text text;
        bool possible = true;
    };
    std::vector<candidate> all_;
    bool begun_ = false;
};

// ---- the service's answers

struct made_answer {
    std::string status = "200 OK";
    std::string cache = "private, no-cache";
    std::string fields;  // lines, each with its end
    std::string request_id;
    std::string body;
    std::string type = "application/json; charset=utf-8";
    std::string later_fields = "Vary: Authorization, X-API-Key\r\n";
    bool close = false;
    bool head = false;  // the body stays away
};
std::string text_of(made_answer const& of);

made_answer problem_answer(std::string_view status, std::string_view code, std::string_view title,
                           std::string_view detail, std::string_view request_id);
// To a request whose head could not be read; it ends the connection.
made_answer unparsed_answer(std::string_view status, std::string_view code, std::string_view title,
                            std::string_view detail);

}  // namespace latchkey::fake
