#include "server/net/read_ahead.hpp"

#include "api/frame/route.hpp"

namespace latchkey::server {

read_ahead::read_ahead(bool enabled, counter& hints) : enabled_(enabled), hints_(hints) {
    for (auto& ids : ids_) ids.reserve(batch_max);
}

void read_ahead::begin_run() {
    searches_ = snapshot_->searches();
}

void read_ahead::prefetch(std::span<uring::completion const> batch) {
    if (!worthwhile_) return;
    for (auto const& next : batch)
        if (next.op->prefetch_hint != nullptr) next.op->prefetch_hint(*next.op, next);
    for (auto const resource : {domain::resource::user, domain::resource::post}) {
        auto& ids = ids_[static_cast<std::size_t>(resource)];
        snapshot_->prefetch(resource, ids);
        hints_.add(ids.size());
        ids.clear();
    }
}

void read_ahead::end_run(bool answered) {
    if (answered) worthwhile_ = enabled_ && snapshot_->searches() != searches_;
}

void read_ahead::hint(std::string_view bytes) {
    auto const target = api::read_prefetch_hint(bytes);
    if (!target || snapshot_->is_cached(target->resource, target->id)) return;
    ids_[static_cast<std::size_t>(target->resource)].push_back(target->id);
}

}  // namespace latchkey::server
