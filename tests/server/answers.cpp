#include "answers.hpp"

#include <cctype>
#include <utility>

namespace latchkey::fake {
namespace {

constexpr std::size_t date_bytes = 29;

// "Sun, 06 Nov 1994 08:49:37 GMT", as far as a byte alone shows it.
bool fits_date(char byte, std::size_t at) {
    constexpr std::string_view form = "Aaa, 00 Aaa 0000 00:00:00 GMT";
    char const wanted = form[at];
    auto const it = static_cast<unsigned char>(byte);
    if (at >= form.size() - 3) return byte == wanted;
    if (wanted == 'A') return std::isupper(it) != 0;
    if (wanted == 'a') return std::islower(it) != 0;
    if (wanted == '0') return std::isdigit(it) != 0;
    return byte == wanted;
}

}  // namespace

bool expected_text::take(char byte) {
    if (complete()) return false;
    char const wanted = text_[at_];
    if (wanted == a_date) {
        if (!fits_date(byte, in_mark_)) return false;
        if (++in_mark_ == date_bytes) in_mark_ = 0, ++at_;
        return true;
    }
    if (wanted == anything) {
        if (in_mark_++ == 0) {
            found_.emplace_back(1, byte);
            return true;
        }
        if (byte != text_[at_ + 1]) {
            found_.back() += byte;
            return byte != '\r' && byte != '\n';
        }
        in_mark_ = 0;
        at_ += 2;
        return true;
    }
    if (wanted == sized) {
        if (in_mark_ == 0) found_.emplace_back();
        found_.back() += byte;
        if (++in_mark_ == static_cast<unsigned char>(text_[at_ + 1])) in_mark_ = 0, at_ += 2;
        return true;
    }
    ++at_;
    return byte == wanted;
}

void answer::may_be(std::string text) {
    all_.push_back({expected_text(std::move(text)), true});
}

bool answer::take(char byte) {
    begun_ = true;
    bool any = false;
    for (auto& each : all_) {
        each.possible = each.possible && each.text.take(byte);
        any |= each.possible;
    }
    return any;
}

int answer::which() const {
    for (std::size_t i = 0; i < all_.size(); ++i)
        if (all_[i].possible && all_[i].text.complete()) return static_cast<int>(i);
    return -1;
}

std::vector<std::string> const& answer::found() const {
    return all_[static_cast<std::size_t>(which())].text.found();
}

std::string answer::texts() const {
    std::string all;
    for (auto const& each : all_) all += each.text.text().substr(0, 1000) + "\n---\n";
    for (auto& byte : all)
        if (byte > 0 && byte <= sized) byte = '?';
    return all;
}

// ---- the service's answers

std::string text_of(made_answer const& of) {
    std::size_t size = of.body.size();
    for (std::size_t i = 0; i < of.body.size(); ++i)
        if (of.body[i] == sized) size += static_cast<std::size_t>(of.body[++i]), size -= 2;
    auto text = "HTTP/1.1 " + of.status + "\r\nDate: " + a_date + "\r\nContent-Type: " + of.type +
                "\r\nContent-Length: " + std::to_string(size) + "\r\nCache-Control: " + of.cache +
                "\r\n" + of.fields + "X-Request-Id: " + of.request_id +
                "\r\nX-Content-Type-Options: nosniff\r\n" + of.later_fields;
    if (of.close) text += "Connection: close\r\n";
    return text + "\r\n" + (of.head ? std::string() : of.body);
}

made_answer problem_answer(std::string_view status, std::string_view code, std::string_view title,
                           std::string_view detail, std::string_view request_id) {
    made_answer made;
    made.status = status;
    made.cache = "no-store";
    made.type = "application/problem+json";
    made.request_id = request_id;
    made.body = "{\"type\":\"/problems/" + std::string(code) + "\",\"title\":\"" +
                std::string(title) + "\",\"status\":" + std::string(status.substr(0, 3)) +
                ",\"detail\":\"" + std::string(detail) +
                "\",\"instance\":\"urn:request:" + made.request_id + "\",\"code\":\"" +
                std::string(code) + "\",\"request_id\":\"" + made.request_id + "\"}";
    return made;
}

made_answer unparsed_answer(std::string_view status, std::string_view code, std::string_view title,
                            std::string_view detail) {
    constexpr std::size_t made_id_bytes = 26;
    auto made = problem_answer(status, code, title, detail, any(made_id_bytes));
    made.later_fields.clear();
    made.close = true;
    return made;
}

}  // namespace latchkey::fake
