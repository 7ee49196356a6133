// What the tests of moving operators share: runs with several outputs, coordinates, and random
// tensors of every granularity.
#pragma once

#include <functional>

#include "../run_op.h"

namespace qtx::reference::testing {

/// One run of an operator with any number of outputs.
struct AllRun {
  std::string op;
  std::vector<Attribute> attributes = {};
  std::vector<const Tensor*> inputs = {};
  std::vector<OutputType> outputs = {};
  std::string arithmetic = "exact";
  std::int64_t opset = 0;  // the newest

  Result<std::vector<Tensor>> Run() const {
    format::Node node;
    node.op_type = op;
    node.attributes = attributes;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      node.inputs.push_back(inputs[i] == nullptr ? "" : "in" + std::to_string(i));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const bool omitted = outputs[i].elem_type == ElementType::kUndefined;
      node.outputs.push_back(omitted ? "" : "out" + std::to_string(i));
    }
    Counters counters;
    const Call call{.node = node,
                    .arithmetic = **FindArithmetic(arithmetic),
                    .opset = opset,
                    .inputs = inputs,
                    .outputs = outputs,
                    .counters = &counters};
    return RunOperator(*FindOperator("", op), call);
  }
  std::string Error() const {
    const auto result = Run();
    return result.has_value() ? "" : result.error().Text();
  }
};

inline Dims CoordinatesOf(std::int64_t element, const Dims& dims) {
  Dims at(dims.size());
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    at[axis] = element % dims[axis];
    element /= dims[axis];
  }
  return at;
}

inline std::int64_t ElementAt(const Dims& at, const Dims& dims) {
  std::int64_t element = 0;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) element = element * dims[axis] + at[axis];
  return element;
}

inline std::int64_t CountOf(const Dims& dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

/// One scale, one per position of a random axis, one per block, or one per block of two axes.
inline Quantization AnyGranularity(Random& random, const Dims& dims) {
  const auto last = static_cast<std::int64_t>(dims.size()) - 1;
  const std::int64_t kind = dims.empty() ? 0 : random.In(0, 3);
  if (kind == 0) return random.PerTensor();
  Quantization q = Q({});
  q.axis = {random.In(0, last)};
  if (kind == 3 && last > 0) q.axis = {last, 0};
  q.block_shape.assign(q.axis.size(), kind == 1 ? 1 : 2);
  std::int64_t count = 1;
  for (std::size_t i = 0; i < q.axis.size(); ++i) {
    const std::int64_t size = dims[static_cast<std::size_t>(q.axis[i])];
    count *= (size + q.block_shape[i] - 1) / q.block_shape[i];
  }
  for (std::int64_t i = 0; i < count; ++i) {
    q.scale.push_back(random.Scale());
    q.offset.push_back(static_cast<std::int32_t>(random.In(-9, 9)));
  }
  return q;
}

/// The stored values that y must have when its element i is x's at source(coordinates of i).
inline Values TextbookMoved(const Tensor& x, const OutputType& type, const Dims& dims,
                            const std::function<Dims(const Dims&)>& source) {
  const std::vector<mpq_class> reals = TextbookReals(x);
  std::vector<mpq_class> moved;
  for (std::int64_t i = 0; i < CountOf(dims); ++i) {
    const std::int64_t from = ElementAt(source(CoordinatesOf(i, dims)), x.dims);
    moved.push_back(reals[static_cast<std::size_t>(from)]);
  }
  return TextbookStored(moved, type, dims);
}

}  // namespace qtx::reference::testing
