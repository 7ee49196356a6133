#include "data/input.h"

#include <algorithm>

#include "data/preprocessing.h"

namespace qtx::calibrate {
namespace {

using format::ElementType;
using format::Tensor;

bool Matches(const format::Dims& found, std::size_t from, const format::Shape& shape) {
  for (std::size_t i = 1; i < shape.size(); ++i) {
    if (shape[i].value && *shape[i].value != found[from + i - 1]) return false;
  }
  return true;
}

// The number of samples that a leading dimension holds; 0: it does not fit.
std::int64_t Leading(std::int64_t found, const Input& input) {
  const auto declared = (*input.shape)[0].value;
  if (!declared) return input.split ? found : 1;
  return *declared > 0 && found % *declared == 0 ? found / *declared : std::int64_t{found == 0};
}

}  // namespace

Result<Fit> FitDims(const format::Dims& found, const Input& input) {
  if (!input.shape) return Fit{found, 1};
  const format::Shape& shape = *input.shape;
  const Error misfit{ErrorCode::kInvalid, "",
                     "found shape " + format::ToString(found) + ", expected " +
                         format::ToString(shape) + " or samples of it"};
  if (shape.empty()) return found.empty() ? Result<Fit>(Fit{found, 1}) : Result<Fit>(misfit);
  if (found.size() == shape.size() && Matches(found, 1, shape)) {
    Fit fit{found, Leading(found[0], input)};
    if (fit.count == 0) return misfit;
    fit.dims[0] = found[0] / fit.count;
    return fit;
  }
  const auto batch = shape[0].value;
  if (found.size() + 1 == shape.size() && Matches(found, 0, shape) && batch.value_or(1) == 1) {
    Fit fit{found, 1};
    fit.dims.insert(fit.dims.begin(), 1);
    return fit;
  }
  return misfit;
}

Sample OneInput(Tensor array, const Input& input, const Preprocessing* preprocessing) {
  const bool integer = format::IsIntegerStorage(array.elem_type);
  const bool scaled = integer && preprocessing != nullptr;
  if (array.elem_type == input.elem_type && !scaled) {
    std::vector<Tensor> one;
    one.push_back(std::move(array));
    return one;
  }
  const bool real =
      array.elem_type == ElementType::kFloat16 || array.elem_type == ElementType::kDouble;
  if (input.elem_type != ElementType::kFloat || !(real || scaled)) {
    return Bad(Reason::kType,
               {ErrorCode::kInvalid, "",
                "found elements of type " + std::string(format::Name(array.elem_type)) +
                    ", expected " + std::string(format::Name(input.elem_type)) +
                    (integer && input.elem_type == ElementType::kFloat
                         ? " (or a --preprocess file that says how to scale)"
                         : "")});
  }
  if (scaled) {
    auto done = ScaleArray(array, *preprocessing);
    if (!done.has_value()) return Bad(Reason::kShape, done.error());
    return std::vector<Tensor>{*std::move(done)};
  }
  auto floats = format::MakeTensor(ElementType::kFloat, array.dims);
  if (!floats.has_value()) return Bad(Reason::kShape, floats.error());
  const std::vector<double> values = format::StoredValues(array);
  std::ranges::transform(values, floats->As<float>().begin(),
                         [](double value) { return static_cast<float>(value); });
  return std::vector<Tensor>{*std::move(floats)};
}

}  // namespace qtx::calibrate
