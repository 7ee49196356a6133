#include "qtx/format/einsum.h"

#include <algorithm>
#include <map>

#include "exact_product.h"
#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;
using format::EinsumLabels;

// The axes of a node by their names.  Source: einsum.S1 to einsum.S4.
struct EinsumAxes {
  std::vector<EinsumLabels> inputs;
  EinsumLabels result, summed;
  std::map<std::int32_t, std::int64_t> sizes;

  Dims SizesOf(const EinsumLabels& labels) const {
    Dims dims;
    for (const std::int32_t label : labels) dims.push_back(sizes.at(label));
    return dims;
  }
};

bool Names(const EinsumLabels& labels, std::int32_t label) {
  return std::ranges::find(labels, label) != labels.end();
}

EinsumAxes EinsumAxesOf(const Call& call) {
  const auto equation = *format::ReadEinsumEquation(call.String("equation"));
  std::int64_t ellipsis = 0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const std::string& term = equation.inputs[i];
    if (term.find('.') == std::string::npos) continue;
    ellipsis = std::ssize(call.inputs[i]->dims) - (std::ssize(term) - 1);
  }
  EinsumAxes axes;
  axes.result = format::EinsumLabelsOf(format::EinsumOutput(equation), ellipsis);
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const EinsumLabels& labels =
        axes.inputs.emplace_back(format::EinsumLabelsOf(equation.inputs[i], ellipsis));
    for (std::size_t k = 0; k < labels.size(); ++k) {
      const std::int64_t size = call.inputs[i]->dims[k];
      std::int64_t& known = axes.sizes.emplace(labels[k], size).first->second;
      if (known == 1) known = size;
      if (!Names(axes.result, labels[k]) && !Names(axes.summed, labels[k])) {
        axes.summed.push_back(labels[k]);
      }
    }
  }
  return axes;
}

// An axis of size 1 gives its element at every place: einsum.S4.
Dims StridesAlong(const EinsumLabels& labels, const EinsumLabels& own, const Dims& dims) {
  const Dims steps = format::RowMajorStrides(dims);
  Dims strides(labels.size(), 0);
  for (std::size_t k = 0; k < own.size(); ++k) {
    const auto at = std::ranges::find(labels, own[k]) - labels.begin();
    if (at < std::ssize(labels) && dims[k] != 1) strides[static_cast<std::size_t>(at)] += steps[k];
  }
  return strides;
}

// The sums of products of one element of each input.
class EinsumSums {
 public:
  // Errors: those of Operand::Make; kTooLarge.
  static Result<EinsumSums> Make(const Call& call, const EinsumAxes& axes) {
    EinsumSums sums;
    sums.dims_ = axes.SizesOf(axes.summed);
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      QTX_ASSIGN_OR_RETURN(const Operand operand, OperandAt(call, i));
      sums.operands_.push_back(operand);
      sums.strides_.push_back(StridesAlong(axes.summed, axes.inputs[i], call.inputs[i]->dims));
    }
    if (std::ssize(call.inputs) > ExactProduct::kMostFactors) {
      return Error{
          ErrorCode::kTooLarge, "",
          "found " + std::to_string(call.inputs.size()) + " inputs, expected at most 4096"};
    }
    QTX_ASSIGN_OR_RETURN(sums.count_, format::ElementCount(sums.dims_));
    return sums;
  }
  std::int64_t count() const { return count_; }

  // `starts`: each input's element at the first place of the axes that are summed.
  Real Exact(const std::vector<std::int64_t>& starts) const {
    ExactSum short_products;
    Real long_products;
    ForEachProduct(starts, [&](const std::vector<StridedIndex>& at) {
      if (at.size() == 1) {
        short_products.Add(operands_[0].exact(*at[0]));
      } else if (at.size() == 2) {
        short_products.AddProduct(operands_[0].exact(*at[0]), operands_[1].exact(*at[1]));
      } else {
        ExactProduct product;
        for (std::size_t i = 0; i < at.size(); ++i) product.Multiply(operands_[i].exact(*at[i]));
        Add(product.Value(), long_products);
      }
    });
    return operands_.size() <= 2 ? short_products.Value() : long_products;
  }
  float InBinary32(const std::vector<std::int64_t>& starts) const {
    float sum = 0;
    ForEachProduct(starts, [&](const std::vector<StridedIndex>& at) {
      float product = operands_[0].binary32(*at[0]);
      for (std::size_t i = 1; i < at.size(); ++i) product *= operands_[i].binary32(*at[i]);
      sum += product;
    });
    return sum;
  }

 private:
  static void Add(const Real& term, Real& sum) {
    if (term.finite) {
      sum.value += term.value;
      return;
    }
    sum.special = sum.finite ? term.special : sum.special + term.special;
    sum.finite = false;
  }
  template <typename Take>
  void ForEachProduct(const std::vector<std::int64_t>& starts, const Take& take) const {
    std::vector<StridedIndex> at;
    for (std::size_t i = 0; i < starts.size(); ++i) at.emplace_back(dims_, strides_[i], starts[i]);
    for (std::int64_t k = 0; k < count_; ++k) {
      take(at);
      for (StridedIndex& index : at) index.Next();
    }
  }

  Dims dims_;
  std::int64_t count_ = 0;
  std::vector<Operand> operands_;
  std::vector<Dims> strides_;
};

// Source: einsum.S1 to einsum.S5.
Result<format::Tensor> Einsum(const Call& call) {
  constexpr std::int64_t kMostFactors = std::int64_t{1} << 33;  // some minutes
  const EinsumAxes axes = EinsumAxesOf(call);
  QTX_ASSIGN_OR_RETURN(const EinsumSums sums, EinsumSums::Make(call, axes));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const Dims dims = axes.SizesOf(axes.result);
  const std::int64_t elements = format::ElementCount(output.tensor());
  const std::int64_t each = std::max<std::int64_t>(sums.count(), 1) * std::ssize(call.inputs);
  if (elements > kMostFactors / each) {
    return Error{ErrorCode::kTooLarge, "",
                 "found " + std::to_string(elements) + " sums of " + std::to_string(each) +
                     " factors, expected at most 2^33 factors"};
  }
  std::vector<StridedIndex> at;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    at.emplace_back(dims, StridesAlong(axes.result, axes.inputs[i], call.inputs[i]->dims));
  }
  const bool in_binary32 = DomainFor(call.arithmetic, output) == Domain::kFloat32;
  std::vector<std::int64_t> starts(at.size());
  for (std::int64_t element = 0; element < elements; ++element) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      starts[i] = *at[i];
      at[i].Next();
    }
    if (in_binary32) {
      output.PutFloat(element, sums.InBinary32(starts));
    } else {
      output.PutReal(element, sums.Exact(starts));
    }
  }
  return output.Take();
}

}  // namespace

const Operator kEinsum = {.op_type = "Einsum", .run = Einsum};

}  // namespace qtx::reference::ops
