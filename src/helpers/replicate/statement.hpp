// A statement with its parameters, and the rows of an answer, both in PostgreSQL's binary form:
// integers big-endian, bytea and text as they are. Values; an answer owns its libpq result. One
// thread.
//
//     statement("SELECT effects FROM latchkey_log WHERE position = $1").number(position)
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace latchkey::replicate {

struct parameter {
    Oid type = 0;
    std::string bytes;
};

class statement {
  public:
    explicit statement(std::string sql) : sql_(std::move(sql)) {}

    statement& number(std::uint64_t value);  // bigint
    statement& small(std::uint32_t value);   // int
    statement& bytes(std::string_view value);
    statement& text(std::string_view value);
    // Not kept by the server: for texts that differ from call to call.
    statement& once() {
        prepared_ = false;
        return *this;
    }
    // The same parameters under another text.
    statement with_text(std::string sql) && {
        sql_ = std::move(sql);
        return std::move(*this);
    }
    // Ends a transaction of its own: what follows it in a batch is not undone with it.
    statement& apart() {
        apart_ = true;
        return *this;
    }

    std::string const& sql() const { return sql_; }
    std::vector<parameter> const& parameters() const { return parameters_; }
    // About what it takes on the wire.
    std::size_t wire_bytes() const;
    bool is_prepared() const { return prepared_; }
    bool is_apart() const { return apart_; }

  private:
    std::string sql_;
    std::vector<parameter> parameters_;
    bool prepared_ = true;
    bool apart_ = false;
};

class answer {
  public:
    answer() = default;
    explicit answer(PGresult* result) : result_(result) {}

    std::size_t rows() const;
    // How many rows an INSERT, UPDATE or DELETE changed.
    std::uint64_t changes() const;
    bool is_null(std::size_t row, int column) const;
    // An integer of any width; 0 for null.
    std::uint64_t number(std::size_t row, int column) const;
    // The value of a column of type bytea or text; valid as long as the answer.
    std::string_view bytes(std::size_t row, int column) const;

  private:
    struct deleter {
        void operator()(PGresult* result) const { ::PQclear(result); }
    };
    std::unique_ptr<PGresult, deleter> result_;
};

}  // namespace latchkey::replicate
