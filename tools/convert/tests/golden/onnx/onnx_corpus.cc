#include "onnx_corpus.h"

#include <algorithm>

#include "qtx/format/limits.h"

namespace qtx::convert::golden {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> Numbered(const fs::path& folder, const std::string& stem) {
  std::vector<fs::path> files;
  for (int i = 0;; ++i) {
    fs::path file = folder / (stem + std::to_string(i) + ".pb");
    if (!fs::exists(file)) return files;
    files.push_back(std::move(file));
  }
}

void AddSets(const std::string& family, const fs::path& folder, std::vector<OnnxSet>* sets) {
  OnnxSet set{family, folder.filename(), "", folder / "model.onnx", {}, {}};
  if (!fs::exists(set.file)) return;
  const auto source = Open(set.file);
  if (!source.has_value()) return;
  const auto kind = KindOf(*source);
  if (!kind.has_value() || (*kind)->name != "qoperator") return;
  const std::size_t before = sets->size();
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    set.run = entry.path().filename();
    set.inputs = Numbered(entry, "input_");
    set.outputs = Numbered(entry, "output_");
    if (set.outputs.empty()) continue;
    set.bound = false;
    sets->push_back(set);
    set.bound = true;
    if (set.inputs.size() > 1) sets->push_back(set);
  }
  if (sets->size() == before) sets->push_back({family, set.model, "", set.file, {}, {}});
}

}  // namespace

std::string OnnxSet::Name() const {
  return family + "/" + model + "/" + run + (bound ? " bound" : "");
}

std::vector<OnnxSet> OnnxSets() {
  const fs::path corpus = fs::path(QTX_SOURCE_DIR).parent_path() / "shared/corpus";
  std::vector<OnnxSet> sets;
  for (const char* family :
       {"onnx-node", "onnx-op-onnx2c", "onnx-op-migraphx", "onnx-op-tract", "onnx-net"}) {
    if (!fs::exists(corpus / family)) continue;
    for (const auto& entry : fs::directory_iterator(corpus / family))
      AddSets(family, entry.path(), &sets);
  }
  std::ranges::sort(sets, {}, &OnnxSet::Name);
  return sets;
}

Result<format::Tensor> LoadTensorProto(const fs::path& file) {
  QTX_ASSIGN_OR_RETURN(const std::string bytes, format::ReadFile(file, format::kMaxModelBytes));
  QTX_ASSIGN_OR_RETURN(const format::TensorData data, format::ParseTensorData(bytes));
  return format::Decode(data);
}

Result<Source> OpenSet(const OnnxSet& set) {
  QTX_ASSIGN_OR_RETURN(Source source, Open(set.file));
  if (!set.bound || !source.onnx) return source;
  format::Graph& graph = source.onnx->graph;
  for (std::size_t i = 1; i < set.inputs.size() && i < graph.inputs.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(const format::Tensor tensor, LoadTensorProto(set.inputs[i]));
    graph.initializers.push_back(format::ToTensorData(graph.inputs[i].name, tensor));
  }
  graph.inputs.resize(std::min<std::size_t>(graph.inputs.size(), 1));
  return source;
}

}  // namespace qtx::convert::golden
