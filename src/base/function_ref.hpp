// A non-owning reference to a callable: two words, no allocation. The callable must outlive the
// call it is passed to, so take it as a parameter and never store it.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace latchkey::base {

template <class Signature>
class function_ref;

template <class Return, class... Arguments>
class function_ref<Return(Arguments...)> {
  public:
    template <class Callable>
        requires(!std::same_as<std::remove_cvref_t<Callable>, function_ref> &&
                 std::is_invocable_r_v<Return, Callable&, Arguments...>)
    function_ref(Callable&& callable)  // NOLINT: meant to convert
        : target_(const_cast<void*>(static_cast<void const*>(std::addressof(callable)))),
          call_([](void* target, Arguments... arguments) -> Return {
              return (*static_cast<std::remove_reference_t<Callable>*>(target))(
                  std::forward<Arguments>(arguments)...);
          }) {}

    Return operator()(Arguments... arguments) const {
        return call_(target_, std::forward<Arguments>(arguments)...);
    }

  private:
    void* target_;
    Return (*call_)(void*, Arguments...);
};

}  // namespace latchkey::base
