#include "wire/tls/ticket_keys.hpp"

#include <openssl/rand.h>

#include "base/bytes.hpp"

namespace latchkey::tls {

namespace {

void wipe_key(ticket_keys::key& key) {
    base::wipe(&key, sizeof key);
}

void fill_key(ticket_keys::key& key) {
    RAND_bytes(key.name.data(), key.name.size());
    RAND_bytes(key.secret.data(), key.secret.size());
}

}  // namespace

std::shared_ptr<ticket_keys const> ticket_keys::make() {
    auto keys = std::make_shared<ticket_keys>();
    fill_key(keys->current);
    fill_key(keys->previous);
    return keys;
}

std::shared_ptr<ticket_keys const> ticket_keys::rotated() const {
    auto keys = std::make_shared<ticket_keys>();
    fill_key(keys->current);
    keys->previous = current;
    return keys;
}

ticket_keys::~ticket_keys() {
    wipe_key(current);
    wipe_key(previous);
}

}  // namespace latchkey::tls
