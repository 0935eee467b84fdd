// The content of a response that does not end: Server-Sent Events (WHATWG HTML §9.2). A handler
// makes one; the session owns it from the head of the response on and asks it for what there is.
//
//     text.clear();
//     switch (stream.append(services, now, bytes_max, text)) {
//         case event_stream::progress::more:   … send, then ask again …
//         case event_stream::progress::idle:   … ask when the store has changed, or at stream.due()
//         case event_stream::progress::ended:  … send, then end the response …
//     }
//
// An idle stream has no buffer. The key of its request is judged again each time, since it may have
// been turned off. Belongs to a worker's thread, as do `event_streams`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "api/frame/rendered_changes.hpp"
#include "api/frame/request_services.hpp"
#include "base/clock.hpp"
#include "base/limits.hpp"
#include "model/scope.hpp"

namespace latchkey::api {

// The streams that are open in the process, and whose they are; any thread. A key gets another one
// while more are left than it has, a project while a third as many are: so there are some for each.
class stream_slots {
  public:
    // False: there is none for that key.
    bool enter(std::size_t most, model::id key, std::string const& project);
    void leave(model::id key, std::string const& project);
    std::size_t open() const {
        std::scoped_lock const lock(mutex_);
        return open_;
    }

  private:
    mutable std::mutex mutex_;
    std::size_t open_ = 0;
    std::unordered_map<model::id, std::size_t> of_key_;
    std::unordered_map<std::string, std::size_t> of_project_;
};

// The state that the streams of one worker share; outlives them.
class event_streams {
  public:
    explicit event_streams(stream_slots& slots) : slots_(slots) {}
    event_streams(event_streams const&) = delete;
    event_streams& operator=(event_streams const&) = delete;

    // A stream's place among those of the process; null: there is none.
    struct leave {
        event_streams* streams;
        model::id key;
        std::string project;
        void operator()(stream_slots* slots) const {
            --streams->open_;
            slots->leave(key, project);
        }
    };
    using place = std::unique_ptr<stream_slots, leave>;
    place enter(std::size_t most, model::key const& key);
    rendered_changes& changes() { return changes_; }

    std::size_t open() const { return open_; }  // of this worker

  private:
    stream_slots& slots_;
    rendered_changes changes_;
    std::size_t open_ = 0;
};

// Who asked, and the scope that the key must keep. With a session the stream ends when that does.
struct event_reader {
    auth::principal key;
    std::optional<model::address> client;
    model::scope scope;
    std::optional<auth::browser_session> session;
};

class event_stream {
  public:
    enum class progress : std::uint8_t { more, idle, ended };

    event_stream(event_reader caller, event_streams::place place)
        : caller_(std::move(caller)), place_(std::move(place)) {}
    virtual ~event_stream() = default;
    event_stream(event_stream const&) = delete;
    event_stream& operator=(event_stream const&) = delete;

    // Appends whole events until `output` has `bytes_max` or more, or none is left; where nothing
    // was sent for a while, a comment. With 0 bytes it only says whether the stream may go on:
    // `more` or `ended`.
    progress append(request_services& services, base::instant now, std::size_t bytes_max,
                    std::string& output);
    // When an idle stream is to be asked, if the store does not change before.
    base::mono_ns due() const { return due_; }
    // It is asked then, and not before, unless the store changes.
    void postpone(base::mono_ns time) { due_ = time; }
    model::id key_id() const { return key().id; }

  protected:
    model::key const& key() const { return caller_.key.record(); }
    auth::principal const& caller() const { return caller_.key; }
    // The same, of the events alone; the key was judged.
    virtual progress read(request_services& services, base::instant now, std::size_t bytes_max,
                          std::string& output) = 0;

  private:
    bool may_go_on(request_services& services, base::instant now);
    base::mono_ns end_of_key(base::instant now) const;

    event_reader caller_;
    event_streams::place place_;
    base::mono_ns due_ = 0;
    base::mono_ns comment_due_ = 0;
    bool has_begun_ = false;
};

}  // namespace latchkey::api
