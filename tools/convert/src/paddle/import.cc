#include "paddle/import.h"

#include <algorithm>
#include <filesystem>

#include "paddle/builder.h"
#include "paddle/ops.h"
#include "qdq/fold.h"
#include "qtx/format/inference.h"
#include "qtx/format/limits.h"

namespace qtx::convert {
namespace {

namespace fs = std::filesystem;
using paddle::Builder;
using paddle::Op;
using paddle::Params;
using paddle::Program;

// The opset in which every node written here has its present form; Q and DQ of 16 bits among them.
constexpr std::int64_t kOpset = 21;
constexpr std::int64_t kIrVersion = 10;

bool HasParams(const Program& program) {
  return std::ranges::any_of(program.vars, [](const auto& entry) {
    return entry.second.persistable && entry.second.tensor;
  });
}

fs::path ParamsOf(const Source& source) {
  if (!source.with.empty()) return source.with[0];
  const fs::path path = source.path;
  fs::path combined = path;
  combined.replace_extension(".pdiparams");
  std::error_code failed;
  if (combined != path && fs::exists(combined, failed)) return combined;
  fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (fs::exists(folder / "__params__", failed)) return folder / "__params__";
  return folder;
}

Result<Params> ParamsFor(const Program& program, const Source& source) {
  if (!HasParams(program)) return Params();
  const fs::path path = ParamsOf(source);
  std::error_code failed;
  if (fs::is_directory(path, failed)) return paddle::LoadParams(program, path.string());
  QTX_ASSIGN_OR_RETURN(const auto file,
                       format::FileBytes::Open(path.string(), format::kMaxTensorBytes));
  auto params = paddle::ParseParams(program, file.view());
  if (!params.has_value()) return At(path.filename().string(), params.error());
  return params;
}

// `col` of feed and fetch is the position of the input or output.
Result<void> AddInputs(Builder& builder, const Program& program) {
  std::map<std::int64_t, std::string> feeds;
  for (const Op& op : program.ops) {
    if (op.type != "feed") continue;
    const auto out = op.outputs.find("Out");
    if (out == op.outputs.end() || out->second.size() != 1 ||
        !feeds.emplace(op.Int("col", 0), out->second[0]).second)
      return Error{ErrorCode::kInvalid, op.Name(), "has no output, or one that another feed has"};
    QTX_RETURN_IF_ERROR(op.CheckTypes());
  }
  for (const auto& [column, var] : feeds) QTX_RETURN_IF_ERROR(builder.AddInput(var));
  return {};
}

Result<void> AddNodes(Builder& builder, const Program& program) {
  bool fetched = false;
  for (const Op& op : program.ops) {
    if (op.type == "feed") continue;
    if (op.type != "fetch") {
      QTX_RETURN_IF_ERROR(ConvertOp(builder, op));
      continue;
    }
    builder.Begin(op);
    QTX_RETURN_IF_ERROR(builder.In(op, "X"));
    QTX_ASSIGN_OR_RETURN(const std::string var, builder.VarOf(op, "X"));
    builder.AddOutput(var, op.Int("col", 0));
    QTX_RETURN_IF_ERROR(op.CheckTypes());
    fetched = true;
  }
  if (fetched) return {};
  return Error{ErrorCode::kInvalid, "program",
               "the program has no fetch, so it is not for inference"};
}

}  // namespace

bool IsPaddle(const Source& source) {
  return !source.onnx && paddle::LooksLikeProgram(source.bytes());
}

Result<Conversion> ReadPaddle(const Source& source, const Options& options) {
  QTX_ASSIGN_OR_RETURN(const Program program, paddle::ParseProgram(source.bytes()));
  QTX_ASSIGN_OR_RETURN(const Params params, ParamsFor(program, source));
  Ledger ledger(options);
  Builder builder(program, params, ledger);
  QTX_RETURN_IF_ERROR(AddInputs(builder, program));
  QTX_RETURN_IF_ERROR(AddNodes(builder, program));
  format::Model model;
  model.ir_version = kIrVersion;
  model.opset_imports = {{"", kOpset}, {std::string(format::kDomain), format::kVersion}};
  model.producer_name = "qtx";
  model.graph = builder.Finish();
  Conversion conversion;
  QTX_ASSIGN_OR_RETURN(const format::Model folded, FoldPairs(model, /*as_recorded=*/false, ledger));
  conversion.model = format::WithInferredTypes(folded);
  conversion.ledger = ledger.Take();
  return conversion;
}

}  // namespace qtx::convert
