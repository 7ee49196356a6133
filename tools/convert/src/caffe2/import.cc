#include "caffe2/import.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "caffe2/fill.h"
#include "caffe2/net.h"
#include "caffe2/ops.h"
#include "caffe2/value_info.h"
#include "errors.h"
#include "ledger.h"
#include "qtx/format/limits.h"

namespace qtx::convert {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kOpset = 17;
constexpr std::int64_t kIrVersion = 8;
// Limit on values that fill operators generate, so that a tiny file cannot take gigabytes.
constexpr std::int64_t kMaxRepeated = std::int64_t{1} << 26;

struct Caffe2Files {
  Caffe2Net predict;
  std::vector<Caffe2Net> init;
  std::map<std::string, format::TensorType> types;
};

// The init net's usual name beside that of the predict net; "" where the name is not a usual one.
std::string InitNameFor(const std::string& name) {
  for (const std::string stem : {"predict_net", "pred_net"}) {
    const std::size_t at = name.rfind(stem);
    if (at == std::string::npos) continue;
    return name.substr(0, at) + "init_net" + name.substr(at + stem.size());
  }
  return "";
}

// The companion files: those given, else those beside it.
std::vector<std::string> Companions(const Source& source) {
  const auto is_json = [](const std::string& path) { return path.ends_with(".json"); };
  std::vector<std::string> found = source.with;
  const fs::path path(source.path);
  std::error_code ignored;
  const fs::path init = path.parent_path() / InitNameFor(path.filename().string());
  if (std::ranges::all_of(source.with, is_json) && fs::is_regular_file(init, ignored))
    found.push_back(init.string());
  const fs::path types = path.parent_path() / "value_info.json";
  if (std::ranges::none_of(source.with, is_json) && fs::is_regular_file(types, ignored))
    found.push_back(types.string());
  return found;
}

Result<void> AddCompanion(const std::string& path, Caffe2Files& files) {
  QTX_ASSIGN_OR_RETURN(const std::string bytes, format::ReadFile(path, format::kMaxModelBytes));
  if (path.ends_with(".json")) {
    auto types = ParseValueInfo(bytes);
    if (!types.has_value()) return At(path, types.error());
    files.types = *std::move(types);
    return {};
  }
  auto net = ParseCaffe2Net(bytes);
  if (!net.has_value()) return At(path, net.error());
  // The files may be given in either order.
  if (files.predict.IsInit() && !net->IsInit()) std::swap(files.predict, *net);
  if (!net->IsInit()) {
    return Error{ErrorCode::kInvalid, path, "expected an init net, which only fills blobs"};
  }
  files.init.push_back(*std::move(net));
  return {};
}

Result<Caffe2Files> ReadFiles(const Source& source) {
  Caffe2Files files;
  QTX_ASSIGN_OR_RETURN(files.predict, ParseCaffe2Net(source.bytes()));
  for (const std::string& path : Companions(source)) QTX_RETURN_IF_ERROR(AddCompanion(path, files));
  if (files.predict.IsInit()) {
    return Error{ErrorCode::kInvalid, "",
                 "an init net, which only fills blobs; expected the predict net beside it"};
  }
  return files;
}

std::set<std::string> ReadBlobs(const Caffe2Net& net) {
  std::set<std::string> read(net.inputs.begin(), net.inputs.end());
  for (const Caffe2Operator& op : net.operators) read.insert(op.inputs.begin(), op.inputs.end());
  return read;
}

Result<void> CheckTypesAreOfInputs(const Caffe2Files& files) {
  const std::set<std::string> read = ReadBlobs(files.predict);
  for (const auto& [name, type] : files.types) {
    if (!read.contains(name))
      return Invalid("value_info '" + name + "'", "found no such input, expected one of the net");
  }
  return {};
}

// The outputs of a net that does not declare them: blobs written but never read.
std::vector<std::string> UnreadBlobs(const Caffe2Net& net) {
  const std::set<std::string> read = ReadBlobs(net);
  std::vector<std::string> unread;
  for (const Caffe2Operator& op : net.operators) {
    if (!op.outputs.empty() && !op.outputs[0].empty() && !read.contains(op.outputs[0]) &&
        !IsFill(op)) {
      unread.push_back(op.outputs[0]);
    }
  }
  return unread;
}

Result<void> Fill(const Caffe2Operator& op, Caffe2Builder& builder, std::int64_t& budget) {
  if (op.outputs.size() != 1) return Error{ErrorCode::kInvalid, op.Place(), "expected one output"};
  auto tensor = FillOf(op, budget);
  if (!tensor.has_value()) return At(op.Place(), tensor.error());
  if (op.type == "ConstantFill") budget -= format::ElementCount(*tensor);
  builder.SetConstant(op.outputs[0], *std::move(tensor));
  return {};
}

Result<Conversion> Convert(const Caffe2Files& files, const Options& options) {
  QTX_RETURN_IF_ERROR(CheckTypesAreOfInputs(files));
  Ledger ledger(options);
  Caffe2Net net = files.predict;
  if (net.outputs.empty()) {
    net.outputs = UnreadBlobs(net);
    ledger.Changed("model", "external_output", "not said; every blob that nothing reads");
  }
  Caffe2Builder builder(net, files.types, ledger);
  std::int64_t budget = kMaxRepeated;
  for (const Caffe2Net& init : files.init) {
    for (const Caffe2Operator& op : init.operators) {
      auto filled = Fill(op, builder, budget);
      if (!filled.has_value()) return At("init net", filled.error());
    }
  }
  for (const Caffe2Operator& op : net.operators) {
    QTX_RETURN_IF_ERROR(IsFill(op) ? Fill(op, builder, budget)
                                   : ConvertCaffe2Operator(builder, op));
  }
  Conversion conversion;
  QTX_ASSIGN_OR_RETURN(conversion.model.graph, builder.Finish());
  conversion.model.ir_version = kIrVersion;
  conversion.model.opset_imports = {{"", kOpset, ""},
                                    {std::string(format::kDomain), format::kVersion, ""}};
  conversion.model.producer_name = "qtx";
  conversion.ledger = ledger.Take();
  return conversion;
}

}  // namespace

bool IsCaffe2(const Source& source) {
  return !source.onnx && ParseCaffe2Net(source.bytes()).has_value();
}

Result<Conversion> ReadCaffe2(const Source& source, const Options& options) {
  QTX_ASSIGN_OR_RETURN(const Caffe2Files files, ReadFiles(source));
  return Convert(files, options);
}

}  // namespace qtx::convert
