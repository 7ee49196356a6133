// The result of `qtx fuzz`: its text and its JSON, which `qtx report merge` reads again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/fuzz.h"
#include "qtx/format/result.h"
#include "qtx/format/text.h"

namespace qtx::cli {

struct FuzzResult {
  std::string backend;  // as --backend names it
  std::uint64_t seed = 1;
  conformance::Shard shard;
  std::string commit;  // of the program that ran
  conformance::FuzzReport report;
  std::vector<std::string> folders;  // of the findings' reproducers; empty where none is written
};

format::Printable ToText(const FuzzResult& result);
std::string ToJson(const FuzzResult& result);

/// True if the text begins as ToJson's.
bool IsFuzzResult(std::string_view text);
/// The inverse of ToJson; of a reduced model its sizes alone.  Errors: kInvalid at "where: key".
Result<FuzzResult> ReadFuzzResult(std::string_view text, const std::string& where);

/// The shards of one run as that run: counts added, findings of one cause joined.
/// Errors: kInvalid for parts of other backends, arithmetics, seeds or commits, and where a shard
/// is missing or comes twice.
Result<FuzzResult> MergeFuzzResults(std::vector<FuzzResult> parts);

}  // namespace qtx::cli
