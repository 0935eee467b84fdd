// A file descriptor owned by a scope (RAII): closed by the destructor. A value that moves; the
// descriptor itself may be used by any thread.
//
//     auto const file = base::open_file(path, O_RDONLY);
//     if (!file.is_open()) return base::errno_error("cannot open " + path, errno);
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <string>
#include <utility>

namespace latchkey::base {

class descriptor {
  public:
    descriptor() = default;
    // Takes ownership; negative: none, as system calls return it.
    explicit descriptor(int number) : number_(number) {}
    ~descriptor() { close(); }
    descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        if (this != &other) {
            close();
            number_ = std::exchange(other.number_, -1);
        }
        return *this;
    }

    bool is_open() const { return number_ >= 0; }
    int get() const { return number_; }
    int release() { return std::exchange(number_, -1); }
    // Keeps errno, so that the caller of what failed before may close first.
    void close();

  private:
    int number_ = -1;
};

// open(2) with O_CLOEXEC; `mode` for O_CREAT. On failure it is not open, and errno says why.
descriptor open_file(std::string const& path, int flags, mode_t mode = 0600);

}  // namespace latchkey::base
