// Identity, Dropout, Flatten, Reshape, Squeeze, Unsqueeze: the elements stay as they are.
#include <algorithm>
#include <cstring>

#include "float/ops/movement.h"

namespace qtx::backend::floats {

using format::Dims;
using format::Tensor;

bool Movement::Takes(Inputs inputs) const {
  const Tensor* x = InputOr(inputs, 0);
  return x != nullptr && WidthOf(*x) > 0 && !format::IsQuantized(x->elem_type);
}

Result<Tensor> NewLike(const Context& context, const Tensor& like, Dims dims) {
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t size, format::PackedBytes(like.elem_type, count));
  Tensor tensor;
  tensor.elem_type = like.elem_type;
  tensor.dims = std::move(dims);
  tensor.bytes = context.buffers.Take(static_cast<std::size_t>(size));
  return tensor;
}

namespace {

Result<Dims> FlattenDims(const Dims& x, std::int64_t axis) {
  const auto rank = std::ssize(x);
  if (axis < -rank || axis > rank) return Invalid("axis " + std::to_string(axis));
  const auto split = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  return Dims{Product(std::span(x).first(split)), Product(std::span(x).subspan(split))};
}

Result<Dims> ReshapeDims(const Dims& x, Dims dims, bool allow_zero) {
  std::int64_t* inferred = nullptr;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !allow_zero) {
      if (i >= x.size()) return Invalid("shape copies an axis that is not there");
      dims[i] = x[i];
    } else if (dims[i] == -1) {
      if (inferred != nullptr) return Invalid("shape has several -1");
      inferred = &dims[i];
    }
  }
  const std::int64_t count = Product(x);
  if (inferred != nullptr) *inferred = 1;
  QTX_ASSIGN_OR_RETURN(const std::int64_t given, format::ElementCount(dims));
  if (inferred != nullptr) *inferred = given == 0 ? 0 : count / given;
  if (Product(dims) != count) {
    return Invalid(format::ToString(x) + " does not reshape to " + format::ToString(dims));
  }
  return dims;
}

Result<Dims> SqueezeDims(const Dims& x, const std::vector<std::int64_t>& axes, bool all) {
  std::vector<bool> removed(x.size(), false);
  for (std::size_t i = 0; i < x.size(); ++i) removed[i] = all && x[i] == 1;
  for (const std::int64_t axis : axes) {
    QTX_ASSIGN_OR_RETURN(const std::int64_t at, format::NormalizeAxis(axis, std::ssize(x)));
    if (x[static_cast<std::size_t>(at)] != 1) return Invalid("squeezes an axis that is not 1");
    removed[static_cast<std::size_t>(at)] = true;
  }
  Dims dims;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!removed[i]) dims.push_back(x[i]);
  }
  return dims;
}

Result<Dims> UnsqueezeDims(const Dims& x, const std::vector<std::int64_t>& axes) {
  const std::size_t rank = x.size() + axes.size();
  std::vector<bool> added(rank, false);
  for (const std::int64_t axis : axes) {
    QTX_ASSIGN_OR_RETURN(const std::int64_t at,
                         format::NormalizeAxis(axis, static_cast<std::int64_t>(rank)));
    if (added[static_cast<std::size_t>(at)]) return Invalid("unsqueezes an axis twice");
    added[static_cast<std::size_t>(at)] = true;
  }
  Dims dims;
  auto next = x.begin();
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(added[i] ? 1 : *next++);
  return dims;
}

class Reshaping : public Movement {
 public:
  explicit Reshaping(const NodeInfo& info) : node_(info.node), opset_(info.opset) {}

  Result<Tensor> Run(const Context& context, Inputs inputs) const override {
    const Tensor& x = *inputs[0];
    QTX_ASSIGN_OR_RETURN(Dims dims, DimsOf(x.dims, InputOr(inputs, 1)));
    QTX_ASSIGN_OR_RETURN(Tensor y, NewLike(context, x, std::move(dims)));
    if (!x.bytes.empty()) std::memcpy(y.bytes.data(), x.bytes.data(), x.bytes.size());
    return y;
  }

 private:
  // `attribute` until an opset, then the second input.
  Result<std::vector<std::int64_t>> Integers(const char* attribute, std::int64_t since,
                                             const Tensor* input) const {
    if (opset_ < since) return node_.IntsOr(attribute, {});
    return IntegersOf(input, attribute);
  }

  Result<Dims> DimsOf(const Dims& x, const Tensor* second) const {
    const std::string& op = node_.op_type;
    if (op == "Flatten") return FlattenDims(x, node_.IntOr("axis", 1));
    if (op == "Reshape") {
      QTX_ASSIGN_OR_RETURN(Dims shape, Integers("shape", 5, second));
      return ReshapeDims(x, std::move(shape), node_.IntOr("allowzero", 0) != 0);
    }
    if (op == "Unsqueeze") {
      QTX_ASSIGN_OR_RETURN(const auto axes, Integers("axes", 13, second));
      return UnsqueezeDims(x, axes);
    }
    if (op != "Squeeze") return x;
    const bool all = opset_ < 13 ? node_.Find("axes") == nullptr : second == nullptr;
    if (all) return SqueezeDims(x, {}, true);
    QTX_ASSIGN_OR_RETURN(const auto axes, Integers("axes", 13, second));
    return SqueezeDims(x, axes, false);
  }

  const format::Node& node_;
  std::int64_t opset_;
};

}  // namespace

Result<std::unique_ptr<Operator>> MakeReshaping(const NodeInfo& info) {
  const auto& outputs = info.node.outputs;
  if (outputs.size() > 1 && !outputs[1].empty()) return std::unique_ptr<Operator>();
  if (info.node.op_type == "Dropout" && info.opset >= 12 && info.node.inputs.size() > 2 &&
      !info.node.inputs[2].empty()) {
    return std::unique_ptr<Operator>();  // may be training
  }
  return std::make_unique<Reshaping>(info);
}

}  // namespace qtx::backend::floats
