// Prints ledgers as text and JSON. Works for converters and the quantizer, whose entries have the
// same fields.
#pragma once

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "json.h"
#include "qtx/format/print.h"

namespace qtx::cli {

inline constexpr std::array<const char*, 3> kFates = {"kept", "changed", "dropped"};

/// The entries with a reason, those of one fate and field together, in the order of the first.
template <typename Entry>
std::vector<std::vector<const Entry*>> Grouped(const std::vector<Entry>& ledger) {
  std::vector<std::vector<const Entry*>> groups;
  std::map<std::pair<int, std::string>, std::size_t> places;
  for (const Entry& entry : ledger) {
    if (entry.why.empty()) continue;
    const auto key = std::pair(static_cast<int>(entry.fate), entry.field);
    const auto place = places.emplace(key, groups.size()).first->second;
    if (place == groups.size()) groups.emplace_back();
    groups[place].push_back(&entry);
  }
  return groups;
}

template <typename Entry>
void PrintEntry(std::FILE* out, const Entry& entry) {
  format::Print(out, "{} {} {}: {}\n", kFates[static_cast<std::size_t>(entry.fate)], entry.value,
                entry.field, format::Printable(entry.why, format::kMaxMessage));
}

/// Prints a line for each group of entries, the first of which it tells; at most kMaxGroups.
template <typename Entry>
void PrintGroups(std::FILE* out, const std::vector<Entry>& ledger) {
  constexpr std::size_t kMaxGroups = 24;
  const auto groups = Grouped(ledger);
  std::size_t untold = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Entry& first = *groups[i].front();
    if (i >= kMaxGroups) {
      untold += groups[i].size();
    } else if (groups[i].size() == 1) {
      PrintEntry(out, first);
    } else {
      untold += groups[i].size() - 1;
      format::Print(out, "{} {} of {} values, first {}: {}\n",
                    kFates[static_cast<std::size_t>(first.fate)], first.field, groups[i].size(),
                    first.value, format::Printable(first.why, format::kMaxMessage));
    }
  }
  if (untold > 0) format::Print(out, "--ledger lists {} more\n", untold);
}

/// Prints the ledger, `all` of it or a summary, then the counts; to stderr if the result goes to
/// stdout ("-").
template <typename Entry>
void PrintLedger(const std::vector<Entry>& ledger, bool all, const std::string& input,
                 const std::string& output, const std::string& size) {
  std::FILE* out = TextStream(output);
  std::array<int, 3> counts{};
  for (const Entry& entry : ledger) {
    ++counts[static_cast<std::size_t>(entry.fate)];
    if (all && !entry.why.empty()) PrintEntry(out, entry);
  }
  if (!all) PrintGroups(out, ledger);
  format::Print(out, "{} -> {}: {}, {} fields kept, {} changed, {} dropped\n", input, output, size,
                counts[0], counts[1], counts[2]);
}

/// Writes "ledger": [...] into an open object.
template <typename Entry>
void WriteLedger(const std::vector<Entry>& ledger, Json& json) {
  json.Array("ledger", ledger, [&json](const Entry& entry) {
    json.BeginObject();
    json.Field("value", entry.value);
    json.Field("field", entry.field);
    json.Field("fate", kFates[static_cast<std::size_t>(entry.fate)]);
    json.Field("why", entry.why);
    json.EndObject();
  });
}

}  // namespace qtx::cli
