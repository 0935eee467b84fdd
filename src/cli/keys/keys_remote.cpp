#include <algorithm>
#include <boost/json/object.hpp>

#include "cli/frame/json.hpp"
#include "cli/keys/keys_backend.hpp"

namespace latchkey::cli {
namespace {

std::string path_of(model::id id, std::string_view action = {}) {
    return ("/keys/" + std::to_string(id)).append(action);
}

std::string reason_body(std::string_view reason) {
    return R"({"reason":")" + std::string(reason) + R"("})";
}

class remote_keys : public keys_backend {
  public:
    explicit remote_keys(std::unique_ptr<remote_api> elsewhere) : service_(std::move(elsewhere)) {}

    bool is_remote() const override { return true; }
    answer_of<std::string> show(model::id id) override {
        return service_->call("GET", path_of(id));
    }
    std::optional<refusal> each(key_selection const& selection, sink sink) override {
        query_text filters;
        filters.add("project", selection.project)
            .add("state", selection.state)
            .add("environment", selection.environment)
            .add("search", selection.search);
        return service_->each("/keys", filters, sink);
    }
    answer_of<std::string> create(std::string_view body) override {
        return service_->call("POST", "/keys", body);
    }
    answer_of<std::string> change(model::id id, std::string_view body) override {
        return service_->call("PATCH", path_of(id), body);
    }
    answer_of<std::string> rotate(model::id id, std::int64_t overlap_seconds) override {
        return service_->call("POST", path_of(id, "/rotate"),
                              R"({"overlap_seconds":)" + std::to_string(overlap_seconds) + "}");
    }
    answer_of<std::string> deactivate(model::id id, std::string_view reason) override {
        return service_->call("POST", path_of(id, "/deactivate"), reason_body(reason));
    }
    std::optional<refusal> deactivate_all(std::vector<model::id> const& ids,
                                          std::string_view reason, deactivations& total) override {
        for (auto const id : ids) {
            auto const key = deactivate(id, reason);
            if (!key) return key.error();
            ++total.count;
            auto const document = parse_object(*key).value();
            auto const end = text_of(document, "effective_by");
            total.effective_by =
                std::max(total.effective_by, base::parse_timestamp(end).value_or(0));
            if (document.contains("effective_in_seconds"))
                total.effective_in = std::max<base::wall_ms>(
                    total.effective_in, number_of(document, "effective_in_seconds") * 1000);
        }
        return std::nullopt;
    }
    answer_of<model::id> own_id() override {
        auto const key = service_->call("GET", "/keys/current");
        if (!key) return key.error();
        return number_of(parse_object(*key).value(), "id");
    }
    answer_of<std::string> reactivate(model::id id) override {
        return service_->call("POST", path_of(id, "/reactivate"));
    }
    answer_of<std::string> verify(std::string_view body) override {
        return service_->call("POST", "/keys/verify", body);
    }
    answer_of<std::string> usage(model::id id, query_text const& query) override {
        return service_->call("GET", (id == 0 ? "/usage" : path_of(id, "/usage")) + query.text());
    }

  private:
    std::unique_ptr<remote_api> service_;
};

}  // namespace

std::unique_ptr<keys_backend> open_keys(api_command const& command, int& code,
                                        store_access access) {
    if (!command.is_remote()) return open_local_keys(command, code, access);
    auto elsewhere = remote_api::connect(command.elsewhere);
    if (elsewhere) return std::make_unique<remote_keys>(std::move(*elsewhere));
    code = report(elsewhere.error());
    return nullptr;
}

}  // namespace latchkey::cli
