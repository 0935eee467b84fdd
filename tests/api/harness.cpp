#include "harness.hpp"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "api/documents.hpp"
#include "http/write.hpp"

namespace latchkey::api {

namespace json = boost::json;

std::string request_text(std::string_view line, lines const& fields, std::string_view body) {
    std::string text = std::string(line) + " HTTP/1.1\r\nHost: echo.invalid\r\n";
    bool typed = false;
    for (auto const& field : fields) {
        text += field + "\r\n";
        typed |= field.starts_with("Content-Type:");
    }
    if (!body.empty()) {
        if (!typed) text += "Content-Type: application/json\r\n";
        text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    }
    return text.append("\r\n").append(body);
}

std::string in_chunks(std::string_view line, lines const& fields, std::string_view body) {
    auto text = request_text(line, fields);
    text.insert(text.size() - 2,
                "Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n");
    while (!body.empty()) {
        auto const piece = body.substr(0, 0xfff);
        char size[8];
        std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
        text.append(size).append(piece).append("\r\n");
        body.remove_prefix(piece.size());
    }
    return text.append("0\r\n\r\n");
}

// ---- the station

station::station(std::int64_t (*wall)())
    : shelf_(wall),
      buckets_(limit::buckets::make(1024).value()),
      desk_{rules, snapshot_, keys_, leases_, *failures_, cursors_, random_, running, &uses_} {
    static auto const documents = make_documents(rules);
    rules.documents = documents;
    key = add_key();
}

reply station::send(std::string bytes) {
    buffer = std::move(bytes);
    committed = false;
    snapshot_.renew();
    keys_.follow(snapshot_);
    http::response answer;
    http::parser parser(http_limits);
    request_.clear();
    auto const head = parser.read_head(buffer, request_, framing_);
    if (head.state == http::step::state::refused) {
        std::string id;
        refuse_unparsed(desk_, from, head.problem, head.detail, answer, id);
    } else {
        EXPECT_EQ(head.state, http::step::state::complete);
        auto then = exchange.begin(desk_, request_, framing_, from, now, answer);
        if (then == need::body) then = take_body(parser, head.consumed, answer);
        if (then == need::commit) {
            answer.clear();
            exchange.answer(desk_, commit(exchange.take_command()), answer);
        }
    }
    std::string output;
    http::date_line date;
    http::write(answer, {.head = request_.method == http::method::head}, date.at(now.wall), output);
    auto const end = output.find("\r\n\r\n");
    reply made{answer.status, output.substr(0, end + 2), output.substr(end + 4)};
    EXPECT_EQ(std::stoi(output.substr(9, 3)), made.status);
    check(made);
    return made;
}

// A sized body lies where it came. Of a chunked one the server collects the content and reads the
// head again from a copy: it must still be a head after credentials were wiped, and nothing may be
// kept of the views of before, whose bytes are gone.
need station::take_body(http::parser& parser, std::size_t from_byte, http::response& answer) {
    auto const rest = std::string_view(buffer).substr(from_byte);
    auto wrong = base::problem::none;
    if (framing_.body == http::framing::body_kind::sized) {
        request_.body = rest.substr(0, framing_.content_length);
        EXPECT_EQ(request_.body.size(), framing_.content_length);
    } else {
        chunked_body.clear();
        auto const part = parser.read_body(rest, chunked_body);
        EXPECT_NE(part.state, http::step::state::incomplete);
        if (part.state == http::step::state::refused) wrong = part.problem;
        std::string copy(buffer);
        std::fill(buffer.begin(), buffer.end(), '#');
        buffer = std::move(copy);
        http::parser again(http_limits);
        request_.clear();
        auto const head = again.read_head(buffer, request_, framing_);
        EXPECT_EQ(head.state, http::step::state::complete);
        request_.body = chunked_body;
    }
    if (wrong == base::problem::none && request_.body.size() > exchange.body_bytes_max())
        wrong = base::problem::body_too_large;
    if (wrong == base::problem::none) return exchange.finish(desk_, request_, now, answer);
    exchange.refuse(desk_, wrong, "", answer);
    EXPECT_TRUE(answer.close);
    return need::nothing;
}

store::outcome station::commit(store::command what) {
    committed = true;
    if (outcome_instead) return *std::exchange(outcome_instead, std::nullopt);
    return apply(std::move(what));
}

store::outcome station::apply(store::command what) {
    std::vector<store::command> commands;
    commands.push_back(std::move(what));
    return store::apply(shelf_.store(), std::move(commands)).value().at(0);
}

reply station::ask(std::string_view line, std::string_view body, lines fields) {
    fields.push_back(bearer(key));
    return send(request_text(line, fields, body));
}

reply station::ask_bare(std::string_view line, std::string_view body, lines const& fields) {
    return send(request_text(line, fields, body));
}

std::string station::add_key(std::vector<std::string_view> const& scopes, model::key record) {
    for (auto const scope : scopes) EXPECT_TRUE(record.scopes.add(scope)) << scope;
    auto const text = auth::unknown_key();
    record.start = text.substr(0, 8);
    record.last4 = text.substr(text.size() - 4);
    last_key_ = shelf_.add(text, std::move(record));
    secrets_.push_back(text);
    return text;
}

void station::exhaust() {
    auto const policy = limit::prepare(last_key_.rate_limits, last_key_.limit_slots);
    while (buckets_->admit(last_key_.id, policy, now.mono, 1).admitted()) {
    }
}

model::id station::add_user(std::string name, std::string email) {
    if (email.empty()) email = "user" + std::to_string(++emails_) + "@example.com";
    auto const made = apply({.what = store::create_user{std::move(name), std::move(email)}});
    EXPECT_EQ(made.problem, base::problem::none);
    return std::get<model::user>(made.record).id;
}

model::id station::add_post(model::id user, model::post_status status, std::string title) {
    auto const made = apply({.what = store::create_post{user, std::move(title), "text", status}});
    EXPECT_EQ(made.problem, base::problem::none);
    return std::get<model::post>(made.record).id;
}

void station::report_uses() {
    while (!uses_.empty()) {
        auto const done = apply({.what = store::note_key_uses{uses_.take(store::key_uses_max)}});
        EXPECT_EQ(done.problem, base::problem::none);
    }
}

void station::remove_user(model::id id) {
    EXPECT_EQ(apply({.what = store::delete_user{id}}).problem, base::problem::none);
}

void station::advance(std::int64_t milliseconds) {
    now.mono += milliseconds * 1'000'000;
    now.wall += milliseconds;
}

// ---- what every reply must be

void station::check(reply const& made) const {
    for (auto const* const name : {"X-Request-Id", "X-Content-Type-Options", "Date"})
        EXPECT_EQ(made.fields(name).size(), 1u) << name << "\n" << made.head;
    EXPECT_EQ(made.field("X-Content-Type-Options"), "nosniff");
    for (auto const* const word : {"Access-Control-", "Content-Encoding", "echo.invalid"})
        EXPECT_EQ((made.head + made.body).find(word), std::string::npos) << word;
    for (auto const& secret : secrets_)
        EXPECT_EQ((made.head + made.body).find(secret), std::string::npos) << "shows a key";
    for (auto const& link : made.fields("Link"))
        EXPECT_EQ(link.find("api_key"), std::string::npos) << link;
    bool const bare = made.status == 204 || made.status == 304;
    if (bare) EXPECT_EQ(made.head.find("Content-Length"), std::string::npos);
    if (!bare && request_.method != http::method::head)
        EXPECT_EQ(made.field("Content-Length"), std::to_string(made.body.size()));
    if (request_.method == http::method::head) EXPECT_EQ(made.body, "");
    if (made.status < 400 || made.body.empty()) return;
    EXPECT_EQ(made.field("Content-Type"), "application/problem+json") << made.head;
    EXPECT_EQ(made.fields("Cache-Control"), lines{"no-store"});
    auto const id = made.field("X-Request-Id");
    EXPECT_EQ(made.at("/status"), std::to_string(made.status));
    EXPECT_EQ(made.at("/type"), '"' + rules.base_url + "/problems/" + made.code() + '"');
    EXPECT_EQ(made.at("/instance"), "\"urn:request:" + id + '"');
    EXPECT_EQ(made.at("/request_id"), '"' + id + '"');
    EXPECT_GT(made.at("/title").size(), 2u);
    EXPECT_GT(made.at("/detail").size(), 2u);
}

// ---- taking a reply apart

std::vector<std::string> reply::fields(std::string_view name) const {
    std::vector<std::string> values;
    auto const mark = "\r\n" + std::string(name) + ": ";
    for (auto i = head.find(mark); i != head.npos; i = head.find(mark, i + 1)) {
        auto const begin = i + mark.size();
        values.push_back(head.substr(begin, head.find("\r\n", begin) - begin));
    }
    return values;
}

std::string reply::field(std::string_view name) const {
    auto const all = fields(name);
    return all.empty() ? std::string() : all.front();
}

json::value reply::json() const {
    json::error_code wrong;
    auto value = json::parse(body, wrong);
    return wrong ? json::value() : value;
}

std::string reply::at(std::string_view pointer) const {
    auto const whole = json();
    json::error_code wrong;
    auto const* const value = whole.find_pointer(pointer, wrong);
    return value == nullptr ? std::string() : json::serialize(*value);
}

std::string reply::code() const {
    auto const text = status < 400 ? std::string() : at("/code");
    return text.size() < 2 ? std::string() : text.substr(1, text.size() - 2);
}

std::map<std::string, std::string> reply::faults() const {
    std::map<std::string, std::string> all;
    auto const whole = json();
    json::error_code wrong;
    auto const* const list = whole.find_pointer("/errors", wrong);
    if (list == nullptr) return all;
    for (auto const& each : list->as_array()) {
        auto const& object = each.as_object();
        EXPECT_EQ(object.size(), 3u) << json::serialize(each);
        EXPECT_FALSE(object.at("detail").as_string().empty());
        for (auto const* const place : {"pointer", "parameter", "header"})
            if (auto const* const name = object.if_contains(place)) {
                auto const fresh = all.emplace(name->as_string(), object.at("code").as_string());
                EXPECT_TRUE(fresh.second) << "two faults of " << json::serialize(*name);
            }
    }
    return all;
}

std::map<std::string, std::string> reply::links() const {
    std::map<std::string, std::string> all;
    for (auto const& line : fields("Link"))
        for (std::size_t i = line.find('<'); i != line.npos; i = line.find('<', i + 1)) {
            auto const end = line.find('>', i);
            auto const rel = line.find("rel=\"", end) + 5;
            all[line.substr(rel, line.find('"', rel) - rel)] = line.substr(i + 1, end - i - 1);
        }
    return all;
}

model::id reply::id() const {
    auto const text = at("/id");
    return text.empty() ? 0 : std::stoll(text);
}

}  // namespace latchkey::api
