// latchkey completion: scripts for bash, zsh and fish, made from the table of commands.
#include "cli/words/completion.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "cli/words/command_table.hpp"
#include "cli/words/command_texts.hpp"

namespace latchkey::cli {
namespace {

// Within single quotes of a shell.
std::string shell_quoted(std::string_view text) {
    std::string result = "'";
    for (char const byte : text) byte == '\'' ? result.append("'\\''") : result.append(1, byte);
    return result.append("'");
}

// fish has backslashes within single quotes.
std::string fish_quoted(std::string_view text) {
    std::string result = "'";
    for (char const byte : text) {
        if (byte == '\'' || byte == '\\') result.push_back('\\');
        result.push_back(byte);
    }
    return result.append("'");
}

// The place of a command in the scripts: " keys create".
std::string place_of(command_entry const& entry) {
    return entry.words.empty() ? std::string() : " " + entry.joined(" ");
}

bool has_argument(command_entry const& entry, bool option_entry::* is_kind) {
    return std::ranges::any_of(options_of(*entry.command), [&](option_entry const& option) {
        return option.flags.empty() && option.*is_kind;
    });
}

// What the scripts of bash and zsh ask about the arguments of a command.
std::string kinds_of(command_entry const& entry) {
    return std::string(has_argument(entry, &option_entry::is_file) ? " files=1" : "") +
           (has_argument(entry, &option_entry::is_key_id) ? " ids=1" : "");
}

std::string joined_words(std::vector<std::string> const& words) {
    std::string text;
    for (auto const& word : words) text.append(text.empty() ? "" : " ").append(word);
    return text;
}

std::string quoted_words(option_entry const& option) {
    std::string text;
    for (auto const& word : option.choices)
        text.append(text.empty() ? "" : " ").append(shell_quoted(word));
    return text;
}

// Lines of a `case` that advance from one command to the next.
std::string steps_of(std::vector<command_entry> const& commands, std::string_view variable) {
    std::string text;
    for (auto const& each : commands)
        if (!each.words.empty())
            text += "      " + shell_quoted(place_of(each)) + ") " + std::string(variable) + "=" +
                    shell_quoted(place_of(each)) + ";;\n";
    return text;
}

// Lines of a `case` for what follows an option that takes a value.
template <class Files, class Choices>
std::string values_of(std::vector<command_entry> const& commands, Files files, Choices choices) {
    std::string text;
    for (auto const& each : commands)
        for (auto const& option : options_of(*each.command)) {
            if (option.type.empty()) continue;
            for (auto const& flag : option.flags) {
                text += "    " + shell_quoted(place_of(each) + "/" + flag) + ") ";
                if (option.is_file)
                    text += files() + " ";
                else if (!option.choices.empty())
                    text += choices(option) + " ";
                text += "return;;\n";
            }
        }
    return text;
}

std::vector<std::string> offers_of(command_entry const& entry) {
    std::vector<std::string> words;
    for (auto const* const each : shown_commands(*entry.command)) words.push_back(each->get_name());
    for (auto const& option : options_of(*entry.command)) {
        words.insert(words.end(), option.flags.begin(), option.flags.end());
        if (option.flags.empty())
            words.insert(words.end(), option.choices.begin(), option.choices.end());
    }
    return words;
}

// bash takes a colon as the end of a word: the words are put together again, and of what is offered
// only what follows the last colon is given to it.
constexpr char bash_words[] =
    "  local -a before=()\n"
    "  local cur= word\n"
    "  for word in \"${COMP_WORDS[@]:0:COMP_CWORD+1}\"; do\n"
    "    if [[ $word == :* || $cur == *: ]]; then cur+=$word; else before+=(\"$cur\") cur=$word; "
    "fi\n"
    "  done\n"
    "  before=(\"${before[@]:1}\")\n";

// Offers the words for the last element of a list with commas.
constexpr char bash_list[] =
    "_latchkey_list() {\n"
    "  local begin= colon=\n"
    "  [[ $cur != *,* ]] || begin=${cur%,*},\n"
    "  [[ $COMP_WORDBREAKS != *:* || $cur != *:* ]] || colon=${cur%:*}:\n"
    "  mapfile -t COMPREPLY < <(compgen -P \"$begin\" -W \"$1\" -- \"${cur##*,}\")\n"
    "  COMPREPLY=(\"${COMPREPLY[@]#\"$colon\"}\")\n"
    "  compopt -o nospace +o filenames 2> /dev/null || :\n"
    "}\n";

// The ids of keys, each with its name behind a tab, of the store or the service that the words and
// the environment name. Nothing is offered where that takes longer than a person waits, or asks for
// a key. For bash and zsh.
constexpr char shell_ids[] =
    "_latchkey_ids() {\n"
    "  local -a places=()\n"
    "  while (($# > 0)); do\n"
    "    case $1 in\n"
    "    --data=*|--config=*|--url=*|--key-file=*|--ca-file=*) places+=(\"$1\");;\n"
    "    --data|--config|--url|--key-file|--ca-file) places+=(\"$1\" \"$2\");;\n"
    "    esac\n"
    "    shift\n"
    "  done\n"
    "  timeout 2 latchkey keys ids \"${places[@]}\" 2> /dev/null < /dev/null\n"
    "}\n";

constexpr char fish_ids[] =
    "function __latchkey_ids\n"
    "  set -l places\n"
    "  set -l words (commandline -opc)\n"
    "  for i in (seq (count $words))\n"
    "    switch $words[$i]\n"
    "      case '--data=*' '--config=*' '--url=*' '--key-file=*' '--ca-file=*'\n"
    "        set -a places $words[$i]\n"
    "      case --data --config --url --key-file --ca-file\n"
    "        set -a places $words[$i..(math $i + 1)]\n"
    "    end\n"
    "  end\n"
    "  timeout 2 latchkey keys ids $places 2> /dev/null < /dev/null\n"
    "end\n";

}  // namespace

std::string bash_completion(CLI::App const& program) {
    auto const commands = all_commands(program);
    auto text = std::string("# bash completion of latchkey: source <(latchkey completion bash)\n") +
                bash_list + shell_ids + "_latchkey() {\n" + bash_words +
                "  local place= words= files= ids=\n"
                "  for word in \"${before[@]}\"; do\n"
                "    case \"$place $word\" in\n" +
                steps_of(commands, "place") +
                "    esac\n"
                "  done\n"
                "  COMPREPLY=()\n"
                "  case \"$place/${before[-1]}\" in\n";
    text += values_of(
        commands, [] { return std::string("mapfile -t COMPREPLY < <(compgen -f -- \"$cur\");"); },
        [](option_entry const& option) {
            auto const words = shell_quoted(joined_words(option.choices));
            return option.is_list ? "_latchkey_list " + words + ";"
                                  : "COMPREPLY=($(compgen -W " + words + " -- \"$cur\"));";
        });
    text += "  esac\n  case \"$place\" in\n";
    for (auto const& each : commands)
        text += "    " + shell_quoted(place_of(each)) +
                ") words=" + shell_quoted(joined_words(offers_of(each))) + kinds_of(each) + ";;\n";
    return text +
           "  esac\n"
           "  [[ -z $ids || $cur == -* ]] || words+=\" $(_latchkey_ids \"${before[@]}\" | cut -f "
           "1)\"\n"
           "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
           "  [[ -z $files || $cur == -* ]] ||\n"
           "    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$cur\")\n"
           "}\n"
           "complete -o filenames -F _latchkey latchkey\n";
}

std::string zsh_completion(CLI::App const& program) {
    auto const commands = all_commands(program);
    auto text = std::string(
                    "#compdef latchkey\n"
                    "# zsh completion of latchkey: source <(latchkey completion zsh)\n") +
                shell_ids +
                "_latchkey() {\n"
                "  local place= files= ids=\n"
                "  local -a entries keys\n"
                "  local -i i\n"
                "  for ((i = 2; i < CURRENT; i++)); do\n"
                "    case \"$place ${words[i]}\" in\n" +
                steps_of(commands, "place") +
                "    esac\n"
                "  done\n"
                "  case \"$place/${words[CURRENT-1]}\" in\n";
    text += values_of(
        commands, [] { return std::string("_files;"); },
        [](option_entry const& option) {
            return option.is_list
                       ? "compset -P '*,'; compadd -S '' -- " + quoted_words(option) + ";"
                       : "compadd -- " + quoted_words(option) + ";";
        });
    text += "  esac\n  case \"$place\" in\n";
    auto const entry = [](std::string const& word, std::string description) {
        std::ranges::replace(description, ':', ' ');
        return "\n      " + shell_quoted(word + ":" + description);
    };
    for (auto const& each : commands) {
        text += "    " + shell_quoted(place_of(each)) + ") entries=(";
        for (auto const* const command : shown_commands(*each.command))
            text += entry(command->get_name(), command->get_description());
        for (auto const& option : options_of(*each.command)) {
            for (auto const& flag : option.flags) text += entry(flag, option.description);
            for (auto const& choice : option.choices)
                if (option.flags.empty()) text += entry(choice, option.description);
        }
        text += ")" + kinds_of(each) + ";;\n";
    }
    return text +
           "  esac\n"
           "  [[ -z $files || ${words[CURRENT]} == -* ]] || _files\n"
           "  if [[ -n $ids && ${words[CURRENT]} != -* ]]; then\n"
           "    keys=(${${(f)\"$(_latchkey_ids \"${words[@]}\")\"}/$'\\t'/:})\n"
           "    _describe -t keys 'key' keys\n"
           "  fi\n"
           "  _describe -t commands 'latchkey' entries\n"
           "}\n"
           "if [[ ${funcstack[1]} == _latchkey ]]; then _latchkey \"$@\"; else compdef _latchkey "
           "latchkey; fi\n";
}

std::string fish_completion(CLI::App const& program) {
    auto const commands = all_commands(program);
    std::string text =
        "# fish completion of latchkey: latchkey completion fish | source\n"
        "function __latchkey_at\n"
        "  set -l place\n"
        "  for word in (commandline -opc)[2..]\n"
        "    switch \"$place $word\"\n";
    for (auto const& each : commands)
        if (!each.words.empty())
            text += "      case " + fish_quoted(place_of(each)) + "\n        set place " +
                    fish_quoted(place_of(each)) + "\n";
    text +=
        "    end\n"
        "  end\n"
        "  test \"$place\" = \"$argv[1]\"\n"
        "end\n"
        "function __latchkey_list\n"
        "  set -l head (string replace -r '[^,]*$' '' -- (commandline -ct))\n"
        "  printf '%s\\n' \"$head\"$argv\n"
        "end\n";
    text += fish_ids;
    text += "complete -c latchkey -f\n";
    for (auto const& each : commands) {
        auto const begin = "complete -c latchkey -n " +
                           fish_quoted("__latchkey_at " + fish_quoted(place_of(each)));
        for (auto const* const command : shown_commands(*each.command))
            text += begin + " -a " + command->get_name() + " -d " +
                    fish_quoted(command->get_description()) + "\n";
        for (auto const& option : options_of(*each.command)) {
            for (auto const& flag : option.flags) {
                text += begin + " -l " + flag.substr(2) + " -d " + fish_quoted(option.description);
                if (option.is_file)
                    text += " -r -F";
                else if (option.is_list)
                    text +=
                        " -x -a " + fish_quoted("(__latchkey_list " + quoted_words(option) + ")");
                else if (!option.choices.empty())
                    text += " -x -a " + fish_quoted(joined_words(option.choices));
                else if (!option.type.empty())
                    text += " -x";
                text += "\n";
            }
            if (option.flags.empty() && !option.choices.empty())
                text += begin + " -a " + fish_quoted(joined_words(option.choices)) + "\n";
        }
        if (has_argument(each, &option_entry::is_file)) text += begin + " -F\n";
        if (has_argument(each, &option_entry::is_key_id))
            text += begin + " -a '(__latchkey_ids)'\n";
    }
    return text;
}

void add_completion(CLI::App& program, int& code) {
    auto* const command = program.add_subcommand(
        "completion", "Print a script with which a shell completes commands and options");
    auto const shell = std::make_shared<std::string>();
    command->add_option("SHELL", *shell, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    command->footer(
        "The package installs all three. By hand:\n"
        "  bash   source <(latchkey completion bash)      in ~/.bashrc\n"
        "  zsh    source <(latchkey completion zsh)       in ~/.zshrc, after compinit\n"
        "  fish   latchkey completion fish | source       in ~/.config/fish/config.fish\n"
        "Example: latchkey completion bash > ~/.local/share/bash-completion/completions/latchkey");
    command->callback([shell, &program, &code] {
        auto const text = *shell == "bash"  ? bash_completion(program)
                          : *shell == "zsh" ? zsh_completion(program)
                                            : fish_completion(program);
        std::fputs(text.c_str(), stdout);
        code = done;
    });
}

}  // namespace latchkey::cli
