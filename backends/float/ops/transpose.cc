// Transpose, and Pad with a constant: elements taken from a box with steps of its own.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "float/ops/movement.h"

namespace qtx::backend::floats {
namespace {

using format::Dims;
using format::Tensor;

// Writes a box of the target: its element at coordinates c goes to sum c * to_steps, from sum c *
// from_steps, both in elements of type T.
template <typename T>
void CopyBox(const Dims& box, const T* from, const Dims& from_steps, T* to, const Dims& to_steps) {
  if (Product(box) == 0) return;
  const std::size_t rank = box.size();
  if (rank == 0) {
    *to = *from;
    return;
  }
  Dims at(rank, 0);
  while (true) {
    const std::int64_t n = box[rank - 1];
    for (std::int64_t i = 0; i < n; ++i) {
      to[i * to_steps[rank - 1]] = from[i * from_steps[rank - 1]];
    }
    std::size_t axis = rank - 1;
    while (true) {
      if (axis-- == 0) return;
      from += from_steps[axis];
      to += to_steps[axis];
      if (++at[axis] < box[axis]) break;
      from -= from_steps[axis] * box[axis];
      to -= to_steps[axis] * box[axis];
      at[axis] = 0;
    }
  }
}

struct Box {
  Dims size, from_steps, to_steps;
  std::int64_t from = 0, to = 0;  // where it begins
};

void Copy(const Box& box, const Tensor& x, Tensor& y) {
  const auto copy = [&]<typename T>(T) {
    CopyBox(box.size, reinterpret_cast<const T*>(x.bytes.data()) + box.from, box.from_steps,
            reinterpret_cast<T*>(y.bytes.data()) + box.to, box.to_steps);
  };
  switch (WidthOf(x)) {
    case 1:
      return copy(std::uint8_t{});
    case 2:
      return copy(std::uint16_t{});
    case 4:
      return copy(std::uint32_t{});
    default:
      return copy(std::uint64_t{});
  }
}

class Transpose : public Movement {
 public:
  explicit Transpose(const NodeInfo& info) : permutation_(info.attributes.Ints("perm")) {}

  bool Takes(Inputs inputs) const override {
    return Movement::Takes(inputs) && WidthOf(*inputs[0]) <= 8;
  }

  Result<Tensor> Run(const Context& context, Inputs inputs) const override {
    const Tensor& x = *inputs[0];
    std::vector<std::int64_t> perm = permutation_;
    if (perm.empty()) {
      perm.resize(x.dims.size());
      std::iota(perm.rbegin(), perm.rend(), 0);
    }
    const Dims strides = format::RowMajorStrides(x.dims);
    Dims dims;
    Box box;
    for (const std::int64_t axis : perm) {
      dims.push_back(x.dims[static_cast<std::size_t>(axis)]);
      box.from_steps.push_back(strides[static_cast<std::size_t>(axis)]);
    }
    QTX_ASSIGN_OR_RETURN(Tensor y, NewLike(context, x, dims));
    box.size = dims;
    box.to_steps = format::RowMajorStrides(dims);
    Copy(box, x, y);
    return y;
  }

 private:
  std::vector<std::int64_t> permutation_;
};

class Pad : public Movement {
 public:
  bool Takes(Inputs inputs) const override {
    const Tensor* x = InputOr(inputs, 0);
    const Tensor* value = InputOr(inputs, 2);
    return x != nullptr && x->elem_type == format::ElementType::kFloat &&
           (value == nullptr || value->elem_type == format::ElementType::kFloat);
  }

  Result<Tensor> Run(const Context& context, Inputs inputs) const override {
    const Tensor& x = *inputs[0];
    QTX_ASSIGN_OR_RETURN(const auto pads, PadsOf(inputs));
    const std::size_t rank = x.dims.size();
    Dims dims;
    Box box;
    const Dims strides = format::RowMajorStrides(x.dims);
    for (std::size_t i = 0; i < rank; ++i) {  // negative pads cut
      dims.push_back(x.dims[i] + pads[i] + pads[rank + i]);
      const std::int64_t begin = std::max<std::int64_t>(0, -pads[i]);
      const std::int64_t end = x.dims[i] + std::min<std::int64_t>(0, pads[rank + i]);
      box.size.push_back(std::max<std::int64_t>(0, end - begin));
      box.from += std::min(begin, x.dims[i]) * strides[i];
    }
    box.from_steps = strides;
    box.to_steps = format::RowMajorStrides(dims);
    QTX_ASSIGN_OR_RETURN(Tensor y, NewLike(context, x, dims));
    for (std::size_t i = 0; i < rank; ++i) {
      box.to += std::clamp<std::int64_t>(pads[i], 0, dims[i]) * box.to_steps[i];
    }
    const Tensor* value = InputOr(inputs, 2);
    std::ranges::fill(y.As<float>(), value != nullptr ? *DataOf(*value) : 0.0F);
    if (Product(box.size) > 0) Copy(box, x, y);
    return y;
  }

 private:
  // Begins and ends of all axes.
  static Result<std::vector<std::int64_t>> PadsOf(Inputs inputs) {
    const auto rank = static_cast<std::size_t>(Rank(*inputs[0]));
    const std::vector<std::int64_t> given = IntegersOf(*inputs[1]);
    std::vector<std::int64_t> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    if (InputOr(inputs, 3) != nullptr) axes = IntegersOf(*inputs[3]);
    std::vector<std::int64_t> pads(2 * rank, 0);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::size_t at = AxisOf(axes[i], inputs[0]->dims.size());
      constexpr std::int64_t kLargest = std::int64_t{1} << 32;
      if (std::abs(given[i] / 2) > kLargest || std::abs(given[axes.size() + i] / 2) > kLargest) {
        return Error{ErrorCode::kTooLarge, "", "pads: supported up to 2^33"};
      }
      pads[at] = given[i];
      pads[rank + at] = given[axes.size() + i];
    }
    return pads;
  }
};

}  // namespace

Result<std::unique_ptr<Operator>> MakeTranspose(const NodeInfo& info) {
  return std::make_unique<Transpose>(info);
}

Result<std::unique_ptr<Operator>> MakePad(const NodeInfo& info) {
  if (info.attributes.String("mode") != "constant") return std::unique_ptr<Operator>();
  return std::make_unique<Pad>();
}

}  // namespace qtx::backend::floats
