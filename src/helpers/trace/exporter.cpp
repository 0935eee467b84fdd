// One libcurl easy handle serves all requests: a batch leaves the queue when it is full or a second
// old and stays in `batch_` until it is accepted or given up, so a repetition sends the same bytes.
// New settings stop the request under way, because libcurl still reads the old ones; the batch is
// sent again.
#include "helpers/trace/exporter.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <utility>

#include "base/check.hpp"
#include "base/time_units.hpp"
#include "base/version.hpp"
#include "helpers/trace/otlp.hpp"

namespace latchkey::trace {
namespace {

using kit::set;

constexpr base::mono_ns batch_delay = base::second;
constexpr base::mono_ns first_pause = base::second, longest_pause = 30 * base::second;
// The longest pause that an endpoint is granted; the queue is full long before its end.
constexpr base::mono_ns retry_after_max = 300 * base::second;
constexpr unsigned attempts_max = 8;
constexpr long timeout_ms = 10'000;
constexpr base::mono_ns wait_max = base::second;
constexpr std::size_t response_bytes_max = 64 * 1024;

std::size_t take_content(char* bytes, std::size_t size, std::size_t count, void* output) {
    auto& response = *static_cast<std::string*>(output);
    auto const room = response_bytes_max - std::min(response.size(), response_bytes_max);
    response.append(bytes, std::min(size * count, room));
    return size * count;
}

bool is_temporary(long status) {
    return status == 429 || status == 502 || status == 503 || status == 504;
}

}  // namespace

exporter::exporter(std::string authorities_file)
    : authorities_file_(std::move(authorities_file)),
      multi_(::curl_multi_init()),
      easy_(::curl_easy_init()) {
    base::check(multi_ != nullptr && easy_ != nullptr, "out of memory");
}

exporter::~exporter() {
    if (is_sending_) ::curl_multi_remove_handle(multi_, easy_.get());
    easy_.reset();
    ::curl_multi_cleanup(multi_);
}

void exporter::use(trace::protocol::settings settings) {
    settings_ = std::move(settings);
    has_settings_ = true;
    // libcurl uses the fields until its request ends: the batch is sent once more, by the new ones.
    if (std::exchange(is_sending_, false)) ::curl_multi_remove_handle(multi_, easy_.get());
    next_attempt_ = 0;
    set_options();
}

void exporter::set_options() {
    auto* const easy = easy_.get();
    kit::set_post(easy, authorities_file_);
    set(easy, CURLOPT_URL, settings_.endpoint.c_str());
    set(easy, CURLOPT_TIMEOUT_MS, timeout_ms);
    set(easy, CURLOPT_WRITEFUNCTION, &take_content);
    set(easy, CURLOPT_WRITEDATA, &response_);
    fields_.reset();
    // Without a value: those that libcurl would add.
    for (auto const* own : {"Content-Type: application/json",
                            "User-Agent: latchkey-trace/" LATCHKEY_VERSION, "Expect:", "Accept:"})
        kit::append(fields_, own);
    for (auto const& [name, value] : settings_.fields) kit::append(fields_, name + ": " + value);
    set(easy, CURLOPT_HTTPHEADER, fields_.get());
}

void exporter::add(std::span<trace::protocol::span const> spans) {
    if (queue_.empty()) oldest_ = base::read_mono();
    for (auto const& each : spans) {
        if (queue_.size() >= queue_max || !has_settings_)
            ++report_.dropped;
        else
            queue_.push_back(make_span(each, settings_));
    }
}

base::mono_ns exporter::next_time() const {
    if (is_sending_) return INT64_MAX;
    if (!batch_.empty()) return next_attempt_;
    if (queue_.empty()) return INT64_MAX;
    bool const is_due = is_hurried_ || queue_.size() >= spans_per_request_max;
    return is_due ? 0 : oldest_ + batch_delay;
}

bool exporter::turn() {
    auto const drops = report_.dropped;
    bool const has_ended = is_sending_ && end();
    if (next_time() <= base::read_mono()) begin();
    return has_ended || report_.dropped != drops;
}

void exporter::begin() {
    if (batch_.empty()) {
        auto const count = std::min(queue_.size(), spans_per_request_max);
        for (std::size_t i = 0; i < count; ++i) {
            batch_.emplace_back(std::move(queue_.front()));
            queue_.pop_front();
        }
        oldest_ = base::read_mono();
        attempts_ = 0;
        if (queue_.empty()) is_hurried_ = false;
        body_ = make_request(batch_, settings_);
    }
    ++attempts_;
    response_.clear();
    kit::set_content(easy_.get(), body_);
    base::check(::curl_multi_add_handle(multi_, easy_.get()) == CURLM_OK, "out of memory");
    is_sending_ = true;
    int running = 0;
    ::curl_multi_perform(multi_, &running);
}

// True: the request has ended.
bool exporter::end() {
    int running = 0;
    ::curl_multi_perform(multi_, &running);
    int left = 0;
    while (auto const* const message = ::curl_multi_info_read(multi_, &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        auto const code = message->data.result;
        ::curl_multi_remove_handle(multi_, easy_.get());
        is_sending_ = false;
        judge(code);
        return true;
    }
    return false;
}

void exporter::judge(CURLcode code) {
    if (code != CURLE_OK) {
        report_.failure = ::curl_easy_strerror(code);
        return retry(0);
    }
    long status = 0;
    ::curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200 && status < 300) {
        auto const count = std::min<std::uint64_t>(rejected_spans(response_), batch_.size());
        report_.exported += batch_.size() - count;
        report_.dropped += count;
        report_.failure = count == 0 ? "" : "the endpoint rejected spans";
        batch_.clear();
        return;
    }
    auto const reason = "the endpoint answered " + std::to_string(status);
    if (!is_temporary(status)) return drop_batch(reason);
    report_.failure = reason;
    auto const seconds = kit::retry_after_seconds(easy_.get());
    retry(std::min(seconds * base::second, retry_after_max));
}

// 0: the endpoint named no pause.
void exporter::retry(base::mono_ns pause) {
    if (attempts_ >= attempts_max) return drop_batch(report_.failure);
    if (pause == 0) pause = std::min(first_pause << (attempts_ - 1), longest_pause);
    next_attempt_ = base::read_mono() + pause;
}

void exporter::drop_batch(std::string reason) {
    report_.dropped += batch_.size();
    report_.failure = std::move(reason);
    batch_.clear();
}

void exporter::wait(int descriptor) {
    auto const rest = std::clamp<base::mono_ns>(next_time() - base::read_mono(), 0, wait_max);
    curl_waitfd channel{.fd = descriptor, .events = CURL_WAIT_POLLIN, .revents = 0};
    int count = 0;
    ::curl_multi_poll(multi_, &channel, 1,
                      static_cast<int>((rest + base::millisecond - 1) / base::millisecond), &count);
}

}  // namespace latchkey::trace
