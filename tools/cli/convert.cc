// qtx convert, lower, lift: one conversion, then its ledger.
#include "qtx/convert/convert.h"

#include <fmt/core.h>

#include <array>

#include "commands.h"
#include "json.h"
#include "qtx/format/check.h"
#include "qtx/format/limits.h"

namespace qtx::cli {
namespace {

using convert::Conversion;
using convert::LedgerEntry;

constexpr std::array<const char*, 3> kFates = {"kept", "changed", "dropped"};

// The model in the extended form, whatever the kind it comes in.
Result<Conversion> ReadAsExtended(const ConvertOptions& options) {
  QTX_ASSIGN_OR_RETURN(const std::string bytes,
                       format::ReadFile(options.input, format::kMaxModelBytes));
  std::string kind = options.from;
  if (kind.empty()) {
    QTX_ASSIGN_OR_RETURN(kind, convert::DetectKind(bytes, options.input));
  }
  if (kind == "tflite") return convert::FromTflite(bytes, options.input);
  QTX_ASSIGN_OR_RETURN(format::Model model, format::Model::Load(options.input));
  if (kind != "qdq") return Conversion{std::move(model), {}};
  auto conversion = convert::FromQdq(model);
  if (!conversion.has_value()) return At(options.input, conversion.error());
  return conversion;
}

Result<Conversion> Perform(const ConvertOptions& options) {
  QTX_ASSIGN_OR_RETURN(Conversion conversion, ReadAsExtended(options));
  // Nothing that breaks the spec is written, nor handed to a converter that trusts the spec.
  if (const auto findings = format::Check(conversion.model, options.input); !findings.empty()) {
    return Error{ErrorCode::kInvalid, findings[0].where,
                 findings[0].message + " [" + findings[0].rule + "]"};
  }
  if (options.to == "qtx") return conversion;
  auto lowered = convert::ToQdq(conversion.model, {.opset = options.opset});
  if (!lowered.has_value()) return At(options.input, lowered.error());
  lowered->ledger.insert(lowered->ledger.begin(), conversion.ledger.begin(),
                         conversion.ledger.end());
  return lowered;
}

void PrintLedger(const Conversion& conversion, const ConvertOptions& options) {
  std::array<int, 3> counts{};
  for (const LedgerEntry& entry : conversion.ledger) ++counts[static_cast<std::size_t>(entry.fate)];
  for (const LedgerEntry& entry : conversion.ledger) {
    if (entry.fate == LedgerEntry::Fate::kKept) continue;
    fmt::print("{} {} {}: {}\n", kFates[static_cast<std::size_t>(entry.fate)], entry.value,
               entry.field, entry.why);
  }
  fmt::print("{} -> {}: {} nodes, {} fields kept, {} changed, {} dropped\n", options.input,
             options.output, conversion.model.graph.nodes.size(), counts[0], counts[1], counts[2]);
}

void PrintLedgerJson(const Conversion& conversion) {
  Json json;
  json.BeginObject();
  json.Array("ledger", conversion.ledger, [&json](const LedgerEntry& entry) {
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
  const auto conversion = Perform(options);
  if (!conversion.has_value()) return Fail(conversion.error(), kBadInput);
  if (auto saved = conversion->model.Save(options.output); !saved.has_value()) {
    return Fail(saved.error(), kInternal);
  }
  options.json ? PrintLedgerJson(*conversion) : PrintLedger(*conversion, options);
  return kDone;
}

}  // namespace qtx::cli
