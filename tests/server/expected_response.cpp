#include "expected_response.hpp"

#include <cctype>
#include <utility>

namespace latchkey::fake {
namespace {

constexpr std::size_t date_bytes = 29;

// "Sun, 06 Nov 1994 08:49:37 GMT", as far as a byte alone shows it.
bool fits_date(char byte, std::size_t position) {
    constexpr std::string_view form = "Aaa, 00 Aaa 0000 00:00:00 GMT";
    char const expected = form[position];
    auto const character = static_cast<unsigned char>(byte);
    if (position >= form.size() - 3) return byte == expected;
    if (expected == 'A') return std::isupper(character) != 0;
    if (expected == 'a') return std::islower(character) != 0;
    if (expected == '0') return std::isdigit(character) != 0;
    return byte == expected;
}

}  // namespace

bool text_matcher::take(char byte) {
    if (complete()) return false;
    char const expected = text_[position_];
    if (expected == any_date) {
        if (!fits_date(byte, mark_bytes_)) return false;
        if (++mark_bytes_ == date_bytes) mark_bytes_ = 0, ++position_;
        return true;
    }
    if (expected == any_text) {
        if (mark_bytes_++ == 0) {
            parts_.emplace_back(1, byte);
            return true;
        }
        if (byte != text_[position_ + 1]) {
            parts_.back() += byte;
            return byte != '\r' && byte != '\n';
        }
        mark_bytes_ = 0;
        position_ += 2;
        return true;
    }
    if (expected == sized_text) {
        if (mark_bytes_ == 0) parts_.emplace_back();
        parts_.back() += byte;
        if (++mark_bytes_ == static_cast<unsigned char>(text_[position_ + 1]))
            mark_bytes_ = 0, position_ += 2;
        return true;
    }
    ++position_;
    return byte == expected;
}

void response_matcher::add_alternative(std::string text) {
    all_.push_back({text_matcher(std::move(text)), true});
}

bool response_matcher::take(char byte) {
    started_ = true;
    bool any_bytes = false;
    for (auto& each : all_) {
        each.possible = each.possible && each.text.take(byte);
        any_bytes |= each.possible;
    }
    return any_bytes;
}

int response_matcher::index() const {
    for (std::size_t i = 0; i < all_.size(); ++i)
        if (all_[i].possible && all_[i].text.complete()) return static_cast<int>(i);
    return -1;
}

std::vector<std::string> const& response_matcher::parts() const {
    return all_[static_cast<std::size_t>(index())].text.parts();
}

std::string response_matcher::texts() const {
    std::string all;
    for (auto const& each : all_) all += each.text.text().substr(0, 1000) + "\n---\n";
    for (auto& byte : all)
        if (byte > 0 && byte <= sized_text) byte = '?';
    return all;
}

// ---- the responses of the service

std::string text_of(response_text const& response) {
    std::size_t size = response.body.size();
    for (std::size_t i = 0; i < response.body.size(); ++i)
        if (response.body[i] == sized_text)
            size += static_cast<std::size_t>(response.body[++i]), size -= 2;
    auto text = "HTTP/1.1 " + response.status + "\r\nDate: " + any_date +
                "\r\nContent-Type: " + response.type +
                "\r\nContent-Length: " + std::to_string(size) +
                "\r\nCache-Control: " + response.cache + "\r\n" + response.fields +
                "X-Request-Id: " + response.request_id + "\r\nX-Content-Type-Options: nosniff\r\n" +
                response.later_fields;
    if (response.close) text += "Connection: close\r\n";
    return text + "\r\n" + (response.head ? std::string() : response.body);
}

response_text problem_response(std::string_view status, std::string_view code,
                               std::string_view title, std::string_view detail,
                               std::string_view request_id) {
    response_text response;
    response.status = status;
    response.cache = "no-store";
    response.type = "application/problem+json";
    response.request_id = request_id;
    response.body = "{\"type\":\"/problems/" + std::string(code) + "\",\"title\":\"" +
                    std::string(title) + "\",\"status\":" + std::string(status.substr(0, 3)) +
                    ",\"detail\":\"" + std::string(detail) +
                    "\",\"instance\":\"urn:request:" + response.request_id + "\",\"code\":\"" +
                    std::string(code) + "\",\"request_id\":\"" + response.request_id + "\"}";
    return response;
}

response_text unparsed_response(std::string_view status, std::string_view code,
                                std::string_view title, std::string_view detail) {
    constexpr std::size_t fresh_id_bytes = 26;
    auto response = problem_response(status, code, title, detail, any_bytes(fresh_id_bytes));
    response.later_fields.clear();
    response.close = true;
    return response;
}

}  // namespace latchkey::fake
