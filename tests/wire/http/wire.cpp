#include "wire.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

namespace latchkey::http {
namespace {

// "GET /p?q @authority 1.1 keep {Name=value\n…} none": no two requests have the same text.
std::string format_request(request const& request, framing const& framing,
                           std::string const& body) {
    std::string text(request.method_text);
    if (name_of(request.method) != request.method_text) text.append("(other)");
    text.append(" ").append(request.path);
    if (!request.query.empty()) text.append("?").append(request.query);
    text.append(" @").append(request.authority);
    text.append(" 1.").append(std::to_string(request.minor_version));
    text.append(framing.keep_alive ? " keep" : " close");
    if (framing.expect_continue) text.append(" continue");
    if (framing.expect_unknown) text.append(" unknown-expectation");
    text.append(" {");
    for (auto const& field : request.fields()) {
        if (text.back() != '{') text.append("\n");
        text.append(field.name).append("=").append(field.value);
    }
    text.append("}");
    switch (framing.body) {
        case framing::body_kind::none:
            return text.append(" none");
        case framing::body_kind::sized:
            text.append(" sized ");
            break;
        case framing::body_kind::chunked:
            text.append(" chunked ");
            break;
    }
    return text.append("'").append(body).append("'");
}

// A connection without sockets. The parser sees an exact copy at a new address each time, so that
// a sanitizer notices a byte read beyond it and a pointer kept from the time before.
class connection {
  public:
    connection(size_limits const& limits, section_cache* sections) : parser_(limits, sections) {}

    void receive(std::string_view bytes) {
        if (result_.refused()) return;
        result_.bytes_fed += bytes.size();
        pending_.append(bytes);
        while (!result_.refused() && advance()) {
        }
    }
    outcome const& result() const { return result_; }

  private:
    bool advance() {
        std::unique_ptr<char[]> const copy(new char[pending_.size()]);
        std::copy(pending_.begin(), pending_.end(), copy.get());
        std::string_view const input(copy.get(), pending_.size());
        return in_body_ ? read_body(input) : read_head(input);
    }

    bool apply(step const& step) {
        if (step.state == step::progress::refused) {
            EXPECT_NE(step.problem, base::problem::none);
            EXPECT_FALSE(step.detail.empty());
            result_.problem = step.problem;
            result_.detail = step.detail;
            return false;
        }
        EXPECT_EQ(step.problem, base::problem::none);
        pending_.erase(0, step.consumed);
        result_.consumed += step.consumed;
        return step.state == step::progress::complete;
    }

    bool read_head(std::string_view input) {
        if (input.empty()) return false;
        auto const step = parser_.read_head(input, request_, framing_);
        if (step.state == step::progress::incomplete) {
            EXPECT_EQ(step.consumed, 0u);
        }
        if (step.state == step::progress::complete) text_ = format_request(request_, framing_, {});
        if (!apply(step)) return false;
        if (framing_.body == framing::body_kind::none) return finish();
        in_body_ = true;
        return true;
    }

    bool read_body(std::string_view input) {
        if (!apply(parser_.read_body(input, body_))) return false;
        return finish();
    }

    bool finish() {
        if (framing_.body != framing::body_kind::none)
            text_.replace(text_.size() - 2, 2, "'" + body_ + "'");
        result_.messages.push_back(text_);
        parser_.next();
        body_.clear();
        in_body_ = false;
        return true;
    }

    parser parser_;
    request request_;
    framing framing_;
    std::string pending_;
    std::string body_;
    std::string text_;
    bool in_body_ = false;
    outcome result_;
};

void expect_same(outcome const& left, outcome const& right, std::string const& split) {
    EXPECT_EQ(left.messages, right.messages) << split;
    EXPECT_EQ(left.problem, right.problem) << split;
    EXPECT_EQ(left.detail, right.detail) << split;
    if (!left.refused()) {
        EXPECT_EQ(left.consumed, right.consumed) << split;
    }
}

}  // namespace

outcome run(std::string_view bytes, std::vector<std::size_t> const& cuts, size_limits const& limits,
            section_cache* sections) {
    connection client(limits, sections);
    std::size_t begin = 0;
    for (auto const cut : cuts) {
        client.receive(bytes.substr(begin, cut - begin));
        begin = cut;
    }
    client.receive(bytes.substr(begin));
    return client.result();
}

outcome run_all_splits(std::string_view bytes, size_limits const& limits) {
    auto const whole = run(bytes, {}, limits);
    for (std::size_t offset = 1; offset < bytes.size(); ++offset)
        expect_same(whole, run(bytes, {offset}, limits), "split at " + std::to_string(offset));
    std::vector<std::size_t> every(bytes.empty() ? 0 : bytes.size() - 1);
    std::iota(every.begin(), every.end(), 1);
    auto const single = run(bytes, every, limits);
    expect_same(whole, single, "byte by byte");

    auto const twice = std::string(bytes) + std::string(bytes);
    auto const uncached = run(twice, {}, limits);
    auto const sections = std::make_unique<section_cache>();
    expect_same(uncached, run(twice, {}, limits, sections.get()), "twice");
    for (std::size_t offset = bytes.size(); offset < twice.size(); ++offset)
        expect_same(uncached, run(twice, {offset}, limits, sections.get()),
                    "twice, split at " + std::to_string(offset));
    for (auto const& other : with_other_request_lines(bytes))
        expect_same(run(other, {}, limits),
                    run(other, {}, limits, std::make_unique<section_cache>().get()),
                    "after the same fields under another request line");
    return single;
}

std::vector<std::string> with_other_request_lines(std::string_view bytes) {
    std::vector<std::string> result;
    auto const line = std::min(bytes.find("\r\n"), bytes.size());
    for (std::string const other : {"GET / HTTP/1.1", "GET / HTTP/1.0", "GET http://b/ HTTP/1.1",
                                    "PROPFIND / HTTP/1.1", "OPTIONS * HTTP/1.1"})
        result.push_back(other + std::string(bytes.substr(line)) + std::string(bytes));
    return result;
}

std::string format_outcome(outcome const& result, std::size_t size) {
    std::string text;
    for (auto message : result.messages) {
        // Fields stand on one line here, for people; the content is left as it is.
        auto const fields = message.find('}');
        std::replace(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(fields), '\n',
                     ';');
        text.append(message).append("\n");
    }
    if (result.refused())
        text.append("refused ").append(base::describe(result.problem).name).append("\n");
    else if (result.consumed != size)
        text.append(std::to_string(size - result.consumed)).append(" left\n");
    return text;
}

}  // namespace latchkey::http
