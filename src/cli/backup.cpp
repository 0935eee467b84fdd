// latchkey backup, latchkey restore: the whole store as one file, and back.
#include "store/backup.hpp"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>

#include "api/json_writer.hpp"
#include "base/log.hpp"
#include "cli/keys.hpp"
#include "cli/output_file.hpp"

namespace latchkey::cli {
namespace {

struct backup_options : key_command {
    std::string file;
    bool compact = false, force = false;
};

bool is_directory(std::string const& path) {
    struct stat found{};
    return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

// "latchkey-20260102T030405Z.mdb"
std::string name_of_moment() {
    auto const now = static_cast<time_t>(base::read_clocks().wall / 1000);
    struct tm parts{};
    ::gmtime_r(&now, &parts);
    char text[40];
    ::strftime(text, sizeof text, "latchkey-%Y%m%dT%H%M%SZ.mdb", &parts);
    return text;
}

void print_result(std::string_view member, std::string const& path, std::uint64_t bytes) {
    std::string document = "{\"";
    document.append(member).append("\":");
    api::append_string(document, path);
    document.append(",\"bytes\":");
    api::append_number(document, bytes);
    std::printf("%s}\n", document.c_str());
}

int back_up(backup_options const& options) {
    int code = done;
    auto const store = open_store(options, code, true);
    if (store == nullptr) return code;
    auto const path =
        is_directory(options.file) ? options.file + "/" + name_of_moment() : options.file;
    if (path == "-") return say_wrong("a backup goes into a file, not to standard output");
    auto file = output_file::create(path, false);
    if (!file) return say_failed(file.error().message);
    auto made = store::copy_to(*store, file->descriptor(), options.compact);
    if (made) made = file->finish();
    if (!made) return say_failed(made.error().message);
    struct stat found{};
    ::stat(path.c_str(), &found);
    if (options.json)
        print_result("file", path, static_cast<std::uint64_t>(found.st_size));
    else
        base::say("backed up the store into " + path + ", " + std::to_string(found.st_size >> 20) +
                  " MiB; master.key is not in it and is to be kept elsewhere");
    return done;
}

int restore(backup_options const& options) {
    int code = done;
    auto const settings = options.settings.resolve(code);
    if (!settings) return base::say(base::severity::failure, settings.error().message), code;
    auto const& data = settings->data;
    auto const put = store::replace(data, options.file, options.force);
    if (!put) return say_failed(put.error().message);
    bool const had_key = ::access((data + "/master.key").c_str(), F_OK) == 0;
    auto const store = open_store(options, code);  // which makes a master.key where there is none
    if (store == nullptr) return code;
    struct stat found{};
    ::stat((data + "/store.mdb").c_str(), &found);
    if (put->kept_before) base::say("what was there is now " + data + "/store.mdb.before-restore");
    if (!had_key)
        base::say(base::severity::warning,
                  "there was no " + data +
                      "/master.key, so a new one was made: cursors of before are refused, and "
                      "secrets of event sources are to be set again");
    if (options.json)
        print_result("data", data, static_cast<std::uint64_t>(found.st_size));
    else
        base::say("restored " + options.file + " into " + data +
                  "; keys that were turned off after the backup are on again: latchkey keys list");
    return done;
}

}  // namespace

void add_backup(CLI::App& program, int& code) {
    auto* const command = program.add_subcommand("backup", "Copy the store, while it is used");
    auto const options = std::make_shared<backup_options>();
    options->add_to(*command);
    command->add_option("FILE", options->file, "A new file, or a directory to make one in")
        ->required();
    command->add_flag("--compact", options->compact, "Leave out free pages; takes longer");
    command->footer(
        "The copy is of one moment, on the disk when the command ends, and never replaces a file.\n"
        "master.key is not in it; without that key a backup has everything but the secrets of\n"
        "event sources, and old cursors are refused. Keep a copy of the key elsewhere.\n"
        "Example: latchkey backup /mnt/backups --data /var/lib/latchkey");
    command->callback([options, &code] { code = back_up(*options); });
}

void add_restore(CLI::App& program, int& code) {
    auto* const command = program.add_subcommand("restore", "Put a backup in the store's place");
    auto const options = std::make_shared<backup_options>();
    options->add_to(*command);
    command->add_option("FILE", options->file, "What backup made")->required();
    command->add_flag("--force", options->force, "Replace the store that is there");
    command->footer(
        "The service must be stopped. Every record of the backup is checked before it takes the\n"
        "store's place in one step. Whatever changed after the backup is as it was: keys turned\n"
        "off since then work again. Put the master.key of then into the data directory first.\n"
        "Example: latchkey restore /mnt/backups/latchkey-20260102T030405Z.mdb --data DIR");
    command->callback([options, &code] { code = restore(*options); });
}

}  // namespace latchkey::cli
