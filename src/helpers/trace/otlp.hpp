// Spans as OTLP in JSON (OpenTelemetry Protocol 1.x, "JSON Protobuf Encoding": ids in hexadecimal,
// 64-bit integers as decimal strings, enumerations as numbers), with attributes by the semantic
// conventions for HTTP. Values; any thread.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "helpers/trace/protocol/trace_messages.hpp"

namespace latchkey::trace {

// Keeps no view of the span.
boost::json::object make_span(trace::protocol::span const& span,
                              trace::protocol::settings const& settings);

// The body of one request (ExportTraceServiceRequest) with these spans.
std::string make_request(boost::json::array const& spans,
                         trace::protocol::settings const& settings);

// How many spans the endpoint refused although it answered 200 (ExportTracePartialSuccess); 0: none
// or no such answer.
std::uint64_t rejected_spans(std::string_view response);

}  // namespace latchkey::trace
