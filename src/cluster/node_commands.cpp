// The questions that commands ask the engine, and the transfer of a whole cluster's state in both
// directions.
#include "cluster/helper_client.hpp"
#include "cluster/node.hpp"

namespace latchkey::cluster {
namespace {

using lock = std::unique_lock<std::mutex>;

// The answer of a request, as the type that it should have.
template <class Answer>
base::result<Answer> expect(std::optional<replicate::protocol::message>&& answer,
                            base::error const& silence) {
    if (!answer) return silence;
    if (auto* const expected = std::get_if<Answer>(&*answer)) return std::move(*expected);
    if (auto const* const failure = std::get_if<replicate::protocol::failed>(&*answer))
        return base::error{failure->text};
    return base::error{"the helper latchkey-replicate gave another answer than was asked for"};
}

}  // namespace

base::result<replicate::protocol::status_report> node::status(base::mono_ns patience) {
    auto& link = *link_;
    lock mutex_lock(link.mutex);
    auto answer = link.call(mutex_lock, replicate::protocol::status{}, patience);
    return expect<replicate::protocol::status_report>(std::move(answer), link.reason_of_silence());
}

base::result<void> node::remove(std::string const& name, base::mono_ns patience) {
    auto& link = *link_;
    lock mutex_lock(link.mutex);
    auto answer = link.call(mutex_lock, replicate::protocol::leave{name}, patience);
    auto const result =
        expect<replicate::protocol::completion>(std::move(answer), link.reason_of_silence());
    if (!result) return result.error();
    return {};
}

base::result<replicate::protocol::state_begin> node::read_state(bool fold, base::mono_ns patience,
                                                                record_sink sink) {
    auto& link = *link_;
    lock mutex_lock(link.mutex);
    auto const next_part = [&]() -> std::optional<replicate::protocol::message> {
        if (!link.wait(mutex_lock, patience, [&] { return !link.calls.parts().empty(); }))
            return std::nullopt;
        auto part = std::move(link.calls.parts().front());
        link.calls.parts().pop_front();
        return part;
    };
    auto const read = [&]() -> base::result<replicate::protocol::state_begin> {
        auto const begin =
            expect<replicate::protocol::state_begin>(next_part(), link.reason_of_silence());
        if (!begin) return begin.error();
        if (begin->schema > link.options.schema)
            return base::error{
                "the cluster was upgraded to a newer version of latchkey than this one: upgrade "
                "this node"};
        std::uint64_t count = 0;
        for (;;) {
            auto part = next_part();
            if (part)
                if (auto const* const end = std::get_if<replicate::protocol::state_end>(&*part)) {
                    if (end->records == count) return *begin;
                    return base::error{"the engine sent " + std::to_string(count) + " of " +
                                       std::to_string(end->records) + " records"};
                }
            auto chunk =
                expect<replicate::protocol::state_chunk>(std::move(part), link.reason_of_silence());
            if (!chunk) return chunk.error();
            count += chunk->records.size();
            mutex_lock.unlock();
            auto const result = sink(std::move(chunk->records));
            mutex_lock.lock();
            if (!result) return result.error();
        }
    };
    link.send(replicate::protocol::read_state{fold}, link.calls.begin_parts());
    auto result = read();
    link.calls.end_parts();
    return result;
}

base::result<void> node::create(store::cluster_id const& cluster, base::mono_ns patience,
                                record_source source) {
    auto& link = *link_;
    lock mutex_lock(link.mutex);
    auto const ask = [&](replicate::protocol::message content) -> base::result<void> {
        auto answer = link.call(mutex_lock, std::move(content), patience);
        auto const confirmation =
            expect<replicate::protocol::completion>(std::move(answer), link.reason_of_silence());
        if (!confirmation) return confirmation.error();
        return {};
    };
    if (auto const result = ask(replicate::protocol::init_begin{cluster}); !result)
        return result.error();
    for (;;) {
        mutex_lock.unlock();
        auto records = source();
        mutex_lock.lock();
        if (!records) return records.error();
        if (records->empty()) break;
        if (auto const result = ask(replicate::protocol::state_chunk{std::move(*records)}); !result)
            return result.error();
    }
    return ask(replicate::protocol::init_end{0, link.options.schema});
}

}  // namespace latchkey::cluster
