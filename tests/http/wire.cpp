#include "wire.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

namespace latchkey::http {
namespace {

// "GET /p?q @authority 1.1 keep {Name=value\n…} none": no two requests have the same text.
std::string describe(request const& head, framing const& how, std::string const& body) {
    std::string text(head.method_text);
    if (name_of(head.method) != head.method_text) text.append("(other)");
    text.append(" ").append(head.path);
    if (!head.query.empty()) text.append("?").append(head.query);
    text.append(" @").append(head.authority);
    text.append(" 1.").append(std::to_string(head.minor_version));
    text.append(how.keep_alive ? " keep" : " close");
    if (how.expect_continue) text.append(" continue");
    if (how.expect_unknown) text.append(" unknown-expectation");
    text.append(" {");
    for (auto const& field : head.fields()) {
        if (text.back() != '{') text.append("\n");
        text.append(field.name).append("=").append(field.value);
    }
    text.append("}");
    switch (how.body) {
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
    connection(settings const& limits, section_cache* sections) : parser_(limits, sections) {}

    void receive(std::string_view bytes) {
        if (result_.refused()) return;
        result_.shown += bytes.size();
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

    bool take(step const& what) {
        if (what.state == step::state::refused) {
            EXPECT_NE(what.problem, base::problem::none);
            EXPECT_FALSE(what.detail.empty());
            result_.problem = what.problem;
            result_.detail = what.detail;
            return false;
        }
        EXPECT_EQ(what.problem, base::problem::none);
        pending_.erase(0, what.consumed);
        result_.consumed += what.consumed;
        return what.state == step::state::complete;
    }

    bool read_head(std::string_view input) {
        if (input.empty()) return false;
        auto const what = parser_.read_head(input, head_, how_);
        if (what.state == step::state::incomplete) {
            EXPECT_EQ(what.consumed, 0u);
        }
        if (what.state == step::state::complete) described_ = describe(head_, how_, {});
        if (!take(what)) return false;
        if (how_.body == framing::body_kind::none) return finish();
        in_body_ = true;
        return true;
    }

    bool read_body(std::string_view input) {
        if (!take(parser_.read_body(input, body_))) return false;
        return finish();
    }

    bool finish() {
        if (how_.body != framing::body_kind::none)
            described_.replace(described_.size() - 2, 2, "'" + body_ + "'");
        result_.messages.push_back(described_);
        parser_.next();
        body_.clear();
        in_body_ = false;
        return true;
    }

    parser parser_;
    request head_;
    framing how_;
    std::string pending_;
    std::string body_;
    std::string described_;
    bool in_body_ = false;
    outcome result_;
};

void expect_same(outcome const& left, outcome const& right, std::string const& how) {
    EXPECT_EQ(left.messages, right.messages) << how;
    EXPECT_EQ(left.problem, right.problem) << how;
    EXPECT_EQ(left.detail, right.detail) << how;
    if (!left.refused()) {
        EXPECT_EQ(left.consumed, right.consumed) << how;
    }
}

}  // namespace

outcome run(std::string_view bytes, std::vector<std::size_t> const& cuts, settings const& limits,
            section_cache* sections) {
    connection on(limits, sections);
    std::size_t begin = 0;
    for (auto const cut : cuts) {
        on.receive(bytes.substr(begin, cut - begin));
        begin = cut;
    }
    on.receive(bytes.substr(begin));
    return on.result();
}

outcome run_every_way(std::string_view bytes, settings const& limits) {
    auto const whole = run(bytes, {}, limits);
    for (std::size_t at = 1; at < bytes.size(); ++at)
        expect_same(whole, run(bytes, {at}, limits), "split at " + std::to_string(at));
    std::vector<std::size_t> every(bytes.empty() ? 0 : bytes.size() - 1);
    std::iota(every.begin(), every.end(), 1);
    auto const single = run(bytes, every, limits);
    expect_same(whole, single, "byte by byte");

    auto const twice = std::string(bytes) + std::string(bytes);
    auto const without = run(twice, {}, limits);
    auto const sections = std::make_unique<section_cache>();
    expect_same(without, run(twice, {}, limits, sections.get()), "twice");
    for (std::size_t at = bytes.size(); at < twice.size(); ++at)
        expect_same(without, run(twice, {at}, limits, sections.get()),
                    "twice, split at " + std::to_string(at));
    for (auto const& other : behind_other_lines(bytes))
        expect_same(run(other, {}, limits),
                    run(other, {}, limits, std::make_unique<section_cache>().get()),
                    "behind the same under another request line");
    return single;
}

std::vector<std::string> behind_other_lines(std::string_view bytes) {
    std::vector<std::string> made;
    auto const line = std::min(bytes.find("\r\n"), bytes.size());
    for (std::string const other : {"GET / HTTP/1.1", "GET / HTTP/1.0", "GET http://b/ HTTP/1.1",
                                    "PROPFIND / HTTP/1.1", "OPTIONS * HTTP/1.1"})
        made.push_back(other + std::string(bytes.substr(line)) + std::string(bytes));
    return made;
}

std::string tell(outcome const& result, std::size_t size) {
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
