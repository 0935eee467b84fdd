#include "wire/http/kept_request.hpp"

#include "base/bytes.hpp"

namespace latchkey::http {

kept_request::part kept_request::append(std::string_view bytes) {
    part const result{static_cast<std::uint32_t>(text_.size()),
                      static_cast<std::uint32_t>(bytes.size())};
    text_.append(bytes);
    return result;
}

void kept_request::keep(request const& original) {
    clear(text_.capacity());
    auto bytes = original.method_text.size() + original.path.size() + original.query.size() +
                 original.authority.size();
    for (auto const& each : original.fields()) bytes += each.name.size() + each.value.size();
    text_.reserve(bytes);  // a string that grows would leave copies of credentials behind
    method_ = original.method;
    method_text_ = append(original.method_text);
    path_ = append(original.path);
    query_ = append(original.query);
    authority_ = append(original.authority);
    minor_version_ = original.minor_version;
    fields_.reserve(original.fields().size());
    for (auto const& each : original.fields()) {
        auto const name = append(each.name);
        fields_.push_back({name, append(each.value), each.id});
    }
}

void kept_request::restore(request& copy) const {
    copy.clear();
    copy.method = method_;
    copy.method_text = view(method_text_);
    copy.path = view(path_);
    copy.query = view(query_);
    copy.authority = view(authority_);
    copy.minor_version = minor_version_;
    for (auto const& each : fields_) copy.add(view(each.name), view(each.value), each.id);
}

void kept_request::clear(std::size_t bytes_max) {
    base::wipe(text_.data(), text_.size());
    text_.clear();
    fields_.clear();
    if (text_.capacity() <= bytes_max) return;
    std::string().swap(text_);
    std::vector<kept_field>().swap(fields_);
}

std::size_t kept_request::heap_bytes() const {
    static std::size_t const inline_bytes = std::string().capacity();
    auto const text = text_.capacity() > inline_bytes ? text_.capacity() : 0;
    return text + fields_.capacity() * sizeof(kept_field);
}

}  // namespace latchkey::http
