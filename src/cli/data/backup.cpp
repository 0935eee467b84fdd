// latchkey backup, latchkey restore: copies the whole store into one file, and back.
#include "domain/admin/backup.hpp"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "api/frame/json/json_writer.hpp"
#include "base/limits.hpp"
#include "base/system/log.hpp"
#include "cli/data/data.hpp"
#include "cli/files/output_file.hpp"
#include "cli/frame/progress.hpp"
#include "cli/frame/standard_output.hpp"
#include "cli/frame/store_command.hpp"
#include "domain/admin/check_copy.hpp"
#include "domain/admin/inspect.hpp"
#include "server/observe/operation_times.hpp"

namespace latchkey::cli {
namespace {

struct backup_options : store_command {
    std::string file;
    bool compact = false, force = false;
};

bool is_directory(std::string const& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// "latchkey-20260102T030405Z.mdb"
std::string timestamped_name() {
    auto const now = static_cast<time_t>(base::read_clocks().clock / 1000);
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

// "16 KiB", "1,234 MiB"
std::string size_text(std::uint64_t bytes) {
    return bytes < base::limits::mib ? with_commas(bytes >> 10) + " KiB"
                                     : with_commas(bytes >> 20) + " MiB";
}

// `configuration` is set once the store was opened.
int copy_store(backup_options const& options, server::config& configuration) {
    int code = done;
    auto const store = open_store(options, code, store_access::copies, &configuration);
    if (store == nullptr) return code;
    auto const path =
        is_directory(options.file) ? options.file + "/" + timestamped_name() : options.file;
    if (path == "-")
        return report_usage_error(
            "a backup cannot be written to standard output: name a file or a directory");
    auto file = output_file::create(path, existing_file::kept);
    if (!file) return report_failure(file.error().message);
    auto outcome = domain::copy_to(*store, file->descriptor(), options.compact);
    if (outcome) {
        auto const faults = domain::check_copy(file->descriptor());
        for (auto const& sentence : faults) base::log(base::severity::failure, sentence);
        if (!faults.empty())
            return report_failure("the store is damaged, so no backup was kept: " +
                                  std::string(domain::advice_on_damage));
        outcome = file->finish();
    }
    if (!outcome) return report_failure(outcome.error().message);
    struct stat status{};
    ::stat(path.c_str(), &status);
    note_outcome("the backup is " + path);
    if (options.json)
        print_result("file", path, static_cast<std::uint64_t>(status.st_size));
    else
        base::log("backed up the store into " + path + ", " +
                  size_text(static_cast<std::uint64_t>(status.st_size)) +
                  "; master.key is not in it: keep a copy of it in another place");
    return done;
}

// A running service shows the outcome in its metrics.
int back_up(backup_options const& options) {
    server::config configuration;
    auto const code = copy_store(options, configuration);
    if (configuration.data.empty() || code == usage_error) return code;
    if (auto const noted =
            server::write_backup_note(configuration.data, code == done, base::read_clocks().clock);
        !noted)
        base::log(base::severity::warning, noted.error().message);
    return code;
}

int restore(backup_options const& options) {
    int code = done;
    auto const settings = options.settings.resolve(code);
    if (!settings) return code;
    auto const& data = settings->data;
    auto const outcome = domain::replace(data, options.file, options.force);
    if (!outcome) return report_failure(outcome.error().message);
    bool const had_key = ::access((data + "/master.key").c_str(), F_OK) == 0;
    // Opening the store creates a master.key if there is none.
    auto const store = open_store(options, code, store_access::repairs);
    if (store == nullptr) return code;
    struct stat status{};
    ::stat((data + "/store.mdb").c_str(), &status);
    if (outcome->previous_kept)
        base::log("the previous store is now " + data + "/store.mdb.before-restore");
    if (!had_key)
        base::log(base::severity::warning,
                  "there was no " + data +
                      "/master.key, so a new one was made: old cursors are refused, and the "
                      "secrets of event sources must be set again");
    if (auto const ahead = store->time_ahead()) base::log(base::severity::warning, ahead->message);
    note_outcome("the store was restored into " + data);
    if (options.json)
        print_result("data", data, static_cast<std::uint64_t>(status.st_size));
    else
        base::log("restored " + options.file + " into " + data +
                  "; keys that were deactivated after the backup are active again: check them with "
                  "latchkey keys list");
    return done;
}

}  // namespace

void add_backup(CLI::App& program, int& code) {
    auto* const command =
        program.add_subcommand("backup", "Copy the store into a file, beside a running service");
    auto const options = std::make_shared<backup_options>();
    options->add_to(*command);
    command
        ->add_option("FILE", options->file,
                     "A new file, or a directory for a file with the time in its name")
        ->required();
    command->add_flag("--compact", options->compact, "Omit free pages; takes longer");
    command->footer(
        "The copy is a consistent snapshot and is on the disk when the command ends. It never\n"
        "replaces a file. Every record is checked; if the store is damaged, no file is kept\n"
        "and the exit code is 1. master.key is not in the copy: keep it in another place.\n"
        "Without it a restored store has no secrets of event sources, and old cursors are\n"
        "refused. To put the copy back: latchkey restore.\n"
        "Example: latchkey backup /mnt/backups --data /var/lib/latchkey");
    command->callback([options, &code] { code = back_up(*options); });
}

void add_restore(CLI::App& program, int& code) {
    auto* const command = program.add_subcommand(
        "restore", "Replace the store with a backup, while the service is stopped");
    auto const options = std::make_shared<backup_options>();
    options->add_to(*command);
    command->add_option("FILE", options->file, "A file that latchkey backup made")->required();
    command->add_flag("--force", options->force, "Replace an existing store");
    command->footer(
        "Stop the service first, and put the master.key of that time into the data directory.\n"
        "Every record of the backup is checked; then it replaces the store in one step. All\n"
        "changes after the backup are lost: keys that were deactivated since then are active\n"
        "again. Check the keys with latchkey keys list, then start the service.\n"
        "Example: latchkey restore /mnt/backups/latchkey-20260102T030405Z.mdb --data DIR");
    command->callback([options, &code] { code = restore(*options); });
}

}  // namespace latchkey::cli
