// The names of CLI11 that headers mention, so that only the sources that use CLI11 compile it.
#pragma once

namespace CLI {

class App;
class Option;
class ParseError;

}  // namespace CLI
