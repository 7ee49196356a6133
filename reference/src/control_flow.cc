#include "control_flow.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "parameters.h"

namespace qtx::reference {
namespace {

using format::Dims;
using format::Tensor;

Error Invalid(const std::string& where, const std::string& message) {
  return {ErrorCode::kInvalid, where, message};
}

Result<const Tensor*> ValueOf(const BodyRun& bodies, const std::string& name) {
  const Tensor* value = bodies.find(name);
  if (value == nullptr) return Invalid("value '" + name + "'", "was not computed");
  return value;
}

Result<bool> Condition(const Tensor& value) {
  if (value.elem_type == format::ElementType::kBool && format::ElementCount(value) == 1)
    return format::UnpackIntegers(value)[0] != 0;
  return Invalid("condition", "found " + std::string(format::Name(value.elem_type)) + " of shape " +
                                  format::ToString(value.dims) + ", expected one BOOL");
}

// Elements before, along and after an axis; bytes of what is after.
struct Strides {
  std::int64_t outer = 1, length = 1, inner_bytes = 1;
};

// REQUIRES: elements of whole bytes.
Strides StridesAlong(const Tensor& tensor, std::size_t axis) {
  Strides strides{.length = tensor.dims[axis],
                  .inner_bytes = format::BitWidth(tensor.elem_type) / 8};
  for (std::size_t i = 0; i < tensor.dims.size(); ++i) {
    if (i < axis) strides.outer *= tensor.dims[i];
    if (i > axis) strides.inner_bytes *= tensor.dims[i];
  }
  return strides;
}

bool SharesBytes(format::ElementType type) { return format::BitWidth(type) % 8 != 0; }

// The stored elements, which can then be cut and stacked, in a byte each where they share bytes.
Tensor InBytes(const Tensor& tensor) {
  if (!SharesBytes(tensor.elem_type)) return tensor;
  Tensor bytes = *format::MakeTensor(format::ElementType::kInt8, tensor.dims);
  format::PackIntegers(format::UnpackIntegers(tensor), bytes);
  return bytes;
}

// The reverse.
Tensor FromBytes(Tensor bytes, format::ElementType type,
                 const std::optional<format::Quantization>& quantization) {
  if (!SharesBytes(type)) {
    bytes.elem_type = type;
    bytes.quantization = quantization;
    return bytes;
  }
  Tensor tensor = *format::MakeTensor(type, bytes.dims, quantization);
  format::PackIntegers(format::UnpackIntegers(bytes), tensor);
  return tensor;
}

// Copies element `at` along the axis of `whole` from or to `part`, which lacks the axis.
template <typename Whole, typename Part>
void CopySlice(Whole* whole, Part* part, const Strides& strides, std::int64_t at) {
  const auto size = static_cast<std::size_t>(strides.inner_bytes);
  for (std::int64_t o = 0; o < strides.outer && size > 0; ++o) {
    auto* in_whole = whole + (o * strides.length + at) * strides.inner_bytes;
    auto* in_part = part + o * strides.inner_bytes;
    if constexpr (std::is_const_v<Whole>) {
      std::memcpy(in_part, in_whole, size);
    } else {
      std::memcpy(in_whole, in_part, size);
    }
  }
}

Tensor Cut(const Tensor& whole, std::size_t axis, std::int64_t at) {
  const Strides strides = StridesAlong(whole, axis);
  Tensor part{.elem_type = whole.elem_type, .dims = whole.dims};
  part.dims.erase(part.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  part.bytes.resize(static_cast<std::size_t>(strides.outer * strides.inner_bytes));
  CopySlice(whole.bytes.data(), part.bytes.data(), strides, at);
  return part;
}

// The declared shape of a stacked output; what it does not declare is 0.  Source: graph.S4.
Dims DeclaredDims(const Step& step, std::size_t k) {
  const format::ValueInfo* declared = step.declared[k];
  if (declared == nullptr || !declared->type || !declared->type->shape) return {0};
  Dims dims;
  for (const format::Dimension& size : *declared->type->shape)
    dims.push_back(std::max<std::int64_t>(size.value.value_or(0), 0));
  return dims;
}

// `parts` along a new axis. Without any, of output `k` without elements.
Result<Tensor> Stack(const std::vector<Tensor>& parts, std::size_t axis, const Step& step,
                     std::size_t k) {
  Tensor whole{.elem_type = step.outputs[k].elem_type,
               .quantization = step.outputs[k].quantization};
  if (parts.empty()) {
    whole.dims = DeclaredDims(step, k);
    if (axis < whole.dims.size()) whole.dims[axis] = 0;
    return whole;
  }
  whole.dims = parts[0].dims;
  if (axis > whole.dims.size()) return Invalid("", "the axis to stack along is beyond the rank");
  whole.dims.insert(whole.dims.begin() + static_cast<std::ptrdiff_t>(axis),
                    static_cast<std::int64_t>(parts.size()));
  QTX_RETURN_IF_ERROR(CheckComputable(whole.dims));
  const format::ElementType type = whole.elem_type;
  if (SharesBytes(type)) whole.elem_type = format::ElementType::kInt8;
  const Strides strides = StridesAlong(whole, axis);
  whole.bytes.resize(
      static_cast<std::size_t>(strides.outer * strides.length * strides.inner_bytes));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].dims != parts[0].dims || parts[i].elem_type != type) {
      return Invalid("", "iteration " + std::to_string(i) + " gives shape " +
                             format::ToString(parts[i].dims) + ", the first gave " +
                             format::ToString(parts[0].dims));
    }
    const Tensor part = InBytes(parts[i]);
    CopySlice(whole.bytes.data(), part.bytes.data(), strides, static_cast<std::int64_t>(i));
  }
  const auto quantization = std::exchange(whole.quantization, std::nullopt);
  return FromBytes(std::move(whole), type, quantization);
}

// The axis or direction of scanned value `i`; 0 where the attribute says none.
std::int64_t ScanAttribute(const format::Node& node, const char* name, std::size_t i) {
  const std::vector<std::int64_t> values = node.IntsOr(name, {});
  return i < values.size() ? values[i] : 0;
}

Result<std::size_t> AxisOf(const format::Node& node, const char* name, std::size_t i,
                           std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  const std::int64_t axis = ScanAttribute(node, name, i);
  if (axis >= -size && axis < size) return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
  return Invalid(std::string("attribute '") + name + "'",
                 "found " + std::to_string(axis) + " for a value of rank " + std::to_string(rank));
}

Result<std::vector<Tensor>> RunIf(const Step& step, const BodyRun& bodies) {
  QTX_ASSIGN_OR_RETURN(const Tensor* value, ValueOf(bodies, step.node->inputs[0]));
  QTX_ASSIGN_OR_RETURN(const bool holds, Condition(*value));
  const auto branch = std::ranges::find(
      step.bodies, std::string(holds ? "then_branch" : "else_branch"), &format::Scope::attribute);
  if (branch == step.bodies.end()) return Invalid("", "found no branch to take");
  QTX_RETURN_IF_ERROR(bodies.run(static_cast<std::size_t>(branch - step.bodies.begin())));
  std::vector<Tensor> outputs;
  for (const std::string& name : branch->outputs) {
    QTX_ASSIGN_OR_RETURN(const Tensor* output, ValueOf(bodies, name));
    outputs.push_back(*output);
  }
  return outputs;
}

// What Loop and Scan have in common: values that are carried, and those that are stacked.
class Iteration {
 public:
  Iteration(const Step& step, const BodyRun& bodies, std::size_t first, std::size_t carried,
            std::size_t results_before)
      : step_(step),
        bodies_(bodies),
        body_(step.bodies[0]),
        first_(first),
        carried_(carried),
        results_before_(results_before),
        stacked_(step.node->outputs.size() - carried) {}

  Result<void> Begin() {
    for (std::size_t i = 0; i < carried_; ++i) {
      QTX_ASSIGN_OR_RETURN(const Tensor* value, ValueOf(bodies_, step_.node->inputs[first_ + i]));
      values_.push_back(*value);
    }
    return {};
  }

  // One run of the body, whose other inputs are set.
  Result<void> Next() {
    for (std::size_t i = 0; i < carried_; ++i) bodies_.set(body_.inputs[first_ + i], values_[i]);
    QTX_RETURN_IF_ERROR(bodies_.run(0));
    for (std::size_t i = 0; i < carried_ + stacked_.size(); ++i) {
      QTX_ASSIGN_OR_RETURN(const Tensor* value, ResultOf(i));
      if (i < carried_) {
        values_[i] = *value;
        continue;
      }
      std::vector<Tensor>& parts = stacked_[i - carried_];
      stacked_elements_ += format::ElementCount(*value);
      const Dims all = {stacked_elements_};
      QTX_RETURN_IF_ERROR(CheckComputable(all));
      parts.push_back(*value);
    }
    return {};
  }

  Result<std::vector<Tensor>> End() {
    const bool is_scan = step_.node->op_type == "Scan";
    for (std::size_t i = 0; i < stacked_.size(); ++i) {
      std::vector<Tensor>& parts = stacked_[i];
      std::size_t axis = 0;
      const std::size_t rank =
          parts.empty() ? DeclaredDims(step_, carried_ + i).size() : parts[0].dims.size() + 1;
      if (is_scan && rank > 0) {
        QTX_ASSIGN_OR_RETURN(axis, AxisOf(*step_.node, "scan_output_axes", i, rank));
        if (ScanAttribute(*step_.node, "scan_output_directions", i) != 0)
          std::ranges::reverse(parts);
      }
      auto whole = Stack(parts, axis, step_, carried_ + i);
      if (!whole.has_value())
        return At("output '" + step_.node->outputs[carried_ + i] + "'", whole.error());
      values_.push_back(*std::move(whole));
    }
    return std::move(values_);
  }

 private:
  Result<const Tensor*> ResultOf(std::size_t i) const {
    return ValueOf(bodies_, body_.outputs[results_before_ + i]);
  }

  const Step& step_;
  const BodyRun& bodies_;
  const format::Scope& body_;
  const std::size_t first_, carried_, results_before_;
  std::vector<Tensor> values_;                // carried
  std::vector<std::vector<Tensor>> stacked_;  // of each iteration
  std::int64_t stacked_elements_ = 0;         // elements in `stacked_`
};

Tensor Scalar(format::ElementType type, std::int64_t value) {
  Tensor tensor = *format::MakeTensor(type, {});
  format::PackIntegers(std::vector<std::int64_t>{value}, tensor);
  return tensor;
}

Result<std::vector<Tensor>> RunLoop(const Step& step, const BodyRun& bodies) {
  const format::Scope& body = step.bodies[0];
  std::int64_t trips = std::numeric_limits<std::int64_t>::max();
  bool goes_on = true;
  if (const std::string& name = step.node->inputs[0]; !name.empty()) {
    QTX_ASSIGN_OR_RETURN(const Tensor* value, ValueOf(bodies, name));
    if (format::ElementCount(*value) != 1) return Invalid("M", "expected one element");
    trips = format::UnpackIntegers(*value)[0];
  }
  if (const std::string& name = step.node->inputs[1]; !name.empty()) {
    QTX_ASSIGN_OR_RETURN(const Tensor* value, ValueOf(bodies, name));
    QTX_ASSIGN_OR_RETURN(goes_on, Condition(*value));
  }
  Iteration iteration(step, bodies, 2, step.node->inputs.size() - 2, 1);
  QTX_RETURN_IF_ERROR(iteration.Begin());
  for (std::int64_t i = 0; i < trips && goes_on; ++i) {
    bodies.set(body.inputs[0], Scalar(format::ElementType::kInt64, i));
    bodies.set(body.inputs[1], Scalar(format::ElementType::kBool, 1));
    QTX_RETURN_IF_ERROR(iteration.Next());
    QTX_ASSIGN_OR_RETURN(const Tensor* condition, ValueOf(bodies, body.outputs[0]));
    // Without a condition the body's is not looked at.
    if (!step.node->inputs[1].empty()) {
      QTX_ASSIGN_OR_RETURN(goes_on, Condition(*condition));
    }
  }
  return iteration.End();
}

Result<std::vector<Tensor>> RunScan(const Step& step, const BodyRun& bodies) {
  const format::Node& node = *step.node;
  const format::Scope& body = step.bodies[0];
  const auto scanned = static_cast<std::size_t>(node.IntOr("num_scan_inputs", 1));
  const std::size_t carried = node.inputs.size() - scanned;
  std::vector<Tensor> sequences;  // in bytes
  std::vector<const Tensor*> given;
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < scanned; ++i) {
    QTX_ASSIGN_OR_RETURN(const Tensor* sequence, ValueOf(bodies, node.inputs[carried + i]));
    QTX_ASSIGN_OR_RETURN(const std::size_t axis,
                         AxisOf(node, "scan_input_axes", i, sequence->dims.size()));
    sequences.push_back(InBytes(*sequence));
    given.push_back(sequence);
    axes.push_back(axis);
    if (sequence->dims[axis] != sequences[0].dims[axes[0]])
      return Invalid("input '" + node.inputs[carried + i] + "'", "is of another length");
  }
  Iteration iteration(step, bodies, 0, carried, 0);
  QTX_RETURN_IF_ERROR(iteration.Begin());
  const std::int64_t length = sequences[0].dims[axes[0]];
  for (std::int64_t at = 0; at < length; ++at) {
    for (std::size_t i = 0; i < scanned; ++i) {
      const bool backwards = ScanAttribute(node, "scan_input_directions", i) != 0;
      Tensor part = Cut(sequences[i], axes[i], backwards ? length - 1 - at : at);
      bodies.set(body.inputs[carried + i],
                 FromBytes(std::move(part), given[i]->elem_type, given[i]->quantization));
    }
    QTX_RETURN_IF_ERROR(iteration.Next());
  }
  return iteration.End();
}

}  // namespace

Result<std::vector<Tensor>> RunBodies(const Step& step, const BodyRun& bodies) {
  const format::Node& node = *step.node;
  if (node.op_type == "If") return RunIf(step, bodies);
  // graph.C11 looks at nodes whose number of scanned values is one.
  const bool is_loop = node.op_type == "Loop";
  const std::int64_t inputs = static_cast<std::int64_t>(node.inputs.size());
  const std::int64_t scanned = is_loop ? 2 : node.IntOr("num_scan_inputs", 0);
  if (scanned < 1 || scanned > inputs) {
    return Invalid(is_loop ? "input" : "attribute 'num_scan_inputs'",
                   "found " + std::to_string(is_loop ? inputs : scanned) + ", expected " +
                       (is_loop ? "2 or more" : "1 to " + std::to_string(inputs)));
  }
  if (step.bodies.empty()) return Invalid("", "found no body");
  return is_loop ? RunLoop(step, bodies) : RunScan(step, bodies);
}

}  // namespace qtx::reference
