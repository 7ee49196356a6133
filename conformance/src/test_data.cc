#include "test_data.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "files.h"
#include "model_builder.h"

namespace qtx::conformance {
namespace {

constexpr std::string_view kModel = "model.onnx";
constexpr std::string_view kSet = "test_data_set_";

// Files are matched with the model's inputs and outputs by order; no value of a model is called
// "input_0.pb".
std::vector<CaseValue> ValuesOf(const std::string& root, const std::string& set,
                                std::string_view stem) {
  std::vector<CaseValue> values;
  for (std::string& path : NumberedFiles(root, Join(set, stem), ".pb")) {
    CaseValue& value = values.emplace_back();
    value.name = path.substr(set.size() + 1);
    value.file = std::move(path);
  }
  return values;
}

// Integers must be equal: ONNX's relative tolerance of 1e-3 would let large ones differ.
Case StockCase(const std::string& folder, const std::string& test_data) {
  Case c;
  c.folder = folder;
  c.test_data = test_data;
  c.id = test_data.empty() ? NameOf(folder) : test_data;
  c.where = Join(folder, test_data);
  c.why = "third-party data: the model gives the outputs that lie beside it";
  c.derivation = "the output files of the data set";
  c.tags = {"onnx", "third-party"};
  c.arithmetics = {"exact", "float32"};
  c.or_exact = true;
  c.close = Closeness{.relative = 1e-3,
                      .absolute = 1e-7,
                      .because = "the tolerance of ONNX's own runner of these data"};
  return c;
}

}  // namespace

Result<std::vector<Case>> ExpandTestData(const Case& like) {
  if (!like.test_data.empty()) {
    QTX_RETURN_IF_ERROR(PathInFolder(like, like.test_data));
  }
  const std::string folder = Join(like.folder, like.test_data);
  const std::vector<std::string> sets = FindFolders(folder, kSet);
  std::error_code status;
  if (sets.empty() || !std::filesystem::is_regular_file(Join(folder, kModel), status)) {
    return Error{ErrorCode::kInvalid, like.where,
                 "found no model.onnx beside folders test_data_set_N in " + folder};
  }
  std::vector<Case> cases;
  for (const std::string& set : sets) {
    Case c = like;
    c.test_data.clear();
    c.model = Join(like.test_data, kModel);
    c.inputs = ValuesOf(like.folder, Join(like.test_data, set), "input_");
    c.outputs = ValuesOf(like.folder, Join(like.test_data, set), "output_");
    if (c.outputs.empty()) {
      return Error{ErrorCode::kInvalid, Join(folder, set), "found no output_0.pb"};
    }
    if (sets.size() > 1) c.id += "[set=" + set.substr(kSet.size()) + "]";
    cases.push_back(std::move(c));
  }
  return cases;
}

Result<std::vector<Case>> FindTestData(const std::string& folder) {
  QTX_ASSIGN_OR_RETURN(const std::vector<std::string> models, FindFiles(folder, ".onnx"));
  std::vector<Case> cases;
  for (const std::string& model : models) {
    const std::filesystem::path path(model);
    const std::string test_data = path.parent_path().generic_string();
    if (path.filename() != kModel || FindFolders(Join(folder, test_data), kSet).empty()) continue;
    QTX_ASSIGN_OR_RETURN(std::vector<Case> found, ExpandTestData(StockCase(folder, test_data)));
    std::ranges::move(found, std::back_inserter(cases));
  }
  return cases;
}

}  // namespace qtx::conformance
