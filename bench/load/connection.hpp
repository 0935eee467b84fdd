// The state of one connection. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "group.hpp"
#include "http2_session.hpp"
#include "tls_client.hpp"

namespace load {

struct pending {
    ns start;
    std::uint32_t kind;
};

struct connection {
    group* owner = nullptr;
    int descriptor = -1;
    bool connected = false;  // connected; with TLS, after the handshake
    bool sending = false;
    bool receiving = false;
    bool dirty = false;
    bool closing = false;       // to be closed; reopened in the reconnect modes
    std::string queued;         // bytes for the next send, encrypted with TLS
    std::string sending_bytes;  // bytes that the kernel owns
    std::string plain;          // requests before encryption
    std::string received;       // an incomplete answer
    std::deque<pending> flight;
    std::unique_ptr<tls_client> tls;
    bssl::UniquePtr<SSL_SESSION> session;
    ns due_time = 0;  // of the request of a new connection
    std::unique_ptr<http2_session> http2;
    std::deque<ns> backlog;  // HTTP/2: start of each request that has no stream yet

    // Requests may be sent.
    bool ready() const { return connected && (!http2 || http2->ready()); }
    std::size_t in_flight() const { return http2 ? http2->active() : flight.size(); }
    std::string& output() { return tls ? plain : queued; }
};

}  // namespace load
