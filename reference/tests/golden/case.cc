#include "tests/golden/case.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "qtx/format/limits.h"
#include "qtx/reference/op.h"

namespace qtx::reference::golden {
namespace {

namespace fs = std::filesystem;

struct Collection {
  std::string name;
  fs::path folder;
};

// Debian's libonnx-testdata, and the corpus beside the sources.
std::vector<Collection> Collections() {
  const fs::path corpus = fs::path(QTX_SOURCE_DIR) / ".." / "shared" / "corpus";
  std::vector<Collection> all = {{"libonnx", "/usr/share/libonnx-testdata/data/node"}};
  for (const char* name : {"onnx-node", "onnx-node-op", "onnx-op-onnx2c", "onnx-op-tract"}) {
    all.push_back({name, corpus / name});
  }
  return all;
}

bool Runnable(const format::Model& model) {
  return std::ranges::all_of(model.graph.nodes, [](const format::Node& node) {
    return FindOperator(node.domain, node.op_type) != nullptr;
  });
}

// The op_types of a model, with the domain in front unless it is ai.onnx.
std::vector<std::string> OpTypes(const format::Model& model) {
  std::set<std::string> types;
  for (const format::Node& node : model.graph.nodes) {
    const bool standard = node.domain.empty() || node.domain == "ai.onnx";
    types.insert(standard ? node.op_type : node.domain + "." + node.op_type);
  }
  return {types.begin(), types.end()};
}

void AddCollection(const Collection& collection, std::vector<NodeCase>* cases) {
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(collection.folder, absent)) {
    const fs::path path = entry.path() / "model.onnx";
    if (!fs::exists(path) || !fs::exists(entry.path() / "test_data_set_0")) continue;
    const auto model = format::Model::Load(path);
    if (!model.has_value()) continue;  // a defect of the file: tests of the format read them all
    if (!Runnable(*model)) continue;
    cases->push_back(
        {collection.name + "/" + entry.path().filename().string(), entry.path(), OpTypes(*model)});
  }
}

}  // namespace

const std::vector<NodeCase>& NodeCases() {
  static const std::vector<NodeCase> kCases = [] {
    std::vector<NodeCase> cases;
    for (const Collection& collection : Collections()) AddCollection(collection, &cases);
    std::ranges::sort(cases, {}, &NodeCase::name);
    return cases;
  }();
  return kCases;
}

std::vector<std::string> DataSets(const NodeCase& node_case) {
  std::vector<std::string> sets;
  for (const auto& entry : fs::directory_iterator(node_case.folder)) {
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_")) {
      sets.push_back(entry.path());
    }
  }
  std::ranges::sort(sets);
  return sets;
}

Result<std::vector<format::Tensor>> LoadTensors(const std::string& data_set,
                                                const std::string& prefix) {
  std::vector<format::Tensor> tensors;
  for (int i = 0;; ++i) {
    const fs::path path = fs::path(data_set) / (prefix + "_" + std::to_string(i) + ".pb");
    if (!fs::exists(path)) return tensors;
    QTX_ASSIGN_OR_RETURN(const std::string bytes, format::ReadFile(path, format::kMaxModelBytes));
    QTX_ASSIGN_OR_RETURN(const format::TensorData data, format::ParseTensorData(bytes));
    QTX_ASSIGN_OR_RETURN(format::Tensor tensor, format::Decode(data));
    tensors.push_back(std::move(tensor));
  }
}

}  // namespace qtx::reference::golden
