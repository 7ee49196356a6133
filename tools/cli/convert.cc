// qtx convert, lower, lift: one conversion, then its ledger.
#include "qtx/convert/convert.h"

#include <fmt/core.h>

#include <array>

#include "commands.h"
#include "json.h"

namespace qtx::cli {
namespace {

using convert::Export;
using convert::LedgerEntry;

constexpr std::array<const char*, 3> kFates = {"kept", "changed", "dropped"};

Result<Export> Perform(const ConvertOptions& options) {
  const convert::Options how{.allow = options.allow, .opset = options.opset};
  QTX_ASSIGN_OR_RETURN(const convert::Source source, convert::Open(options.input, options.with));
  const convert::Kind* from = convert::FindKind(options.from);
  if (from == nullptr) {
    QTX_ASSIGN_OR_RETURN(from, convert::KindOf(source));
  }
  QTX_ASSIGN_OR_RETURN(convert::Conversion conversion, convert::Read(source, *from, how));
  auto written = convert::FindKind(options.to)->write(conversion.model, how);
  if (!written.has_value()) return At(options.input, written.error());
  written->ledger.insert(written->ledger.begin(), conversion.ledger.begin(),
                         conversion.ledger.end());
  return written;
}

Result<void> Save(const Export& result, const std::string& path) {
  if (const auto* model = std::get_if<format::Model>(&result.content)) return model->Save(path);
  return format::WriteFileAtomically(path, std::get<std::string>(result.content));
}

std::string SizeOf(const Export& result) {
  if (const auto* model = std::get_if<format::Model>(&result.content))
    return fmt::format("{} nodes", model->graph.nodes.size());
  return fmt::format("{} bytes", std::get<std::string>(result.content).size());
}

void PrintLedger(const Export& result, const ConvertOptions& options) {
  std::array<int, 3> counts{};
  for (const LedgerEntry& entry : result.ledger) ++counts[static_cast<std::size_t>(entry.fate)];
  for (const LedgerEntry& entry : result.ledger) {
    if (entry.fate == LedgerEntry::Fate::kKept) continue;
    fmt::print("{} {} {}: {}\n", kFates[static_cast<std::size_t>(entry.fate)], entry.value,
               entry.field, entry.why);
  }
  fmt::print("{} -> {}: {}, {} fields kept, {} changed, {} dropped\n", options.input,
             options.output, SizeOf(result), counts[0], counts[1], counts[2]);
}

void PrintLedgerJson(const Export& result) {
  Json json;
  json.BeginObject();
  json.Array("ledger", result.ledger, [&json](const LedgerEntry& entry) {
    json.BeginObject();
    json.Field("value", entry.value);
    json.Field("field", entry.field);
    json.Field("fate", kFates[static_cast<std::size_t>(entry.fate)]);
    json.Field("why", entry.why);
    json.EndObject();
  });
  json.EndObject();
  fmt::print("{}", json.Text());
}

}  // namespace

int Convert(const ConvertOptions& options) {
  const auto result = Perform(options);
  if (!result.has_value()) return Fail(result.error(), kBadInput);
  if (auto saved = Save(*result, options.output); !saved.has_value()) {
    return Fail(saved.error(), kInternal);
  }
  options.json ? PrintLedgerJson(*result) : PrintLedger(*result, options);
  return kDone;
}

}  // namespace qtx::cli
