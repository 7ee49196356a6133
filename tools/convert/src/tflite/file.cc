#include "tflite/file.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "errors.h"

namespace qtx::convert {
namespace {

// Bounds of the verifier. Real files have a few thousand tables, nested six deep.
constexpr flatbuffers::uoffset_t kMaxDepth = 32;
constexpr flatbuffers::uoffset_t kMaxTables = 1'000'000;

std::string Text(const flatbuffers::String* text) { return text == nullptr ? "" : text->str(); }

// How a tensor is called in messages before its unique name is known.
std::string Place(const schema::Tensor& tensor, std::size_t index) {
  return "tensor " + std::to_string(index) + " '" + Text(tensor.name()) + "'";
}

template <typename T>
std::size_t Size(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

Result<std::vector<int>> Indices(const flatbuffers::Vector<std::int32_t>* vector, std::size_t count,
                                 int lowest, const char* what) {
  std::vector<int> indices;
  for (std::size_t i = 0; i < Size(vector); ++i) {
    const int index = vector->Get(static_cast<flatbuffers::uoffset_t>(i));
    if (index < lowest || (index >= 0 && static_cast<std::size_t>(index) >= count)) {
      return Invalid(std::string(what) + "[" + std::to_string(i) + "]",
                     "tensor " + std::to_string(index) + " of " + std::to_string(count));
    }
    indices.push_back(index);
  }
  return indices;
}

Result<std::span<const std::byte>> BufferOf(const schema::Model& model,
                                            const schema::Tensor& tensor) {
  const std::size_t count = Size(model.buffers());
  if (tensor.external_buffer() != 0) return Unsupported("", "its data lies in another file");
  // A file without any buffer gives every tensor buffer 0, which is the empty one.
  if (tensor.buffer() == 0 && count == 0) return std::span<const std::byte>{};
  if (tensor.buffer() >= count) {
    return Invalid("",
                   "buffer " + std::to_string(tensor.buffer()) + " of " + std::to_string(count));
  }
  const schema::Buffer* buffer = model.buffers()->Get(tensor.buffer());
  if (buffer->offset() > 1) return Unsupported("", "its data lies outside the flatbuffer");
  if (buffer->data() == nullptr) return std::span<const std::byte>{};
  return std::as_bytes(std::span(buffer->data()->data(), buffer->data()->size()));
}

Result<format::Dims> DimsOf(const schema::Tensor& tensor) {
  format::Dims dims;
  for (std::size_t i = 0; i < Size(tensor.shape()); ++i) {
    dims.push_back(tensor.shape()->Get(static_cast<flatbuffers::uoffset_t>(i)));
    // [0] is the shape of a scalar or a list of no axes; nothing else is empty.
    const bool none = dims.back() == 0 && Size(tensor.shape()) == 1;
    if (dims.back() < 1 && !none) {
      return Invalid("", "dimension " + std::to_string(i) + " is " + std::to_string(dims.back()) +
                             ", expected 1 or more");
    }
  }
  QTX_RETURN_IF_ERROR(format::ElementCount(dims));
  return dims;
}

Result<TfliteTensor> ReadTensor(const schema::Model& model, const schema::Tensor& source) {
  TfliteTensor tensor;
  QTX_ASSIGN_OR_RETURN(tensor.dims, DimsOf(source));
  QTX_ASSIGN_OR_RETURN(tensor.data, BufferOf(model, source));
  tensor.type = source.type();
  tensor.quantization = source.quantization();
  tensor.variable = source.is_variable();
  tensor.sparse = source.sparsity() != nullptr;
  tensor.shapeless = Size(source.shape()) == 0;
  for (std::size_t i = 0; i < Size(source.shape_signature()); ++i) {
    if (source.shape_signature()->Get(static_cast<flatbuffers::uoffset_t>(i)) < 0)
      tensor.dynamic = true;
  }
  return tensor;
}

Result<void> ReadTensors(const schema::Model& model, const schema::SubGraph& graph,
                         TfliteFile& file) {
  std::set<std::string> taken;
  for (std::size_t i = 0; i < Size(graph.tensors()); ++i) {
    const schema::Tensor& source = *graph.tensors()->Get(static_cast<flatbuffers::uoffset_t>(i));
    auto tensor = ReadTensor(model, source);
    if (!tensor.has_value()) return At(Place(source, i), tensor.error());
    tensor->name = Text(source.name());
    if (tensor->name.empty()) tensor->name = "tensor";
    while (!taken.insert(tensor->name).second) tensor->name += "#" + std::to_string(i);
    file.tensors.push_back(*std::move(tensor));
  }
  return {};
}

std::string OperatorName(const schema::OperatorCode& code, schema::BuiltinOperator builtin) {
  if (builtin == schema::BuiltinOperator::CUSTOM)
    return "CUSTOM '" + Text(code.custom_code()) + "'";
  const std::string name = schema::EnumNameBuiltinOperator(builtin);
  return name.empty() ? "builtin " + std::to_string(static_cast<int>(builtin)) : name;
}

Result<TfliteOperator> ReadOperator(const schema::Model& model, const schema::Operator& source,
                                    std::size_t index, std::size_t tensors) {
  const std::string place = "operator " + std::to_string(index);
  if (source.opcode_index() >= Size(model.operator_codes())) {
    return Invalid(place, "operator code " + std::to_string(source.opcode_index()) + " of " +
                              std::to_string(Size(model.operator_codes())));
  }
  const schema::OperatorCode& code = *model.operator_codes()->Get(source.opcode_index());
  TfliteOperator op;
  op.index = index;
  op.code = static_cast<schema::BuiltinOperator>(std::max<std::int32_t>(
      code.deprecated_builtin_code(), static_cast<std::int32_t>(code.builtin_code())));
  op.name = OperatorName(code, op.code);
  if (op.code == schema::BuiltinOperator::CUSTOM) op.custom_code = Text(code.custom_code());
  op.options = &source;
  auto inputs = Indices(source.inputs(), tensors, -1, "input");
  if (!inputs.has_value()) return At(op.Place(), inputs.error());
  auto outputs = Indices(source.outputs(), tensors, 0, "output");
  if (!outputs.has_value()) return At(op.Place(), outputs.error());
  op.inputs = *std::move(inputs);
  op.outputs = *std::move(outputs);
  auto intermediates = Indices(source.intermediates(), tensors, -1, "intermediate");
  if (!intermediates.has_value()) return At(op.Place(), intermediates.error());
  op.intermediates = *std::move(intermediates);
  return op;
}

std::string SubgraphName(const schema::Model& model, std::size_t index) {
  const auto* graph = model.subgraphs()->Get(static_cast<flatbuffers::uoffset_t>(index));
  return std::to_string(index) + " '" + Text(graph->name()) + "'";
}

Error NoSubgraph(const schema::Model& model, std::string_view choice) {
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(Size(model.subgraphs()), 8); ++i) {
    names += (i == 0 ? "" : ", ") + SubgraphName(model, i);
  }
  return Invalid("subgraph '" + std::string(choice) + "'", "the file has " + names);
}

Result<std::size_t> ChooseSubgraph(const schema::Model& model, std::string_view choice) {
  const std::size_t count = Size(model.subgraphs());
  if (count == 0) return Invalid("", "no subgraph");
  if (choice.empty()) return std::size_t{0};
  for (std::size_t i = 0; i < Size(model.signature_defs()); ++i) {
    const auto& signature = *model.signature_defs()->Get(static_cast<flatbuffers::uoffset_t>(i));
    if (Text(signature.signature_key()) == choice && signature.subgraph_index() < count)
      return std::size_t{signature.subgraph_index()};
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto* graph = model.subgraphs()->Get(static_cast<flatbuffers::uoffset_t>(i));
    if (Text(graph->name()) == choice) return i;
  }
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(choice.data(), choice.data() + choice.size(), index);
  const bool number = error == std::errc() && end == choice.data() + choice.size();
  if (!number || index >= count) return NoSubgraph(model, choice);
  return index;
}

Result<void> ReadGraph(const schema::Model& model, std::size_t chosen, TfliteFile& file) {
  const schema::SubGraph& graph =
      *model.subgraphs()->Get(static_cast<flatbuffers::uoffset_t>(chosen));
  for (std::size_t i = 0; i < Size(model.subgraphs()); ++i) {
    if (i != chosen) file.left_out.push_back(SubgraphName(model, i));
  }
  file.name = Text(graph.name());
  QTX_RETURN_IF_ERROR(ReadTensors(model, graph, file));
  QTX_ASSIGN_OR_RETURN(file.inputs, Indices(graph.inputs(), file.tensors.size(), 0, "graph input"));
  // An input is not a variable: it is set for each run.
  for (const int index : file.inputs) {
    file.tensors[static_cast<std::size_t>(index)].variable = false;
    file.tensors[static_cast<std::size_t>(index)].given = true;
  }
  QTX_ASSIGN_OR_RETURN(file.outputs,
                       Indices(graph.outputs(), file.tensors.size(), 0, "graph output"));
  if (Size(graph.operators()) == 0) return Invalid("", "the subgraph has no operator");
  for (std::size_t i = 0; i < Size(graph.operators()); ++i) {
    const schema::Operator& source =
        *graph.operators()->Get(static_cast<flatbuffers::uoffset_t>(i));
    QTX_ASSIGN_OR_RETURN(TfliteOperator op, ReadOperator(model, source, i, file.tensors.size()));
    for (const int index : op.outputs) file.tensors[static_cast<std::size_t>(index)].given = true;
    file.operators.push_back(std::move(op));
  }
  return {};
}

}  // namespace

bool LooksLikeTflite(std::string_view bytes) {
  // Bytes 0-3: offset of the root table; 4-7: the identifier.
  return bytes.size() >= 8 && bytes.substr(4, 4) == schema::ModelIdentifier();
}

Result<std::unique_ptr<TfliteFile>> TfliteFile::Open(std::string_view bytes,
                                                     std::string_view subgraph) {
  if (!LooksLikeTflite(bytes)) return Invalid("", "not a TFLite file (no identifier 'TFL3')");
  auto file = std::make_unique<TfliteFile>();
  file->aligned.assign(bytes);  // a string's heap memory is aligned for every scalar
  const auto* data = reinterpret_cast<const std::uint8_t*>(file->aligned.data());
  flatbuffers::Verifier verifier(data, bytes.size(), kMaxDepth, kMaxTables);
  if (!schema::VerifyModelBuffer(verifier)) return Invalid("", "damaged or truncated TFLite file");
  const schema::Model& model = *schema::GetModel(data);
  if (model.version() != 3) {
    return Unsupported(
        "", "version " + std::to_string(model.version()) + " of the file format; only 3 is");
  }
  file->description = Text(model.description());
  file->signatures = Size(model.signature_defs()) > 0;
  for (std::size_t i = 0; i < Size(model.metadata()); ++i) {
    file->metadata.push_back(
        Text(model.metadata()->Get(static_cast<flatbuffers::uoffset_t>(i))->name()));
  }
  QTX_ASSIGN_OR_RETURN(const std::size_t index, ChooseSubgraph(model, subgraph));
  QTX_RETURN_IF_ERROR(ReadGraph(model, index, *file));
  return file;
}

}  // namespace qtx::convert
