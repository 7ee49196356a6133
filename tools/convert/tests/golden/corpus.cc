#include "corpus.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "qtx/format/element_type.h"
#include "qtx/format/limits.h"
#include "qtx/format/model.h"
#include "qtx/format/npy.h"

namespace qtx::convert::golden {
namespace {

namespace fs = std::filesystem;

// Files named stem + <i> + suffix, for i from 0 on, as many as there are.
std::vector<fs::path> Numbered(const fs::path& folder, const std::string& stem,
                               const std::string& suffix) {
  std::vector<fs::path> files;
  for (int i = 0;; ++i) {
    fs::path file = folder / (stem + std::to_string(i) + suffix);
    if (!fs::exists(file)) return files;
    files.push_back(std::move(file));
  }
}

void AddRuns(const std::string& family, const fs::path& file, std::vector<Set>* sets) {
  const fs::path folder = file.parent_path();
  if (!fs::exists(folder / "golden_tflite")) return;
  for (const auto& run : fs::directory_iterator(folder / "golden_tflite")) {
    Set set{family, folder.filename(), run.path().filename(), file};
    set.inputs = Numbered(run, "input_", ".npy");
    set.outputs = Numbered(run, "builtin_output_", ".npy");
    if (!set.outputs.empty()) sets->push_back(set);
    set.kernels = Set::Kernels::kXnnpack;
    set.outputs = Numbered(run, "xnnpack_output_", ".npy");
    if (!set.outputs.empty()) sets->push_back(set);
  }
}

// add0.tflite: add0_input0_int16.csv, add0_golden_int16.csv.  A transposed convolution's input 0 is
// the shape of its result, a constant of the model.
void AddCsv(const fs::path& file, std::vector<Set>* sets) {
  const fs::path folder = file.parent_path();
  const std::string stem = file.stem();
  Set set{"seanet", stem, "published", file};
  for (int i = 0; i < 4; ++i) {
    for (const char* type : {"int16", "int32"}) {
      const fs::path file_i = folder / (stem + "_input" + std::to_string(i) + "_" + type + ".csv");
      if (fs::exists(file_i)) set.inputs.push_back(file_i);
    }
  }
  for (const char* type : {"int16", "int32"}) {
    const fs::path golden = folder / (stem + "_golden_" + type + ".csv");
    if (fs::exists(golden)) set.outputs = {golden};
  }
  if (!set.outputs.empty()) sets->push_back(std::move(set));
}

void AddRaw(const fs::path& file, std::vector<Set>* sets) {
  const std::string stem = file.stem();
  Set set{"tflite-float-glow", stem, "published", file};
  set.inputs = Numbered(file.parent_path(), stem + ".inp", "");
  set.outputs = Numbered(file.parent_path(), stem + ".out", "");
  if (!set.outputs.empty()) sets->push_back(std::move(set));
}

Result<format::Tensor> FromCsv(const std::string& text, format::Tensor tensor) {
  std::vector<std::int64_t> values;
  std::istringstream stream(text);
  for (std::string cell; std::getline(stream, cell, ',');) {
    std::istringstream lines(cell);
    for (std::int64_t value = 0; lines >> value;) values.push_back(value);
  }
  if (static_cast<std::int64_t>(values.size()) != format::ElementCount(tensor)) {
    return Error{ErrorCode::kInvalid, "", std::to_string(values.size()) + " values"};
  }
  format::PackIntegers(values, tensor);
  return tensor;
}

// One byte of header, then the elements.
Result<format::Tensor> FromRaw(const std::string& bytes, format::Tensor tensor) {
  if (bytes.size() != tensor.bytes.size() + 1) {
    return Error{ErrorCode::kInvalid, "", std::to_string(bytes.size()) + " bytes"};
  }
  std::memcpy(tensor.bytes.data(), bytes.data() + 1, tensor.bytes.size());
  return tensor;
}

}  // namespace

std::string Set::Name() const {
  return family + "/" + model + "/" + run +
         (kernels == Kernels::kBuiltin ? " builtin" : " xnnpack");
}

std::vector<Set> Sets() {
  const fs::path corpus = fs::path(QTX_SOURCE_DIR).parent_path() / "shared/corpus";
  std::vector<Set> sets;
  for (const char* family : {"seanet", "tflite-layer", "tflite-op", "tflite-net",
                             "tflite-calibrated", "tflite-float-glow"}) {
    if (!fs::exists(corpus / family)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(corpus / family)) {
      if (entry.path().extension() != ".tflite") continue;
      if (std::string_view(family) == "seanet") {
        AddCsv(entry.path(), &sets);
      } else if (std::string_view(family) == "tflite-float-glow") {
        AddRaw(entry.path(), &sets);
      } else {
        AddRuns(family, entry.path(), &sets);
      }
    }
  }
  std::sort(sets.begin(), sets.end(),
            [](const Set& a, const Set& b) { return a.Name() < b.Name(); });
  return sets;
}

Result<format::Tensor> Load(const fs::path& file, const format::TensorType& type) {
  QTX_ASSIGN_OR_RETURN(const std::string bytes, format::ReadFile(file, format::kMaxModelBytes));
  if (file.extension() == ".npy") return format::ParseNpy(bytes);
  const auto dims = type.shape ? format::FixedDims(*type.shape) : std::nullopt;
  if (!dims) return Error{ErrorCode::kInvalid, "", "no fixed shape"};
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor,
                       format::MakeTensor(format::StorageOf(type.elem_type), *dims));
  if (file.extension() == ".csv") return FromCsv(bytes, std::move(tensor));
  return FromRaw(bytes, std::move(tensor));
}

}  // namespace qtx::convert::golden
