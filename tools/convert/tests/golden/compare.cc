#include "compare.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "error_bound.h"
#include "qtx/convert/convert.h"
#include "qtx/format/limits.h"
#include "qtx/reference/interpreter.h"
#include "qtx/reference/op.h"

namespace qtx::convert::golden {
namespace {

using format::Tensor;

Error In(const char* step, const Error& error) { return At(step, error); }

bool HasQuantized(const format::Graph& graph) {
  const auto quantized = [](const format::ValueInfo& value) {
    return value.type && format::IsQuantized(value.type->elem_type);
  };
  return std::ranges::any_of(graph.inputs, quantized) ||
         std::ranges::any_of(graph.values, quantized) ||
         std::ranges::any_of(graph.outputs, quantized);
}

// Row `i` of a file that holds one input of the model after another.
Tensor Row(const Tensor& all, const format::Dims& dims, std::int64_t i, std::int64_t rows) {
  if (rows == 1 && all.dims == dims) return all;
  Tensor row{all.elem_type, dims, std::nullopt, {}};
  const auto bytes = static_cast<std::ptrdiff_t>(all.bytes.size()) / rows;
  row.bytes.assign(all.bytes.begin() + i * bytes, all.bytes.begin() + (i + 1) * bytes);
  return row;
}

Result<std::vector<Tensor>> LoadAll(const std::vector<std::filesystem::path>& files,
                                    const std::vector<format::ValueInfo>& values) {
  if (files.size() > values.size()) {
    return Error{
        ErrorCode::kInvalid, "",
        std::to_string(files.size()) + " files for " + std::to_string(values.size()) + " values"};
  }
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto tensor = Load(files[i], *values[i].type);
    if (!tensor.has_value()) return At(files[i].filename(), tensor.error());
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

void CompareFloats(const Tensor& golden, const Tensor& found, const std::vector<double>* bound,
                   Outcome* outcome) {
  for (std::size_t i = 0; i < golden.As<float>().size(); ++i) {
    const auto g = static_cast<double>(golden.As<float>()[i]);
    const auto f = static_cast<double>(found.As<float>()[i]);
    if (g == f || (std::isnan(g) && std::isnan(f))) continue;
    ++outcome->differing;
    const double distance = std::abs(g - f);
    outcome->worst = std::max(outcome->worst, bound == nullptr ? distance : distance / (*bound)[i]);
  }
}

void Compare(const Tensor& golden, Tensor found, const std::vector<double>* bound,
             Outcome* outcome) {
  outcome->elements += format::ElementCount(golden);
  found.elem_type = format::StorageOf(found.elem_type);
  found.quantization.reset();
  if (found.elem_type != golden.elem_type || found.bytes.size() != golden.bytes.size()) {
    outcome->error = "found " + std::string(format::Name(found.elem_type)) +
                     format::ToString(found.dims) + ", golden " +
                     std::string(format::Name(golden.elem_type)) + format::ToString(golden.dims);
  } else if (golden.elem_type == format::ElementType::kFloat) {
    CompareFloats(golden, found, bound, outcome);
  } else if (golden.bytes != found.bytes) {
    const auto g = format::UnpackIntegers(golden), f = format::UnpackIntegers(found);
    for (std::size_t i = 0; i < g.size(); ++i) {
      if (g[i] == f[i]) continue;
      ++outcome->differing;
      outcome->worst = std::max(outcome->worst, std::abs(static_cast<double>(g[i] - f[i])));
    }
  }
}

// All values of the run: initializers, inputs, and what `observed` holds.
Values AllValues(const format::Model& model, const std::vector<Tensor>& inputs, Values observed) {
  for (const format::TensorData& data : model.graph.initializers) {
    auto tensor = format::LoadInitializer(model, data.name);
    if (tensor.has_value()) observed[data.name] = *std::move(tensor);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    observed[model.graph.inputs[i].name] = inputs[i];
  }
  return observed;
}

// Nodes that TFLite's XNNPACK delegate leaves to the builtin kernels: it takes no AVERAGE_POOL_2D
// of 8 bits.
reference::Interpreter::NodeArithmetics Undelegated(const format::Graph& graph) {
  reference::Interpreter::NodeArithmetics builtin;
  for (const format::Node& node : graph.nodes) {
    if (node.op_type == "AveragePool" && HasQuantized(graph)) builtin[node.name] = "tflite";
  }
  return builtin;
}

bool HasLstm(const format::Graph& graph) {
  return std::ranges::any_of(graph.nodes,
                             [](const format::Node& node) { return node.op_type == "LSTM"; });
}

// XNNPACK leaves an LSTM to the builtin kernel, too; that of the build which made the data takes
// the output's offset with the wrong sign (tflite.S18, note).
Result<reference::Interpreter> Prepare(const Set& set, const format::Model& model) {
  const char* arithmetic = set.kernels == Set::Kernels::kBuiltin ? "tflite" : "xnnpack";
  if (!HasLstm(model.graph)) {
    return reference::Interpreter::Prepare(model, arithmetic, Undelegated(model.graph));
  }
  QTX_ASSIGN_OR_RETURN(const reference::Arithmetic* named, reference::FindArithmetic(arithmetic));
  reference::Arithmetic row = *named;
  row.kernels = reference::Arithmetic::Kernels::kTflite;
  row.lstm_offset = reference::Arithmetic::LstmOffset::kSubtracted;
  return reference::Interpreter::Prepare(model, row);
}

// The data's `normal` run came after `uniform` in one process that reset no variable: the states
// begin with what that run left.
Result<void> TakeStatesOfRunBefore(const Set& set, format::Model* model) {
  if (set.run != "normal" || set.inputs.empty()) return {};
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& file : set.inputs) {
    files.push_back(file.parent_path().parent_path() / "uniform" / file.filename());
    if (!std::filesystem::exists(files.back())) return {};
  }
  QTX_ASSIGN_OR_RETURN(const auto inputs, LoadAll(files, model->graph.inputs));
  QTX_ASSIGN_OR_RETURN(auto interpreter, Prepare(set, *model));
  QTX_ASSIGN_OR_RETURN(const auto outputs, interpreter.Run(inputs));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& after = model->graph.outputs[i].name;
    for (format::TensorData& data : model->graph.initializers) {
      if (data.name + "/after" == after) data = format::ToTensorData(data.name, outputs[i]);
    }
  }
  return {};
}

Result<void> Run(const Set& set, Outcome* outcome) {
  QTX_ASSIGN_OR_RETURN(const std::string bytes, format::ReadFile(set.file, format::kMaxModelBytes));
  auto conversion = FromTflite(bytes, {.allow = {"cell_clip"}});
  if (!conversion.has_value()) return In("convert", conversion.error());
  format::Model& model = conversion->model;
  for (const format::Node& node : model.graph.nodes) {
    outcome->op_types.insert(node.op_type);
    if (reference::FindOperator(node.domain, node.op_type) != nullptr) continue;
    outcome->missing = node.op_type;
    return {};
  }
  if (HasLstm(model.graph)) {
    auto taken = TakeStatesOfRunBefore(set, &model);
    if (!taken.has_value()) return In("run before", taken.error());
  }
  auto interpreter = Prepare(set, model);
  if (!interpreter.has_value()) return In("prepare", interpreter.error());
  auto inputs = LoadAll(set.inputs, model.graph.inputs);
  if (!inputs.has_value()) return In("input", inputs.error());
  auto golden = LoadAll(set.outputs, model.graph.outputs);
  if (!golden.has_value()) return In("golden", golden.error());
  outcome->bounded = !HasQuantized(model.graph);
  Values observed;
  if (outcome->bounded) {
    interpreter->set_observer(
        [&observed](const std::string& name, const Tensor& value) { observed[name] = value; });
  }
  const auto dims_of = [](const format::ValueInfo& value) {
    return *format::FixedDims(*value.type->shape);
  };
  std::int64_t rows = 1;
  if (!inputs->empty()) {
    rows =
        format::ElementCount(inputs->at(0)) / *format::ElementCount(dims_of(model.graph.inputs[0]));
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<Tensor> given;
    for (std::size_t i = 0; i < inputs->size(); ++i) {
      given.push_back(Row(inputs->at(i), dims_of(model.graph.inputs[i]), row, rows));
    }
    const auto outputs = interpreter->Run(given);
    if (!outputs.has_value()) return In("run", outputs.error());
    std::map<std::string, std::vector<double>> bounds;
    if (outcome->bounded) {
      auto computed = ErrorBounds(model, AllValues(model, given, observed));
      if (!computed.has_value()) return In("bound", computed.error());
      bounds = *std::move(computed);
    }
    for (std::size_t i = 0; i < golden->size(); ++i) {
      const auto bound = bounds.find(model.graph.outputs[i].name);
      const Tensor& found = outputs->at(i);
      Compare(Row(golden->at(i), found.dims, row, rows), found,
              bound == bounds.end() ? nullptr : &bound->second, outcome);
    }
  }
  return {};
}

}  // namespace

std::string Outcome::Text() const {
  if (!error.empty()) return error;
  if (!missing.empty()) return "not run: the reference has no " + missing;
  std::ostringstream text;
  text << elements << " elements, " << differing << " differ, worst " << worst
       << (bounded ? " of the bound" : " LSB");
  return text.str();
}

Outcome Check(const Set& set) {
  Outcome outcome;
  const auto done = Run(set, &outcome);
  if (!done.has_value()) outcome.error = done.error().where + ": " + done.error().message;
  return outcome;
}

}  // namespace qtx::convert::golden
