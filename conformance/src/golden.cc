#include "golden.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "files.h"
#include "qtx/conformance/suite.h"
#include "qtx/format/limits.h"
#include "qtx/format/npy.h"

namespace qtx::conformance {
namespace {

namespace fs = std::filesystem;

std::vector<CaseValue> ValuesOf(std::vector<std::string> paths) {
  std::vector<CaseValue> values;
  for (std::string& path : paths) {
    CaseValue& value = values.emplace_back();
    value.name =
        fs::path(path).filename();  // no value has this name, so files are matched by order
    value.file = std::move(path);
  }
  return values;
}

bool HasQuantizedAveragePool(const format::Model& model) {
  const auto quantized = [](const format::ValueInfo& value) {
    return value.type && format::IsQuantized(value.type->elem_type);
  };
  return std::ranges::any_of(
             model.graph.nodes,
             [](const format::Node& node) { return node.op_type == "AveragePool"; }) &&
         (std::ranges::any_of(model.graph.values, quantized) ||
          std::ranges::any_of(model.graph.inputs, quantized));
}

// The number of inputs in the file; 1 if the size does not fit, which building the case reports.
std::int64_t RowsOf(const Case& c, const format::Model& model) {
  if (c.inputs.empty() || model.graph.inputs.empty() || !c.inputs[0].file.ends_with(".npy")) {
    return 1;
  }
  const auto& type = model.graph.inputs[0].type;
  const auto dims = type && type->shape ? format::FixedDims(*type->shape) : std::nullopt;
  if (!dims) return 1;
  const auto count = format::ElementCount(*dims);
  const auto bytes = format::ReadFile(Join(c.folder, c.inputs[0].file), format::kMaxTensorBytes);
  if (!count || *count == 0 || !bytes) return 1;
  const auto tensor = format::ParseNpy(*bytes);
  if (!tensor) return 1;
  const std::int64_t elements = format::ElementCount(*tensor);
  return elements % *count == 0 ? std::max<std::int64_t>(elements / *count, 1) : 1;
}

class Goldens {
 public:
  Goldens(std::string folder, const ModelLoader& load, std::vector<std::string>& left_out)
      : folder_(std::move(folder)), load_(load), left_out_(left_out) {}

  // `path` of the model; `alone` if its folder has no other model.
  Result<void> Add(const std::string& path, bool alone) {
    model_ = load_(Join(folder_, path));
    const fs::path file(path);
    const std::string beside = file.parent_path().generic_string();
    AddCsv(path, Join(beside, file.stem().string()));
    if (!alone) return {};
    const std::string id = beside.empty() ? NameOf(folder_) : beside;
    QTX_RETURN_IF_ERROR(AddRuns(path, id, beside));
    return AddRuns(path, id, Join(beside, "golden_tflite"));
  }
  std::vector<Case> Take() { return std::move(cases_); }

 private:
  Case Start(const std::string& path, std::string id, const std::string& arithmetic) const {
    Case c;
    c.folder = folder_;
    c.load = load_;
    c.id = std::move(id);
    c.where = Join(folder_, path);
    c.model = path;
    c.why = "third-party data: TFLite's own outputs for the model";
    c.derivation = arithmetic == "tflite" ? "output of TFLite's builtin kernels, XNNPACK kept off"
                                          : "output of TFLite with its XNNPACK delegate";
    c.arithmetics = {arithmetic};
    c.tags = {"tflite", "third-party"};
    c.close = Closeness{.relative = 1e-3,
                        .absolute = 1e-7,
                        .because = "TFLite sums floats in an order of its own; ONNX's bounds"};
    return c;
  }

  void AddCsv(const std::string& path, const std::string& stem) {
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    for (const char* type : {"int8", "uint8", "int16", "int32"}) {
      for (std::string& file : NumberedCsv(stem + "_input", type)) inputs.push_back(file);
      std::string golden = stem + "_golden_";
      golden.append(type).append(".csv");
      std::error_code status;
      if (fs::is_regular_file(Join(folder_, golden), status)) outputs.push_back(golden);
    }
    if (outputs.size() != 1) return;
    std::ranges::sort(inputs);
    Case c = Start(path, stem, "tflite");
    c.inputs = ValuesOf(std::move(inputs));
    c.outputs = ValuesOf(std::move(outputs));
    cases_.push_back(std::move(c));
  }

  // The input files of one type, whose numbers may have gaps.
  std::vector<std::string> NumberedCsv(const std::string& stem, const std::string& type) const {
    constexpr int kMaxInputs = 16;
    std::vector<std::string> files;
    for (int i = 0; i < kMaxInputs; ++i) {
      std::string file = stem + std::to_string(i);
      file.append("_").append(type).append(".csv");
      std::error_code status;
      if (fs::is_regular_file(Join(folder_, file), status)) files.push_back(std::move(file));
    }
    return files;
  }

  Result<void> AddRuns(const std::string& path, const std::string& id, const std::string& runs) {
    for (const std::string& run : FindFolders(Join(folder_, runs), "")) {
      for (const char* kernels : {"builtin", "xnnpack"}) {
        std::string name = id;
        name.append("[run=").append(run).append(",kernels=").append(kernels).append("]");
        QTX_RETURN_IF_ERROR(AddRun(path, name, Join(runs, run), kernels));
      }
    }
    return {};
  }

  Result<void> AddRun(const std::string& path, const std::string& id, const std::string& run,
                      const std::string& kernels) {
    const bool builtin = kernels == "builtin";
    Case c = Start(path, id, builtin ? "tflite" : "xnnpack");
    c.outputs = ValuesOf(NumberedFiles(folder_, run + "/" + kernels + "_output_", ".npy"));
    c.inputs = ValuesOf(NumberedFiles(folder_, run + "/input_", ".npy"));
    if (c.outputs.empty()) return {};
    if (!builtin && model_.has_value() && HasQuantizedAveragePool(*model_)) {
      left_out_.push_back(
          c.id +
          ": left out: TFLite gives its AVERAGE_POOL_2D to the builtin kernels, and "
          "a case has one arithmetic");
      return {};
    }
    const std::int64_t rows = model_.has_value() ? RowsOf(c, *model_) : 1;
    return AddRows(std::move(c), rows);
  }

  // A small int8 file may hold millions of rows, and every case reads the file again.
  Result<void> AddRows(Case c, std::int64_t rows) {
    if (rows > kMaxExpansion) {
      return Error{ErrorCode::kTooLarge, Join(c.folder, c.inputs[0].file),
                   "holds " + std::to_string(rows) + " inputs, expected at most " +
                       std::to_string(kMaxExpansion)};
    }
    if (std::ssize(cases_) + rows > kMaxCases) {
      return Error{ErrorCode::kTooLarge, folder_,
                   "found more than " + std::to_string(kMaxCases) + " cases"};
    }
    if (rows == 1) {
      cases_.push_back(std::move(c));
      return {};
    }
    const std::string id = c.id.substr(0, c.id.size() - 1);
    for (std::int64_t row = 0; row < rows; ++row) {
      c.id = id + ",row=" + std::to_string(row) + "]";
      for (std::vector<CaseValue>* values : {&c.inputs, &c.outputs}) {
        for (CaseValue& value : *values) value.row = row;
      }
      cases_.push_back(c);
    }
    return {};
  }

  std::string folder_;
  const ModelLoader& load_;
  std::vector<std::string>& left_out_;
  Result<format::Model> model_ = format::Model();
  std::vector<Case> cases_;
};

}  // namespace

Result<std::vector<Case>> FindGoldens(const std::string& folder, const ModelLoader& load,
                                      std::vector<std::string>& left_out) {
  QTX_ASSIGN_OR_RETURN(const std::vector<std::string> models, FindFiles(folder, ".tflite"));
  if (models.empty()) return std::vector<Case>{};
  std::map<std::string, int> in_folder;
  const auto beside = [](const std::string& path) {
    return fs::path(path).parent_path().generic_string();
  };
  for (const std::string& path : models) ++in_folder[beside(path)];
  Goldens goldens(folder, load, left_out);
  for (const std::string& path : models) {
    QTX_RETURN_IF_ERROR(goldens.Add(path, in_folder[beside(path)] == 1));
  }
  return goldens.Take();
}

}  // namespace qtx::conformance
