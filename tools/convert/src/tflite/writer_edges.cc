// The graph's inputs and outputs, and the names of tensors.
#include "errors.h"
#include "tflite/writer.h"

namespace qtx::convert {
namespace {

using schema::BuiltinOperator;

}  // namespace

Result<void> TfliteWriter::AddInputs() {
  for (const format::ValueInfo& input : graph_.model().graph.inputs) {
    if (IsConstant(input.name)) continue;  // a default that nothing overrides
    if (!input.type || !input.type->shape) {
      return Unsupported(Quoted(input.name), "an input without type and rank");
    }
    format::Dims dims;
    for (const format::Dimension& dim : *input.type->shape) dims.push_back(dim.value.value_or(1));
    if (!format::FixedDims(*input.type->shape)) {
      ledger_.Changed(input.name, "shape", "fixed at " + format::ToString(dims));
    }
    format::TensorType type = *input.type;
    type.shape = format::ToShape(dims);
    QTX_ASSIGN_OR_RETURN(const int index, AddTensor(input.name, type));
    tables_->inputs.push_back(index);
    edges_.insert(index);
    Alias(input.name, Order::kOnnx, index, dims);
    QTX_ASSIGN_OR_RETURN(const format::TensorType inner, Type(input.name));
    if (inner.elem_type == type.elem_type) continue;
    QTX_ASSIGN_OR_RETURN(const int shifted, Define({input.name, Order::kOnnx, dims}, inner));
    Call call{BuiltinOperator::QUANTIZE, {index}, {}};
    call.options.Set(schema::QuantizeOptionsT());
    Append(std::move(call), {shifted});
  }
  return {};
}

Result<void> TfliteWriter::AddOutput(const std::string& name) {
  QTX_ASSIGN_OR_RETURN(int index, Use(name, Order::kOnnx));
  const format::TensorType& declared = *graph_.TypeOf(name);
  QTX_ASSIGN_OR_RETURN(const format::TensorType inner, Type(name));
  const bool shifts = declared.elem_type != inner.elem_type;
  if (shifts || edges_.contains(index) || IsConstant(name)) {  // an edge is one tensor's own
    format::TensorType type = declared;
    QTX_ASSIGN_OR_RETURN(const format::Dims dims, Dims(name));
    type.shape = format::ToShape(dims);
    QTX_ASSIGN_OR_RETURN(const int copy, AddTensor(name, type));
    Call call{shifts ? BuiltinOperator::QUANTIZE : BuiltinOperator::RESHAPE, {index}, {}};
    if (shifts) {
      call.options.Set(schema::QuantizeOptionsT());
    } else {
      call.inputs.push_back(AddInt32s(name + "/shape", dims));
      call.options.Set(schema::ReshapeOptionsT());
    }
    Append(std::move(call), {copy});
    index = copy;
  }
  edges_.insert(index);
  tensor(index).name = name;
  tables_->outputs.push_back(index);
  return {};
}

Result<void> TfliteWriter::AddOutputs() {
  for (const format::ValueInfo& output : graph_.model().graph.outputs) {
    if (!output.type) return Unsupported(Quoted(output.name), "an output without type");
    QTX_RETURN_IF_ERROR(AddOutput(output.name));
  }
  return {};
}

std::string TfliteWriter::Unique(std::string name) {
  const std::string stem = name;
  for (int n = 2; !names_.insert(name).second; ++n) name = stem + "#" + std::to_string(n);
  return name;
}

// The graph's edges have their own names; of two forms of one value the first has it.
void TfliteWriter::NameTensors() {
  for (const int index : edges_) names_.insert(tensor(index).name);
  for (std::size_t i = 0; i < tables_->tensors.size(); ++i) {
    if (edges_.contains(static_cast<int>(i))) continue;
    tables_->tensors[i]->name = Unique(tables_->tensors[i]->name);
  }
}

Result<schema::ModelT> TfliteWriter::Finish(const format::Model& model) {
  QTX_RETURN_IF_ERROR(AddOutputs());
  NameTensors();
  tables_->name = model.graph.name;
  model_.description = model.doc_string;
  return std::move(model_);
}

}  // namespace qtx::convert
