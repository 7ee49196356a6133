#include "command_tree.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace qtx::cli {
namespace {

std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// nullptr: none of that name.
const CLI::App* CommandOf(const CLI::App& app, std::string_view name) {
  const auto commands = CommandsOf(app);
  const auto found = std::ranges::find(commands, name, &CLI::App::get_name);
  return found == commands.end() ? nullptr : *found;
}

struct Choice {
  std::vector<std::string> names;   // "-o", "--output"
  std::vector<std::string> values;  // one of which it takes; empty: any text, or none for a flag
  bool takes_value = false;
  std::string description;
};

// Of "TEXT:{a,b}": a, b.
std::vector<std::string> ListedValues(const std::string& type_name) {
  const std::size_t begin = type_name.find(":{"), end = type_name.rfind('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return CLI::detail::split(type_name.substr(begin + 2, end - begin - 2), ',');
}

// Without those of a position.
std::vector<Choice> ChoicesOf(const CLI::App& app) {
  std::vector<Choice> choices;
  for (const CLI::Option* option : app.get_options()) {
    Choice choice;
    for (const std::string& name : option->get_snames()) choice.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) choice.names.push_back("--" + name);
    if (choice.names.empty()) continue;
    choice.takes_value = option->get_items_expected_max() > 0;
    if (choice.takes_value) choice.values = ListedValues(option->get_type_name());
    choice.description = option->get_description();
    choices.push_back(std::move(choice));
  }
  return choices;
}

bool TakesFiles(const CLI::App& app) {
  return std::ranges::any_of(app.get_options(),
                             [](const CLI::Option* option) { return option->get_positional(); });
}

struct Command {
  std::string path;  // "qtx spec run"
  const CLI::App* app = nullptr;
};

void Collect(const CLI::App& app, const std::string& path, std::vector<Command>& all) {
  all.push_back({path, &app});
  for (const CLI::App* command : CommandsOf(app))
    Collect(*command, path + " " + command->get_name(), all);
}

std::vector<Command> AllCommands(const CLI::App& app) {
  std::vector<Command> all;
  Collect(app, app.get_name(), all);
  return all;
}

std::string Joined(const std::vector<std::string>& words, std::string_view between = " ") {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : between).append(word);
  return text;
}

// The words that may come next: commands and options.
std::string NextWords(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* command : CommandsOf(app)) words.push_back(command->get_name());
  for (const Choice& choice : ChoicesOf(app))
    words.insert(words.end(), choice.names.begin(), choice.names.end());
  return Joined(words);
}

// In single quotes of bash, zsh and fish, whose ways with a quote inside differ: none is kept.
std::string Quoted(std::string text) {
  std::ranges::replace(text, '\'', '`');
  std::erase(text, '\\');
  return "'" + text + "'";
}

// Quoted patterns of `case`, all of `paths`.
std::string Patterns(const std::vector<std::string>& paths, std::string_view between) {
  std::vector<std::string> quoted(paths.size());
  std::ranges::transform(paths, quoted.begin(), Quoted);
  return Joined(quoted, between);
}

// Without help, after which come the words of any command.
std::vector<std::string> SubcommandPaths(const std::vector<Command>& commands) {
  std::vector<std::string> paths;
  for (std::size_t i = 1; i < commands.size(); ++i) {
    if (commands[i].app->get_name() != "help") paths.push_back(commands[i].path);
  }
  return paths;
}

// What differs between bash and zsh, whose `case` is the same.
struct Dialect {
  std::string head, tail;
  std::string_view offer, files;  // commands that offer words, and files
};

// `said` is the command so far, `last` the word before.
std::string CaseScript(const CLI::App& app, const Dialect& shell) {
  const std::vector<Command> commands = AllCommands(app);
  std::string text = shell.head;
  const auto find = text.find("@commands@");
  text.replace(find, std::string_view("@commands@").size(),
               Patterns(SubcommandPaths(commands), "|"));
  text += "  case \"$said $last\" in\n";
  for (const Command& command : commands) {
    for (const Choice& choice : ChoicesOf(*command.app)) {
      if (!choice.takes_value) continue;
      std::vector<std::string> paths;
      for (const std::string& name : choice.names) paths.push_back(command.path + " " + name);
      text +=
          "    (" + Patterns(paths, "|") + ") " +
          (choice.values.empty() ? std::string(shell.files)
                                 : std::string(shell.offer) + " " + Quoted(Joined(choice.values))) +
          "; return;;\n";
    }
  }
  text += "  esac\n  case \"$said\" in\n";
  for (const Command& command : commands) {
    text += "    (" + Quoted(command.path) + ") " + std::string(shell.offer) + " " +
            Quoted(NextWords(*command.app));
    if (TakesFiles(*command.app)) text += "; [[ $current == -* ]] || " + std::string(shell.files);
    text += ";;\n";
  }
  return text + "  esac\n" + shell.tail;
}

std::string BashCompletion(const CLI::App& app) {
  return CaseScript(app, {.head = R"(# Completion of qtx for bash: source it, or put it into
# /usr/share/bash-completion/completions/qtx.
_qtx_offer() {
  local word
  while read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$1" -- "$current")
}
_qtx_files() {
  local word
  compopt -o filenames 2>/dev/null
  while read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
}
_qtx() {
  local current=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} said=qtx word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$said $word" in
      (@commands@) said="$said $word";;
    esac
  done
  COMPREPLY=()
)",
                          .tail = "}\ncomplete -F _qtx qtx\n",
                          .offer = "_qtx_offer",
                          .files = "_qtx_files"});
}

std::string ZshCompletion(const CLI::App& app) {
  return CaseScript(app,
                    {.head = R"(#compdef qtx
# Completion of qtx for zsh: the file _qtx in a folder of $fpath.
_qtx_offer() { compadd -- ${=1}; }
_qtx() {
  local current=$words[CURRENT] last=$words[CURRENT-1] said=qtx
  integer i
  for (( i = 2; i < CURRENT; i++ )); do
    case "$said $words[i]" in
      (@commands@) said="$said $words[i]";;
    esac
  done
)",
                     .tail = "}\nif [[ $funcstack[1] == _qtx ]]; then _qtx \"$@\"; else compdef "
                             "_qtx qtx; fi\n",
                     .offer = "_qtx_offer",
                     .files = "_files"});
}

std::string FishCompletion(const CLI::App& app) {
  const std::vector<Command> commands = AllCommands(app);
  std::string text =
      R"(# Completion of qtx for fish: put it into ~/.config/fish/completions/qtx.fish.
function __qtx_said
  set -l said qtx
  for word in (commandline -opc)[2..-1]
    switch "$said $word"
      case )" +
      Patterns(SubcommandPaths(commands), " ") +
      R"(
        set said "$said $word"
    end
  end
  test "$said" = "$argv"
end
)";
  for (const Command& command : commands) {
    const std::string begin = "complete -c qtx -n \"__qtx_said " + Quoted(command.path) + "\"";
    if (!TakesFiles(*command.app)) text += begin + " -f\n";
    for (const CLI::App* below : CommandsOf(*command.app)) {
      text += begin + " -a " + below->get_name() + " -d " + Quoted(below->get_description()) + "\n";
    }
    for (const Choice& choice : ChoicesOf(*command.app)) {
      text += begin;
      for (const std::string& name : choice.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (choice.takes_value) text += " -r";
      if (!choice.values.empty()) text += " -f -a " + Quoted(Joined(choice.values));
      text += " -d " + Quoted(choice.description) + "\n";
    }
  }
  return text;
}

// Text of a line: no request, no escape; a hyphen that can be searched for and copied.
std::string Troff(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\\') {
      line += "\\e";
    } else if (c == '-') {
      line += "\\-";
    } else {
      line += c == '\n' ? ' ' : c;
    }
  }
  return line.starts_with('.') || line.starts_with('\'') ? "\\&" + line : line;
}

// What an option's type says beside its name: "One of a, b." of "TEXT:{a,b}".
std::string Limits(const std::string& type_name) {
  const std::vector<std::string> values = ListedValues(type_name);
  if (!values.empty()) return " One of " + Joined(values, ", ") + ".";
  const std::size_t range = type_name.find(" in [");
  return range == std::string::npos ? "" : " A number" + type_name.substr(range) + ".";
}

std::string ManualOfOptions(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    std::string name = option->get_name(/*positional=*/option->get_positional(),
                                        /*all_options=*/!option->get_positional());
    std::ranges::replace(name, ',', ' ');
    const std::string type = option->get_type_name();
    const bool takes_value = option->get_items_expected_max() > 0;
    text += ".TP\n\\fB" + Troff(name) + "\\fR";
    if (takes_value) text += " \\fI" + Troff(type.substr(0, type.find(':'))) + "\\fR";
    text += "\n" + Troff(option->get_description()) + ".";
    if (takes_value) text += Troff(Limits(type));
    if (!option->get_default_str().empty())
      text += Troff(" Default: " + option->get_default_str() + ".");
    text += "\n";
  }
  return text;
}

// The least number of letters to add, drop or change.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, change}));
    }
  }
  return row.back();
}

// "; the nearest is convert", where two letters at most are wrong, at most half of them.
std::string NearestOf(const std::vector<const CLI::App*>& commands, std::string_view word) {
  constexpr std::size_t kMostWrong = 2;
  const auto distance = [word](const CLI::App* command) {
    return EditDistance(word, command->get_name());
  };
  const auto nearest = std::ranges::min_element(commands, {}, distance);
  if (nearest == commands.end() || distance(*nearest) > kMostWrong ||
      2 * distance(*nearest) > word.size()) {
    return "";
  }
  return "; the nearest is " + (*nearest)->get_name();
}

}  // namespace

std::optional<std::string> Completion(const CLI::App& app, std::string_view shell) {
  if (shell == "bash") return BashCompletion(app);
  if (shell == "zsh") return ZshCompletion(app);
  if (shell == "fish") return FishCompletion(app);
  return std::nullopt;
}

std::string ManualPage(const CLI::App& app, std::string_view version) {
  const std::vector<Command> commands = AllCommands(app);
  std::string text = ".TH QTX 1 \"\" \"qtx " + Troff(version) + "\" \"User Commands\"\n";
  text += ".SH NAME\nqtx \\- " + Troff(app.get_description()) + "\n";
  text += ".SH SYNOPSIS\n.B qtx\n.I COMMAND\n[\\fIOPTIONS\\fR]\n.SH OPTIONS\n";
  text += ManualOfOptions(app) + ".SH COMMANDS\n";
  for (std::size_t i = 1; i < commands.size(); ++i) {
    const CLI::App& command = *commands[i].app;
    text += ".SS " + Troff(commands[i].path) + "\n" + Troff(command.get_description()) + ".\n";
    text += ManualOfOptions(command);
  }
  return text;
}

std::string HelpOf(const CLI::App& app, std::span<char* const> words) {
  const CLI::App* command = &app;
  std::string above;
  for (const std::string_view word : words) {
    above += (above.empty() ? "" : " ") + command->get_name();
    command = CommandOf(*command, word);
  }
  return command->help(above);
}

std::optional<std::string> UnknownCommand(const CLI::App& app, std::span<char* const> words,
                                          bool all) {
  const CLI::App* at = &app;
  for (const std::string word : words) {
    const auto commands = CommandsOf(*at);
    if (!all && word.starts_with('-')) {
      // Those of a command are the parser's.
      if (at != &app || app.get_option_no_throw(word) != nullptr) return std::nullopt;
      return "found no option '" + word + "'";
    }
    if (!all && commands.empty()) return std::nullopt;
    if (const CLI::App* command = CommandOf(*at, word); command != nullptr) {
      at = command;
      continue;
    }
    return "found no command '" + word + "'" + NearestOf(commands, word);
  }
  return std::nullopt;
}

}  // namespace qtx::cli
