// What the command line takes, read from its one description (main.cc): completion for shells, the
// manual page, the help of a command, and the command that a misspelt word is nearest to.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace qtx::cli {

/// A script for bash, zsh or fish that completes commands, options, and the values of those that
/// take one of a list; files elsewhere.  nullopt: no such shell.
std::optional<std::string> Completion(const CLI::App& app, std::string_view shell);

/// The manual page in section 1, for man (troff with the macros of man(7)).
std::string ManualPage(const CLI::App& app, std::string_view version);

/// The help of the command that the words name, or of `app` where there are none.
/// REQUIRES: UnknownCommand finds all of them.
std::string HelpOf(const CLI::App& app, std::span<char* const> words);

/// What is wrong with the first word that must be a command, or an option of `app`, and is none:
/// "found no command 'conver'; the nearest is convert".  nullopt: there is no such word. With
/// `all` every word must be a command.
std::optional<std::string> UnknownCommand(const CLI::App& app, std::span<char* const> words,
                                          bool all = false);

}  // namespace qtx::cli
