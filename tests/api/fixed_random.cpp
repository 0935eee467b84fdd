#include "fixed_random.hpp"

#include <openssl/rand.h>
#include <sys/random.h>

namespace {

std::uint64_t state = 1;

void fill(unsigned char* output, std::size_t size) {
    for (; size > 0; --size, ++output) {
        state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX
        *output = static_cast<unsigned char>(state >> 56);
    }
}

}  // namespace

extern "C" int RAND_bytes(std::uint8_t* output, std::size_t size) {
    fill(output, size);
    return 1;
}

extern "C" ssize_t getrandom(void* output, std::size_t size, unsigned) {
    fill(static_cast<unsigned char*>(output), size);
    return static_cast<ssize_t>(size);
}

void latchkey::api::fix_random(std::uint64_t seed) {
    state = seed;
}
