// Provenance of a document: the program, the machine and the command that made it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qtx::conformance {

struct Provenance {
  std::string date;     // UTC, as "2026-11-24T11:30:00Z"
  std::string version;  // of QTX
  std::string commit;   // 40 digits, with "-dirty" if files differed from it; or "unknown"
  std::string compiler, build_type;              // "GNU 12.2.0", "Release"
  std::map<std::string, std::string> libraries;  // versions of those that determine results
  std::string processor;
  std::int64_t threads = 0;                   // that the process can run at once
  std::vector<std::string> instruction_sets;  // of those that backends choose kernels by
  std::vector<std::string> command;           // words after "qtx"
  bool operator==(const Provenance&) const = default;
};

/// Name and instruction sets of this machine's processor, as the operating system lists them.
struct Processor {
  std::string name;  // "unknown" where the system gives none
  std::vector<std::string> instruction_sets;
};
Processor ThisProcessor();

/// Label and text of each fact, for people: date, qtx, build, libraries, processor, instruction
/// sets, command. Empty without a date. The texts may come from a report and are not escaped.
std::vector<std::pair<std::string_view, std::string>> Facts(const Provenance& provenance);

/// One line, printable ASCII: program, date and processor. Empty without a date.
std::string Summary(const Provenance& provenance);

/// The members that each JSON document begins with: `schema`, as "qtx/validate/1", and
/// `provenance`, with the keys that the schema in tools/cli/schema/common.schema.json defines,
/// which is left out without a date. `object` is the text of a JSON object with at least one
/// member, which follow.
std::string Document(std::string_view name, const Provenance& provenance, std::string_view object);
/// The identifier that a document of this name has under `schema`. Its number rises when a key goes
/// or changes its meaning; new keys leave it.
std::string SchemaOf(std::string_view name);

}  // namespace qtx::conformance
