// Prints ledgers as text and JSON. Works for converters and the quantizer, whose entries have the
// same fields.
#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "json.h"
#include "qtx/format/print.h"

namespace qtx::cli {

inline constexpr std::array<const char*, 3> kFates = {"kept", "changed", "dropped"};

/// Prints a line for each entry with a reason, then the counts; to stderr if the result goes to
/// stdout ("-").
template <typename Entry>
void PrintLedger(const std::vector<Entry>& ledger, const std::string& input,
                 const std::string& output, const std::string& size) {
  std::FILE* out = output == "-" ? stderr : stdout;
  std::array<int, 3> counts{};
  for (const Entry& entry : ledger) {
    const auto fate = static_cast<std::size_t>(entry.fate);
    ++counts[fate];
    if (entry.why.empty()) continue;
    format::Print(out, "{} {} {}: {}\n", kFates[fate], entry.value, entry.field,
                  format::Printable(entry.why, format::kMaxMessage));
  }
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
