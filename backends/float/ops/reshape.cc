// Identity, Dropout, Flatten, Reshape, Squeeze, Unsqueeze: the elements stay as they are.
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

Dims FlattenDims(const Dims& x, std::int64_t axis) {
  const std::size_t split = AxisOf(axis, x.size());
  return Dims{Product(std::span(x).first(split)), Product(std::span(x).subspan(split))};
}

Result<Dims> ReshapeDims(const Dims& x, Dims dims, bool allow_zero) {
  std::int64_t* inferred = nullptr;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !allow_zero) {
      dims[i] = x[i];
    } else if (dims[i] == -1) {
      inferred = &dims[i];
    }
  }
  const std::int64_t count = Product(x);
  if (inferred != nullptr) *inferred = 1;
  QTX_ASSIGN_OR_RETURN(const std::int64_t given, format::ElementCount(dims));
  if (inferred != nullptr) *inferred = count / given;
  return dims;
}

Dims SqueezeDims(const Dims& x, const std::vector<std::int64_t>& axes, bool all) {
  std::vector<bool> removed(x.size(), false);
  for (std::size_t i = 0; i < x.size(); ++i) removed[i] = all && x[i] == 1;
  for (const std::int64_t axis : axes) {
    removed[AxisOf(axis, x.size())] = true;
  }
  Dims dims;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!removed[i]) dims.push_back(x[i]);
  }
  return dims;
}

Dims UnsqueezeDims(const Dims& x, const std::vector<std::int64_t>& axes) {
  const std::size_t rank = x.size() + axes.size();
  std::vector<bool> added(rank, false);
  for (const std::int64_t axis : axes) {
    added[AxisOf(axis, added.size())] = true;
  }
  Dims dims;
  auto next = x.begin();
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(added[i] ? 1 : *next++);
  return dims;
}

class Reshaping : public Movement {
 public:
  explicit Reshaping(const NodeInfo& info) : op_(info.node.op_type) {
    if (op_ == "Flatten") axis_ = info.attributes.Int("axis");
    if (op_ == "Reshape") {
      attribute_ = info.node.Find("shape");
      allow_zero_ = info.attributes.Int("allowzero") != 0;
    }
    if (op_ == "Squeeze" || op_ == "Unsqueeze") attribute_ = info.node.Find("axes");
  }

  Result<Tensor> Run(const Context& context, Inputs inputs) const override {
    const Tensor& x = *inputs[0];
    QTX_ASSIGN_OR_RETURN(Dims dims, DimsOf(x.dims, InputOr(inputs, 1)));
    QTX_ASSIGN_OR_RETURN(Tensor y, NewLike(context, x, std::move(dims)));
    if (!x.bytes.empty()) std::memcpy(y.bytes.data(), x.bytes.data(), x.bytes.size());
    return y;
  }

 private:
  Result<Dims> DimsOf(const Dims& x, const Tensor* second) const {
    if (op_ == "Flatten") return FlattenDims(x, axis_);
    if (op_ == "Identity" || op_ == "Dropout") return x;
    const bool named = attribute_ != nullptr || second != nullptr;
    Dims given;
    if (named) given = attribute_ != nullptr ? attribute_->ints : IntegersOf(*second);
    if (op_ == "Reshape") return ReshapeDims(x, std::move(given), allow_zero_);
    return op_ == "Unsqueeze" ? UnsqueezeDims(x, given) : SqueezeDims(x, given, !named);
  }

  const std::string& op_;
  std::int64_t axis_ = 0;
  bool allow_zero_ = false;
  const format::Attribute* attribute_ = nullptr;  // in the place of the second input
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
