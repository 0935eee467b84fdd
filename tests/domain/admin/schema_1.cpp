#include "schema_1.hpp"

#include <sys/stat.h>

#include <charconv>
#include <fstream>
#include <sstream>

#include "schema_1_file.hpp"
#include "store/checksum.hpp"
#include "store/damage.hpp"
#include "store/lmdb_value.hpp"

namespace latchkey::domain {
namespace {

constexpr auto schema_1_tables = static_cast<std::size_t>(table::changes);

// An environment of LMDB over the file, with one transaction.
class plain_file {
  public:
    plain_file(std::string const& directory, unsigned flags) {
        EXPECT_EQ(::mdb_env_create(&env_), 0);
        ::mdb_env_set_maxdbs(env_, 16);
        ::mdb_env_set_mapsize(env_, std::size_t{1} << 32);
        EXPECT_EQ(::mdb_env_open(env_, (directory + "/store.mdb").c_str(),
                                 MDB_NOSUBDIR | MDB_NOTLS | MDB_NOSYNC | flags, 0600),
                  0);
        EXPECT_EQ(::mdb_txn_begin(env_, nullptr, flags, &txn), 0);
        for (std::size_t i = 0; i < table_count; ++i) {
            int const code = ::mdb_dbi_open(txn, table_names[i], 0, &tables[i]);
            EXPECT_TRUE(code == 0 || (code == MDB_NOTFOUND && i >= schema_1_tables));
        }
    }
    ~plain_file() {
        if (txn != nullptr) ::mdb_txn_abort(txn);
        ::mdb_env_close(env_);
    }
    plain_file(plain_file const&) = delete;
    plain_file& operator=(plain_file const&) = delete;

    MDB_txn* txn = nullptr;
    MDB_dbi tables[table_count] = {};

  private:
    MDB_env* env_ = nullptr;
};

}  // namespace

raw_content content_of_file(std::string const& directory) {
    plain_file const file(directory, MDB_RDONLY);
    raw_content result;
    for (std::size_t i = 0; i < table_count; ++i) {
        if (file.tables[i] == 0) continue;
        MDB_cursor* cursor = nullptr;
        EXPECT_EQ(::mdb_cursor_open(file.txn, file.tables[i], &cursor), 0);
        MDB_val key, value;
        while (::mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0)
            result[{static_cast<table>(i), std::string(view_of(key))}] = view_of(value);
        ::mdb_cursor_close(cursor);
    }
    return result;
}

raw_content as_schema_1(raw_content const& content) {
    std::string schema(schema_magic);
    base::append(schema, std::uint32_t{1});
    raw_content result;
    for (auto const& [entry_key, value] : content) {
        auto const& [table, key] = entry_key;
        if (static_cast<std::size_t>(table) >= schema_1_tables) continue;
        if (table == table::index && key == std::string_view(key_bytes{tag::schema})) {
            result[entry_key] = schema;
            continue;
        }
        auto const plain = content_of(table, key, value);
        EXPECT_TRUE(plain) << describe(table, key);
        result[entry_key] = plain.value_or("");
        if (table == table::index && key == std::string_view(key_bytes{tag::counters}))
            result[entry_key][0] = 1;
    }
    return result;
}

raw_content records_of_schema_2(raw_content const& content) {
    raw_content result;
    for (auto const& [entry_key, value] : content) {
        auto const& [table, key] = entry_key;
        bool const is_version =
            table == table::index && (key == std::string_view(key_bytes{tag::schema}) ||
                                      key == std::string_view(key_bytes{tag::counters}));
        if (static_cast<std::size_t>(table) < schema_1_tables && !is_version)
            result[entry_key] = value;
    }
    return result;
}

void make_schema_2(std::string const& directory) {
    plain_file file(directory, 0);
    for (std::size_t i = schema_1_tables; i < table_count; ++i)
        if (file.tables[i] != 0) ASSERT_EQ(::mdb_drop(file.txn, file.tables[i], 1), 0);
    auto const index = file.tables[static_cast<std::size_t>(table::index)];
    std::string schema(schema_magic);
    base::append(schema, std::uint32_t{2});
    auto const schema_name = key_bytes{tag::schema}, counters_name = key_bytes{tag::counters};
    auto key = val_of(schema_name), value = val_of(schema);
    ASSERT_EQ(::mdb_put(file.txn, index, &key, &value, 0), 0);
    key = val_of(counters_name);
    ASSERT_EQ(::mdb_get(file.txn, index, &key, &value), 0);
    std::string counters(content_of(table::index, counters_name, view_of(value)).value_or(""));
    ASSERT_FALSE(counters.empty());
    counters[0] = 2;
    ASSERT_EQ(put_checked(file.txn, index, table::index, counters_name, counters, 0), 0);
    ASSERT_EQ(::mdb_txn_commit(std::exchange(file.txn, nullptr)), 0);
}

void write_schema_1_file(std::string const& directory) {
    ::mkdir(directory.c_str(), 0700);
    std::string bytes(schema_1_file_bytes, '\0');
    std::istringstream lines{std::string(schema_1_file)};
    std::size_t offset = 0;
    for (std::string hex; lines >> std::hex >> offset >> hex;)
        ASSERT_TRUE(base::from_hex(hex, bytes.data() + offset, hex.size() / 2));
    std::ofstream(directory + "/store.mdb", std::ios::binary) << bytes;
}

void replace_content(std::string const& directory, raw_content const& content) {
    plain_file file(directory, 0);
    for (std::size_t i = 0; i < table_count; ++i)
        if (file.tables[i] != 0)
            ASSERT_EQ(::mdb_drop(file.txn, file.tables[i], i >= schema_1_tables ? 1 : 0), 0);
    for (auto const& [entry_key, bytes] : content) {
        auto key = val_of(entry_key.second), value = val_of(bytes);
        ASSERT_EQ(::mdb_put(file.txn, file.tables[static_cast<std::size_t>(entry_key.first)], &key,
                            &value, MDB_APPEND),
                  0);
    }
    ASSERT_EQ(::mdb_txn_commit(std::exchange(file.txn, nullptr)), 0);
}

void fill(environment& store, unsigned users) {
    one(store, new_key(key_number(1, {"*"})));
    one(store, new_key(key_number(2)));
    one(store, new_user_once(1));
    auto const minute = base::read_clocks().wall / 60'000 * 60'000;
    one(store,
        {.action = note_key_uses{{{.key = 1, .minute = minute, .counted = {{3, 0, 0, 0}, 0}}}}});
    one(store, {.action = receive_event{.source = "shop",
                                        .delivery_id = "one",
                                        .marks = {key_number(7).digest},
                                        .payload = std::string(9000, 'p')}});
    for (unsigned number = 0; number < users;) {
        std::vector<command> group;
        for (; group.size() < 64 && number < users; ++number) {
            auto const name = "user" + std::to_string(number);
            group.push_back(new_user(name, name + "@example.org"));
            if (number % 3 == 0)
                group.push_back(new_post(number / 2 + 1, "title of " + name,
                                         static_cast<model::post_status>(number % 2),
                                         std::string(number % 5000, 'b')));
        }
        if (group.size() > 64) group.resize(64);
        auto const outcomes = apply(store, std::move(group));
        ASSERT_TRUE(outcomes);
        for (auto const& each : *outcomes) ASSERT_EQ(each.problem, base::problem::none);
    }
}

}  // namespace latchkey::domain
