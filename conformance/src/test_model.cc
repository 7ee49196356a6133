#include "test_model.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

#include "qtx/format/levels.h"

namespace qtx::conformance {
namespace {

using format::Dims;
using format::Quantization;
using format::Tensor;
using format::ValueInfo;

constexpr std::int64_t kIrVersion = 8;

Result<Datum> Load(const format::Model& model, const std::string& name, const Observed& observed) {
  if (model.graph.FindInitializer(name) != nullptr) {
    QTX_ASSIGN_OR_RETURN(Tensor tensor, format::LoadInitializer(model, name));
    return Datum{name, std::move(tensor), true};
  }
  const auto found = observed.find(name);
  if (found == observed.end()) {
    return Error{ErrorCode::kInvalid, "value '" + name + "'", "is not known"};
  }
  return Datum{name, found->second, false};
}

// The declared type without shape and with inline parameters; the tensor's if none is declared.
Result<ValueInfo> Declared(const format::Model& model, const std::string& name,
                           const Observed& observed) {
  ValueInfo info;
  info.name = name;
  const ValueInfo* declared = model.graph.FindValue(name);
  const auto seen = observed.find(name);
  if (declared != nullptr && declared->type &&
      declared->type->elem_type != format::ElementType::kUndefined) {
    info.type.emplace();
    info.type->elem_type = declared->type->elem_type;
    if (format::IsQuantized(info.type->elem_type) && declared->type->quantization) {
      QTX_ASSIGN_OR_RETURN(info.type->quantization, format::Resolve(model, *declared->type, name));
    }
  } else if (seen != observed.end()) {
    info.type.emplace();
    info.type->elem_type = seen->second.elem_type;
    info.type->quantization = seen->second.quantization;
  }
  return info;
}

bool IsOpen(const format::Model& model) {
  return std::ranges::any_of(model.graph.inputs, [](const ValueInfo& info) {
    return info.type && info.type->shape &&
           std::ranges::any_of(*info.type->shape,
                               [](const format::Dimension& size) { return !size.symbol.empty(); });
  });
}

// As the test model declares an input of that type.
format::Shape ShapeOf(const Tensor& tensor, bool open) {
  format::Shape shape = format::ToShape(tensor.dims);
  for (std::size_t i = 0; open && i < shape.size(); ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    const bool fixed =
        tensor.quantization && std::ranges::count(tensor.quantization->axis, axis) != 0;
    if (!fixed) shape[i] = {.value = {}, .symbol = "size_" + std::to_string(tensor.dims[i])};
  }
  return shape;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// True if a node outside [first, last) or the graph's outputs use it.
bool IsRead(const format::Model& model, std::size_t first, std::size_t last,
            const std::string& name) {
  if (std::ranges::find(model.graph.outputs, name, &ValueInfo::name) != model.graph.outputs.end()) {
    return true;
  }
  for (std::size_t i = 0; i < model.graph.nodes.size(); ++i) {
    if ((i < first || i >= last) && Contains(ReadsOf(model.graph.nodes[i]), name)) return true;
  }
  return false;
}

// The bits of one element, which may be packed.
std::uint64_t CodeAt(const Tensor& tensor, std::size_t index, std::size_t bits) {
  std::uint64_t code = 0;
  std::memcpy(&code, tensor.bytes.data() + index * bits / 8, (bits + 7) / 8);
  if (bits < 8) code = code >> (index * bits % 8) & ((1U << bits) - 1);
  return code;
}

void SetCode(Tensor& tensor, std::size_t index, std::size_t bits, std::uint64_t code) {
  std::byte* at = tensor.bytes.data() + index * bits / 8;
  if (bits >= 8) {
    std::memcpy(at, &code, bits / 8);
  } else {
    *at |= std::byte{static_cast<std::uint8_t>(code << (index * bits % 8))};
  }
}

// The old index of each parameter that is kept along one axis.
std::optional<std::vector<std::int64_t>> KeptBlocks(const std::vector<std::int64_t>& kept,
                                                    std::int64_t block) {
  std::vector<std::int64_t> blocks;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const bool begins = static_cast<std::int64_t>(i) % block == 0;
    if (begins) blocks.push_back(kept[i] / block);
    if (blocks.back() != kept[i] / block) return std::nullopt;
  }
  return blocks;
}

template <typename T>
void PickEach(std::vector<T>& values, const std::vector<std::int64_t>& indices,
              std::int64_t count) {
  if (static_cast<std::int64_t>(values.size()) != count) return;
  std::vector<T> picked;
  for (const std::int64_t index : indices)
    picked.push_back(values[static_cast<std::size_t>(index)]);
  values = std::move(picked);
}

}  // namespace

std::vector<std::string> ReadsOf(const format::Node& node) {
  std::vector<std::string> reads = node.inputs;
  for (const format::Attribute& attribute : node.attributes) {
    for (const format::Graph& body : attribute.graphs) {
      std::set<std::string> own;
      for (const ValueInfo& input : body.inputs) own.insert(input.name);
      for (const format::TensorData& constant : body.initializers) own.insert(constant.name);
      for (const format::Node& inner : body.nodes) {
        std::ranges::copy_if(ReadsOf(inner), std::back_inserter(reads),
                             [&own](const std::string& name) { return !own.contains(name); });
        own.insert(inner.outputs.begin(), inner.outputs.end());
      }
      for (const ValueInfo& output : body.outputs) {
        if (!own.contains(output.name)) reads.push_back(output.name);
      }
    }
  }
  return reads;
}

bool IsRead(const TestModel& test, const std::string& name) {
  return std::ranges::any_of(
      test.nodes, [&name](const format::Node& node) { return Contains(ReadsOf(node), name); });
}

Result<TestModel> Extract(const format::Model& model, std::size_t first, std::size_t last,
                          const Observed& observed) {
  TestModel test;
  test.opset_imports = model.opset_imports;
  test.open_shapes = IsOpen(model);
  const auto begin = model.graph.nodes.begin();
  test.nodes.assign(begin + static_cast<std::ptrdiff_t>(first),
                    begin + static_cast<std::ptrdiff_t>(last));
  std::set<std::string> known;
  for (const format::Node& node : test.nodes) {
    for (const std::string& name : ReadsOf(node)) {
      if (name.empty() || !known.insert(name).second) continue;
      QTX_ASSIGN_OR_RETURN(test.data.emplace_back(), Load(model, name, observed));
    }
    for (const std::string& name : node.outputs) {
      if (name.empty()) continue;
      known.insert(name);
      QTX_ASSIGN_OR_RETURN(ValueInfo info, Declared(model, name, observed));
      const bool seen = last - first == 1 || IsRead(model, first, last, name);
      (seen ? test.outputs : test.values).push_back(std::move(info));
    }
  }
  std::erase_if(test.values, [](const ValueInfo& info) { return !info.type; });
  return test;
}

void ClearElement(Tensor& tensor, std::int64_t index) {
  const auto bits = static_cast<std::size_t>(format::BitWidth(tensor.elem_type));
  const std::size_t bit = static_cast<std::size_t>(index) * bits;
  if (bits < 8) {
    const auto mask = static_cast<std::uint8_t>(((1U << bits) - 1) << (bit % 8));
    tensor.bytes[bit / 8] &= std::byte{static_cast<std::uint8_t>(~mask)};
    return;
  }
  std::fill_n(tensor.bytes.begin() + static_cast<std::ptrdiff_t>(bit / 8), bits / 8, std::byte{0});
}

format::Model ToModel(const TestModel& test, const std::vector<Tensor>& outputs) {
  format::Model model;
  model.ir_version = kIrVersion;
  model.opset_imports = test.opset_imports;
  model.producer_name = "qtx conformance";
  format::Graph& graph = model.graph;
  graph.name = "reduced";
  graph.nodes = test.nodes;
  graph.values = test.values;
  graph.outputs = test.outputs;
  const bool bare = test.open_shapes || test.bare_outputs;
  const std::size_t declared = bare ? 0 : std::min(outputs.size(), graph.outputs.size());
  for (std::size_t i = 0; i < declared; ++i) {
    if (graph.outputs[i].type) graph.outputs[i].type->shape = format::ToShape(outputs[i].dims);
  }
  for (const Datum& datum : test.data) {
    ValueInfo info;
    info.name = datum.name;
    info.type.emplace();
    info.type->elem_type = datum.tensor.elem_type;
    info.type->shape = ShapeOf(datum.tensor, test.open_shapes && !datum.constant);
    info.type->quantization = datum.tensor.quantization;
    if (!datum.constant) {
      graph.inputs.push_back(std::move(info));
      continue;
    }
    graph.initializers.push_back(format::ToTensorData(datum.name, datum.tensor));
    if (datum.tensor.quantization) graph.values.push_back(std::move(info));
  }
  return model;
}

std::vector<Tensor> InputsOf(const TestModel& test) {
  std::vector<Tensor> inputs;
  for (const Datum& datum : test.data) {
    if (!datum.constant) inputs.push_back(datum.tensor);
  }
  return inputs;
}

std::int64_t ElementsOf(const TestModel& test) {
  std::int64_t elements = 0;
  for (const Datum& datum : test.data) elements += format::ElementCount(datum.tensor);
  return elements;
}

Tensor Pick(const Tensor& tensor, const std::vector<std::int64_t>& indices, const Dims& dims) {
  const auto bits = static_cast<std::size_t>(format::BitWidth(tensor.elem_type));
  Tensor picked = tensor;
  picked.dims = dims;
  picked.bytes.assign((indices.size() * bits + 7) / 8, std::byte{0});
  for (std::size_t i = 0; i < indices.size(); ++i) {
    SetCode(picked, i, bits, CodeAt(tensor, static_cast<std::size_t>(indices[i]), bits));
  }
  return picked;
}

std::optional<Quantization> PickParameters(const Quantization& q, const Dims& dims,
                                           std::size_t axis,
                                           const std::vector<std::int64_t>& kept) {
  const auto named = std::ranges::find(q.axis, static_cast<std::int64_t>(axis));
  const auto counts = format::ParameterDims(q, dims);
  if (!counts) return std::nullopt;
  if (named == q.axis.end()) return q;
  const auto at = static_cast<std::size_t>(named - q.axis.begin());
  const auto blocks = KeptBlocks(kept, q.block_shape.empty() ? 1 : q.block_shape[at]);
  if (!blocks) return std::nullopt;
  const Dims strides = format::RowMajorStrides(*counts);
  const auto old_count =
      std::accumulate(counts->begin(), counts->end(), std::int64_t{1}, std::multiplies<>());
  std::vector<std::int64_t> indices;  // of parameters, in the new order
  for (std::int64_t i = 0; i < old_count; ++i) {
    const std::int64_t along = i / strides[at] % (*counts)[at];
    if (along != 0) continue;
    indices.push_back(i);
  }
  std::vector<std::int64_t> picked;
  const std::int64_t inner = strides[at];
  for (std::size_t outer = 0; outer < indices.size(); outer += static_cast<std::size_t>(inner)) {
    for (const std::int64_t block : *blocks) {
      for (std::int64_t i = 0; i < inner; ++i) picked.push_back(indices[outer] + block * inner + i);
    }
  }
  Quantization result = q;
  PickEach(result.scale, picked, old_count);
  PickEach(result.offset, picked, old_count);
  if (HasBase(result)) PickEach(result.base_levels[0].value, picked, old_count);
  if (result.requantization) {
    PickEach(result.requantization->multiplier, picked, old_count);
    PickEach(result.requantization->shift, picked, old_count);
  }
  return result;
}

}  // namespace qtx::conformance
