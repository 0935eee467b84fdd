#include "harness.hpp"

#include <time.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "api/docs/documents.hpp"
#include "base/time_units.hpp"
#include "store/environment_state.hpp"
#include "store/lmdb_value.hpp"
#include "tests/auth/token_signer.hpp"
#include "web/files.hpp"
#include "wire/http/write.hpp"

namespace latchkey::api {

namespace json = boost::json;

std::int64_t processor_time() {
    timespec time;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * base::second + time.tv_nsec;
}

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

std::string public_path(std::string_view pattern) {
    std::string_view asset = web::find_file("docs.css").path;
    asset.remove_prefix(asset.rfind('/') + 1);
    std::pair<std::string_view, std::string_view> const values[] = {
        {"{code}", "not_found"},
        {"{guide}", "errors"},
        {"{asset}", asset},
        {"{package}", client_kinds[0].name}};
    std::string path(pattern);
    for (auto const& [name, value] : values)
        if (auto const i = path.find(name); i != path.npos) path.replace(i, name.size(), value);
    return path;
}

// Sentences begin with a capital letter or with a name in backquotes.
static bool is_sentence(std::string_view text) {
    return text.size() > 2 &&
           (text.front() == '`' || (text.front() >= 'A' && text.front() <= 'Z')) &&
           (text.ends_with('.') || text.ends_with('?'));
}

// ---- the fixture

api_fixture::api_fixture(std::int64_t (*wall)(), std::size_t map_bytes)
    : temp_store_(wall, map_bytes),
      buckets_(limit::buckets::make(1024).value()),
      services_{settings, snapshot_, keys_,   leases_, *failures_,
                cursors_, random_,   running, &uses_} {
    // As large as one may be.
    static client_package const packages[] = {{&client_kinds[0], std::string(1 << 20, 'a')}};
    static auto const documents = make_documents(settings, packages);
    settings.documents = documents;
    settings.protected_resource = "{}";  // as if an issuer were configured
    services_.streams = &streams_;
    services_.sessions = &sessions_;
    key = add_key();
}

reply api_fixture::send(std::string bytes) {
    buffer = std::move(bytes);
    committed = false;
    if (!same_turn) {
        snapshot_.renew();
        keys_.follow(snapshot_);
    }
    http::response response;
    http::parser parser(http_limits);
    request_.clear();
    auto const head = parser.read_head(buffer, request_, framing_);
    if (head.state == http::step::progress::refused) {
        std::string id;
        refuse_unparsed(services_, peer, head.problem, head.detail, response, id);
    } else {
        EXPECT_EQ(head.state, http::step::progress::complete);
        turn_cost = turn_ns = commit_ns = 0;
        auto cost_before = snapshot_.work().cost(), ns_before = processor_time();
        auto const end_turn = [&] {
            auto const cost = snapshot_.work().cost(), ns = processor_time();
            turn_cost = std::max(turn_cost, cost - std::exchange(cost_before, cost));
            turn_ns = std::max(turn_ns, ns - std::exchange(ns_before, ns));
        };
        auto next = exchange.begin(services_, request_, framing_, peer, now, response);
        if (next == next_step::read_body) next = take_body(parser, head.consumed, response);
        end_turn();
        turns = 1;
        while (next == next_step::commit || next == next_step::await_turn) {
            response.clear();
            if (next == next_step::await_turn) {
                ++turns;
                next = exchange.resume(services_, request_, now, response);
                end_turn();
                continue;
            }
            auto const commit_begin = processor_time();
            auto const outcome = commit(exchange.take_command());
            commit_ns = processor_time() - commit_begin;
            if (exchange.waits() && outcome.problem == base::problem::none) {
                next = exchange.resume(services_, request_, now, response);
                continue;
            }
            exchange.answer(services_, outcome, response);
            break;
        }
    }
    std::string output;
    http::date_line date;
    http::write(response, {.head = request_.method == http::method::head}, date.at(now.wall),
                output);
    auto const end = output.find("\r\n\r\n");
    reply result{response.status, output.substr(0, end + 2), output.substr(end + 4)};
    EXPECT_EQ(std::stoi(output.substr(9, 3)), result.status);
    check(result);
    return result;
}

// A sized body stays in place. Of a chunked one the server collects the content and parses the head
// again from a copy: it must still be well-formed after credentials were wiped, and no view of the
// first copy, whose bytes are overwritten, may be used.
next_step api_fixture::take_body(http::parser& parser, std::size_t from_byte,
                                 http::response& response) {
    auto const rest = std::string_view(buffer).substr(from_byte);
    auto error = base::problem::none;
    if (framing_.body == http::framing::body_kind::sized) {
        request_.body = rest.substr(0, framing_.content_length);
        EXPECT_EQ(request_.body.size(), framing_.content_length);
    } else {
        chunked_body.clear();
        auto const part = parser.read_body(rest, chunked_body);
        EXPECT_NE(part.state, http::step::progress::incomplete);
        if (part.state == http::step::progress::refused) error = part.problem;
        std::string copy(buffer);
        std::fill(buffer.begin(), buffer.end(), '#');
        buffer = std::move(copy);
        http::parser again(http_limits);
        request_.clear();
        auto const head = again.read_head(buffer, request_, framing_);
        EXPECT_EQ(head.state, http::step::progress::complete);
        request_.body = chunked_body;
    }
    if (error == base::problem::none && request_.body.size() > exchange.body_bytes_max())
        error = base::problem::body_too_large;
    if (error == base::problem::none) return exchange.finish(services_, request_, now, response);
    exchange.refuse_and_close(error, response);
    EXPECT_TRUE(response.close);
    return next_step::respond;
}

domain::outcome api_fixture::commit(domain::command command) {
    committed = true;
    if (next_outcome) return *std::exchange(next_outcome, std::nullopt);
    return apply(std::move(command));
}

void api_fixture::commit_all(std::vector<domain::command> commands) {
    for (auto const& each : domain::apply(temp_store_.store(), std::move(commands)).value())
        EXPECT_EQ(each.problem, base::problem::none);
}

model::id api_fixture::last_id_of_keys() {
    snapshot_.renew();
    model::id last = 0;
    snapshot_.keys({}, {.limit = 1, .descending = true},
                   [&](model::key const& key, base::wall_ms) { last = key.id; });
    return last;
}

domain::outcome api_fixture::apply(domain::command command) {
    std::vector<domain::command> commands;
    commands.push_back(std::move(command));
    return domain::apply(temp_store_.store(), std::move(commands)).value().at(0);
}

reply api_fixture::request(std::string_view line, std::string_view body, lines fields) {
    fields.push_back(bearer(key));
    return send(request_text(line, fields, body));
}

reply api_fixture::request_anonymous(std::string_view line, std::string_view body,
                                     lines const& fields) {
    return send(request_text(line, fields, body));
}

std::string api_fixture::add_key(std::vector<std::string_view> const& scopes, model::key record) {
    for (auto const scope : scopes) EXPECT_TRUE(record.scopes.add(scope)) << scope;
    auto const text = auth::unknown_key();
    record.start = text.substr(0, 8);
    record.last4 = text.substr(text.size() - 4);
    last_key_ = temp_store_.add(text, std::move(record));
    secrets_.push_back(text);
    return text;
}

void api_fixture::accept_tokens_of(auth::token_signer const& signer) {
    accept_tokens_of(signer.issuers());
}

// As a worker does after a reload.
void api_fixture::accept_tokens_of(std::shared_ptr<auth::bearer_issuers const> issuers) {
    services_.tokens = issuers ? &tokens_ : nullptr;
    tokens_.use(std::move(issuers));
}

model::key api_fixture::add_bearer(auth::token_signer const& signer, std::string subject,
                                   std::vector<std::string_view> const& scopes, model::key record) {
    for (auto const scope : scopes) EXPECT_TRUE(record.scopes.add(scope)) << scope;
    record = auth::record_for(signer, std::move(subject), std::move(record));
    auto const text = auth::bearer_text(record);
    last_key_ = temp_store_.add(text, std::move(record));
    return last_key_;
}

void api_fixture::exhaust() {
    auto const policy = limit::prepare(last_key_.rate_limits, last_key_.limit_slots);
    while (buckets_->admit(last_key_.id, policy, now.mono, 1).admitted()) {
    }
}

model::id api_fixture::add_user(std::string name, std::string email) {
    if (email.empty()) email = "user" + std::to_string(++emails_) + "@example.com";
    auto const outcome = apply({.action = domain::create_user{std::move(name), std::move(email)}});
    EXPECT_EQ(outcome.problem, base::problem::none);
    return std::get<model::user>(outcome.record).id;
}

model::id api_fixture::add_post(model::id user, model::post_status status, std::string title) {
    auto const outcome =
        apply({.action = domain::create_post{user, std::move(title), "text", status}});
    EXPECT_EQ(outcome.problem, base::problem::none);
    return std::get<model::post>(outcome.record).id;
}

void api_fixture::report_uses() {
    while (!uses_.empty()) {
        auto const outcome = apply({.action = domain::note_key_uses{
                                        uses_.take(domain::key_uses_max), uses_.take_exposed()}});
        EXPECT_EQ(outcome.problem, base::problem::none);
    }
}

void api_fixture::remove_user(model::id id) {
    EXPECT_EQ(apply({.action = domain::delete_user{id}}).problem, base::problem::none);
}

void api_fixture::damage_user(model::id id) {
    damage(store::table::users, store::id_key(id));
}

void api_fixture::damage_key(model::id id) {
    damage(store::table::index, store::key_key(id));
}

void api_fixture::damage(store::table table, std::string_view record_key) {
    auto& native = temp_store_.store().native();
    MDB_txn* txn = nullptr;
    EXPECT_EQ(::mdb_txn_begin(native.env, nullptr, 0, &txn), 0);
    auto name = store::val_of(record_key);
    auto value = store::val_of("rubbish");
    EXPECT_EQ(::mdb_put(txn, native.dbi(table), &name, &value, 0), 0);
    EXPECT_EQ(::mdb_txn_commit(txn), 0);
}

void api_fixture::advance(std::int64_t milliseconds) {
    now.mono += milliseconds * 1'000'000;
    now.wall += milliseconds;
    now.clock += milliseconds;
}

// ---- the checks of every reply

void api_fixture::check(reply const& response) const {
    for (auto const* const name : {"X-Request-Id", "X-Content-Type-Options", "Date"})
        EXPECT_EQ(response.fields(name).size(), 1u) << name << "\n" << response.head;
    EXPECT_EQ(response.field("X-Content-Type-Options"), "nosniff");
    // What is secret is never compressed: pages and their files alone are.
    if (response.field("Vary").find("Authorization") != std::string::npos)
        EXPECT_TRUE(response.field("Content-Encoding").empty());
    for (auto const* const word : {"Access-Control-", "echo.invalid"})
        EXPECT_EQ((response.head + response.body).find(word), std::string::npos) << word;
    for (auto const& secret : secrets_)
        EXPECT_EQ((response.head + response.body).find(secret), std::string::npos) << "shows a key";
    for (auto const& link : response.fields("Link"))
        EXPECT_EQ(link.find("api_key"), std::string::npos) << link;
    bool const bare = response.status == 204 || response.status == 304;
    if (bare) EXPECT_EQ(response.head.find("Content-Length"), std::string::npos);
    bool const is_stream = response.field("Content-Type").starts_with("text/event-stream");
    if (!bare && !is_stream && request_.method != http::method::head)
        EXPECT_EQ(response.field("Content-Length"), std::to_string(response.body.size()));
    if (request_.method == http::method::head) EXPECT_EQ(response.body, "");
    if (response.status < 400 || response.body.empty()) return;
    EXPECT_EQ(response.fields("Cache-Control"), lines{"no-store"});
    if (response.field("Content-Type") ==
        "text/html; charset=utf-8") {  // the page for an unknown one
        EXPECT_EQ(response.status, 404);
        return;
    }
    EXPECT_EQ(response.field("Content-Type"), "application/problem+json") << response.head;
    auto const id = response.field("X-Request-Id");
    EXPECT_EQ(response.at("/status"), std::to_string(response.status));
    EXPECT_EQ(response.at("/type"), '"' + settings.base_url + "/problems/" + response.code() + '"');
    EXPECT_EQ(response.at("/instance"), "\"urn:request:" + id + '"');
    EXPECT_EQ(response.at("/request_id"), '"' + id + '"');
    EXPECT_GT(response.at("/title").size(), 2u);
    auto const detail = response.json().at("detail").as_string();
    EXPECT_TRUE(is_sentence(detail)) << detail;
}

// ---- the parts of a reply

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
    json::error_code error;
    auto value = json::parse(body, error);
    return error ? json::value() : value;
}

std::string reply::at(std::string_view pointer) const {
    auto const whole = json();
    json::error_code error;
    auto const* const value = whole.find_pointer(pointer, error);
    return value == nullptr ? std::string() : json::serialize(*value);
}

std::string reply::code() const {
    auto const text = status < 400 ? std::string() : at("/code");
    return text.size() < 2 ? std::string() : text.substr(1, text.size() - 2);
}

std::map<std::string, std::string> reply::faults() const {
    std::map<std::string, std::string> all;
    auto const whole = json();
    json::error_code error;
    auto const* const list = whole.find_pointer("/errors", error);
    if (list == nullptr) return all;
    for (auto const& each : list->as_array()) {
        auto const& object = each.as_object();
        EXPECT_EQ(object.size(), 3u) << json::serialize(each);
        EXPECT_TRUE(is_sentence(object.at("detail").as_string())) << json::serialize(each);
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
