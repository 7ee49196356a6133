#include "gguf/decoder_graph.h"

#include <iterator>
#include <optional>
#include <utility>

#include "decoder/build.h"
#include "decoder/metadata.h"
#include "errors.h"

namespace qtx::convert::gguf {
namespace {

using decoder::Metadata;
using decoder::Weights;

constexpr std::string_view kArchitecture = "general.architecture";

std::optional<decoder::MetadataValue> ValueOf(const Entry& entry) {
  if (const auto number = entry.Number()) return *number;
  if (const auto integer = entry.Integer()) return static_cast<double>(*integer);  // of a BOOL
  if (const auto text = entry.Text()) return std::string(*text);
  return entry.Numbers();
}

// The entries about the architecture; those of the tokenizer are large.
Metadata MetadataOf(const GgufFile& file) {
  Metadata metadata;
  const Entry* named = file.Find(kArchitecture);
  if (named == nullptr || !named->Text()) return metadata;
  const std::string prefix = std::string(*named->Text()) + ".";
  for (const Entry& entry : file.metadata) {
    if (entry.key != kArchitecture && !entry.key.starts_with(prefix)) continue;
    if (auto value = ValueOf(entry)) metadata.emplace(entry.key, *std::move(value));
  }
  return metadata;
}

// A tensor of whose values the operators' real operands may be.
bool IsReal(const format::ModelView& view, const std::string& name) {
  using format::ElementType;
  const format::ValueInfo* value = view.FindValue(name);
  if (value != nullptr && value->type && format::IsQuantized(value->type->elem_type)) return true;
  const format::TensorData* data = view.FindInitializer(name);
  return data != nullptr &&
         (data->data_type == ElementType::kFloat || data->data_type == ElementType::kFloat16 ||
          data->data_type == ElementType::kBfloat16);
}

Result<format::Graph> GraphOf(const std::vector<Part>& parts, const format::Model& model) {
  const auto view = format::ModelView::Indexed(model);
  Weights weights;
  for (const Part& part : parts) {
    for (const TensorInfo& info : part.file.tensors) {
      if (!IsReal(view, info.name))
        return Unsupported("tensor '" + info.name + "'", "has no real values here");
      weights[info.name] = {info.name, info.dims};
    }
  }
  const Metadata metadata = MetadataOf(parts[0].file);
  QTX_ASSIGN_OR_RETURN(const auto config, decoder::ConfigOf(metadata, weights));
  return decoder::BuildDecoder(config, weights);
}

template <typename T>
void Append(std::vector<T>& to, std::vector<T>&& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

void AddDecoderGraph(const std::vector<Part>& parts, format::Model* model, Ledger* ledger) {
  auto graph = GraphOf(parts, *model);
  if (!graph.has_value()) {
    const Error& error = graph.error();
    ledger->Dropped(
        "model", "graph",
        "only tensors: " + error.where + (error.where.empty() ? "" : " ") + error.message);
    return;
  }
  model->graph.name = graph->name;
  model->graph.inputs = std::move(graph->inputs);
  model->graph.outputs = std::move(graph->outputs);
  model->graph.nodes = std::move(graph->nodes);
  Append(model->graph.values, std::move(graph->values));
  Append(model->graph.initializers, std::move(graph->initializers));
  ledger->Changed("model", "graph",
                  "the nodes of architecture '" + model->graph.name + "', which metadata names");
}

}  // namespace qtx::convert::gguf
