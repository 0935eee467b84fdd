// GET /changes as a stream of events (docs/api.md §16).
#include <charconv>

#include "api/changes/change_routes.hpp"
#include "api/changes/changes.hpp"
#include "api/frame/event_stream.hpp"

namespace latchkey::api {
namespace {

// In one step, of which few or none may be shown: others go first then.
constexpr unsigned changes_per_step_max = 200;

class change_stream : public event_stream {
  public:
    change_stream(event_reader caller, event_streams::place place, model::id position,
                  domain::change_types types)
        : event_stream(std::move(caller), std::move(place)), position_(position), types_(types) {}

  protected:
    progress read(request_services& services, base::instant now, std::size_t bytes_max,
                  std::string& output) override;

  private:
    model::id position_;
    domain::change_types types_;
};

event_stream::progress change_stream::read(request_services& services, base::instant,
                                           std::size_t bytes_max, std::string& output) {
    auto& changes = services.streams->changes();
    auto const bounds = changes.bounds(services.snapshot);
    auto const shows = [&](model::change_type type, std::string_view project) {
        return types_.has(type) && sees_change_of(caller(), project);
    };
    auto const& work = services.snapshot.work();
    auto const cost_end = work.cost() + step_cost_max;
    for (unsigned count = 0; position_ < bounds.last; ++count) {
        bool const is_dear = count != 0 && work.cost() >= cost_end;
        if (output.size() >= bytes_max || count == changes_per_step_max || is_dear)
            return progress::more;
        if (position_ + 1 < bounds.oldest) return progress::ended;
        auto const text = changes.find(services.snapshot, position_ + 1, shows);
        if (!text) return progress::ended;
        output.append(*text);
        ++position_;
    }
    return progress::idle;
}

// `Last-Event-ID` is what an EventSource has seen last: it takes the place of `after`.
api_result<std::optional<model::id>> last_event_id(http::request const& request) {
    bool const is_absent = !request.find(http::field_name::last_event_id);
    auto const text = request.find_only(http::field_name::last_event_id);
    if (is_absent || text == "") return std::optional<model::id>();
    model::id sequence = 0;
    auto const digits = text.value_or("");
    auto const* const end = digits.data() + digits.size();
    auto const read = std::from_chars(digits.data(), end, sequence);
    if (read.ec == std::errc() && read.ptr == end && sequence >= 0) return std::optional(sequence);
    return make_error(base::problem::invalid_parameter,
                      "`Last-Event-ID` must be there once, a sequence.",
                      {base::fault::location_kind::header, "Last-Event-ID",
                       base::field_code::invalid_format, "must be there once, a sequence"});
}

}  // namespace

api_result<std::unique_ptr<event_stream>> open_change_stream(request_context const& context,
                                                             request_services& services,
                                                             event_reader reader) {
    auto const last_id = last_event_id(context.request);
    if (!last_id) return last_id.error();
    auto const part = take_change_range(context, services.snapshot, *last_id);
    if (!part) return part.error();
    if (services.streams == nullptr) return make_error(base::problem::overloaded);
    auto place = services.streams->enter(services.settings.streams_max, reader.key.record());
    if (!place)
        return make_error(base::problem::overloaded,
                          "All streams are in use, or this key or its project has its share.");
    return std::unique_ptr<event_stream>(
        new change_stream(std::move(reader), std::move(place), part->position, part->types));
}

}  // namespace latchkey::api
