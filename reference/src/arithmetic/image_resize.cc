#include "arithmetic/image_resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "arithmetic/output.h"
#include "arithmetic/round.h"
#include "operand.h"
#include "qtx/format/attributes.h"

namespace qtx::reference {
namespace {

using format::Dims;
using format::ElementType;
using std::int64_t;

enum class Mapping { kHalfPixel, kAlignCorners, kAsymmetric };

struct ImageAxis {
  int64_t from = 1, to = 1;
  Mapping mapping = Mapping::kHalfPixel;
  bool cornered() const { return mapping == Mapping::kAlignCorners && to > 1; }
};

// The neighbours of a result along an axis, and the weights of both.
template <typename Weight>
struct Place {
  int64_t first = 0, second = 0;
  std::array<Weight, 2> weights = {};
};
template <typename Weight>
using Places = std::vector<Place<Weight>>;

constexpr int kBits = 10;         // of a weight of the kernels of stored integers
constexpr int kXnnpackBits = 11;  // of XNNPACK's

std::optional<Mapping> MappingOf(const format::Node& node) {
  const std::string name = format::Attributes(node).String("coordinate_transformation_mode");
  if (name == "half_pixel") return Mapping::kHalfPixel;
  if (name == "align_corners") return Mapping::kAlignCorners;
  if (name == "asymmetric") return Mapping::kAsymmetric;
  return std::nullopt;
}

bool IsXnnpacks(const Arithmetic& arithmetic) {
  return arithmetic.kernels == Arithmetic::Kernels::kXnnpack;
}

bool IsOfWholeImages(const Call& call, const Dims& from, const Dims& to) {
  if (from.size() != 4 || call.node.Find("axes") != nullptr || from[0] != to[0] ||
      from[1] != to[1] || call.String("keep_aspect_ratio_policy") != "stretch") {
    return false;
  }
  const format::Tensor* scales = call.Input(2);
  const bool by_scales = scales != nullptr && format::ElementCount(*scales) > 0;
  constexpr int64_t kLongest = int64_t{1} << 20;
  for (std::size_t i = 0; i < 4; ++i) {
    if (from[i] <= 0 || to[i] <= 0 || from[i] >= kLongest || to[i] >= kLongest) return false;
    const float ratio = static_cast<float>(to[i]) / static_cast<float>(from[i]);
    if (by_scales && scales->As<float>()[i] != ratio) return false;
  }
  return true;
}

int64_t Parted(int64_t from, int64_t to) { return ((from << kBits) + to / 2) / to; }

// Coordinates in units of 2^-10.  nullopt: one lies beyond the image.
std::optional<Places<int64_t>> WholePlaces(const ImageAxis& axis) {
  const int64_t stride =
      axis.cornered() ? Parted(axis.from - 1, axis.to - 1) : Parted(axis.from, axis.to);
  constexpr int64_t kOne = int64_t{1} << kBits;
  const int64_t shift = axis.mapping == Mapping::kHalfPixel ? stride / 2 - kOne / 2 : 0;
  Places<int64_t> places;
  for (int64_t i = 0; i < axis.to; ++i) {
    const int64_t at = i * stride + shift;
    Place<int64_t> place{std::max<int64_t>(at / kOne, 0),
                         std::min((at + kOne - 1) / kOne, axis.from - 1)};
    if (place.first >= axis.from) return std::nullopt;
    const int64_t rest = at - kOne * place.first;
    place.weights = {kOne - rest, rest};
    places.push_back(place);
  }
  return places;
}

float Ratio(int64_t from, int64_t to) { return static_cast<float>(from) / static_cast<float>(to); }
float Ratio(const ImageAxis& axis) {
  return axis.cornered() ? Ratio(axis.from - 1, axis.to - 1) : Ratio(axis.from, axis.to);
}

Places<float> FloatPlaces(const ImageAxis& axis) {
  const float ratio = Ratio(axis);
  Places<float> places;
  for (int64_t i = 0; i < axis.to; ++i) {
    const auto position = static_cast<float>(i);
    const float at =
        axis.mapping == Mapping::kHalfPixel ? (position + 0.5F) * ratio - 0.5F : position * ratio;
    Place<float> place{std::max<int64_t>(static_cast<int64_t>(std::floor(at)), 0),
                       std::min(static_cast<int64_t>(std::ceil(at)), axis.from - 1)};
    const float share = at - static_cast<float>(place.first);
    place.weights = {1 - share, share};
    places.push_back(place);
  }
  return places;
}

Places<int64_t> XnnpackPlaces(const ImageAxis& axis) {
  const float ratio = Ratio(axis);
  const float start = 0.5F * ratio - 0.5F;
  constexpr int64_t kOne = int64_t{1} << kXnnpackBits;
  Places<int64_t> places;
  for (int64_t i = 0; i < axis.to; ++i) {
    float at = static_cast<float>(i) * ratio;
    if (axis.mapping == Mapping::kHalfPixel) {
      at = std::clamp(at + start, 0.0F, static_cast<float>(axis.from - 1));
    }
    const auto first = static_cast<int64_t>(at);
    const float rest = (at - static_cast<float>(first)) * static_cast<float>(kOne);
    const auto share = static_cast<int64_t>(RoundFloat(rest, TieRule::kHalfEven));
    places.push_back({first, std::min(first + 1, axis.from - 1), {kOne - share, share}});
  }
  return places;
}

// Of one image and channel: its stored values, by row and column.
class Image {
 public:
  Image(const Operand& x, int64_t start, int64_t width) : x_(x), start_(start), width_(width) {}
  int64_t operator()(int64_t row, int64_t column) const {
    return x_.stored(start_ + row * width_ + column);
  }
  // Of neighbour k: the second in height where k is odd, in width where it is 2 or 3.
  template <typename Weight>
  int64_t At(int k, const Place<Weight>& row, const Place<Weight>& column) const {
    return (*this)(k % 2 == 0 ? row.first : row.second, k < 2 ? column.first : column.second);
  }

 private:
  const Operand& x_;
  int64_t start_, width_;
};

struct Blend {
  int bits;     // of a weight
  TieRule tie;  // of the one rounding
  int64_t operator()(const Image& image, const Place<int64_t>& row,
                     const Place<int64_t>& column) const {
    int64_t sum = 0;
    for (int k = 0; k < 4; ++k) {
      const auto second_row = static_cast<std::size_t>(k % 2);
      const auto second_column = static_cast<std::size_t>(k / 2);
      sum += image.At(k, row, column) * row.weights[second_row] * column.weights[second_column];
    }
    return RoundShift(sum, 2 * bits, tie);
  }
};

// tflite_float64.S6: the weights multiply one after the other.
int64_t BlendInTurn(const Image& image, const Place<float>& row, const Place<float>& column) {
  float sum = 0;
  for (int k = 0; k < 4; ++k) {
    const auto element = static_cast<float>(image.At(k, row, column));
    sum += element * row.weights[static_cast<std::size_t>(k % 2)] *
           column.weights[static_cast<std::size_t>(k / 2)];
  }
  return static_cast<int64_t>(std::trunc(sum + 0.5F));
}

// tflite_half_up.S6: their product multiplies, row by row.
int64_t BlendByRows(const Image& image, const Place<float>& row, const Place<float>& column) {
  float sum = 0;
  for (const int k : {0, 2, 1, 3}) {
    const float weight = row.weights[static_cast<std::size_t>(k % 2)] *
                         column.weights[static_cast<std::size_t>(k / 2)];
    sum += static_cast<float>(image.At(k, row, column)) * weight;
  }
  return static_cast<int64_t>(std::trunc(sum + 0.5F));
}

template <typename Weight, typename Function>
void PutImages(const Operand& x, const Places<Weight>& rows, const Places<Weight>& columns,
               const Function& function, Output* y) {
  const Dims& dims = x.tensor().dims;
  int64_t element = 0;
  for (int64_t channel = 0; channel < dims[0] * dims[1]; ++channel) {
    const Image image(x, channel * dims[2] * dims[3], dims[3]);
    for (const Place<Weight>& row : rows) {
      for (const Place<Weight>& column : columns) {
        y->PutStored(element++, function(image, row, column));
      }
    }
  }
}

}  // namespace

bool HasResizeKernel(const Arithmetic& arithmetic, const format::Node& node, const ValueType& x,
                     const ValueType& y) {
  const bool xnnpack = IsXnnpacks(arithmetic);
  if (!xnnpack && arithmetic.litert == Arithmetic::LiteRt::kNone) return false;
  const bool own = StandsFor(node, "RESIZE_BILINEAR");
  const bool foreign = node.origin && node.origin->framework == "tflite" && !own;
  const bool types = Is8Bit(x) || (x.elem_type == ElementType::kInt16Q && !xnnpack);
  return node.op_type == "Resize" && node.domain.empty() && !foreign && (own || !xnnpack) &&
         format::Attributes(node).String("mode") == "linear" && MappingOf(node).has_value() &&
         types && x.elem_type == y.elem_type && HasOneScale(x) && HasOneScale(y) && MapsAlike(x, y);
}

Result<std::optional<format::Tensor>> RunResizeKernel(const Call& call) {
  const format::Tensor* input = call.Input(0);
  if (input == nullptr || !HasResizeKernel(call.arithmetic, call.node, *input, call.outputs[0])) {
    return std::optional<format::Tensor>();
  }
  const Dims& from = input->dims;
  QTX_ASSIGN_OR_RETURN(const Dims to, call.OutputDims());
  if (!IsOfWholeImages(call, from, to)) return std::optional<format::Tensor>();
  const Mapping mapping = *MappingOf(call.node);
  const ImageAxis height{from[2], to[2], mapping}, width{from[3], to[3], mapping};
  QTX_ASSIGN_OR_RETURN(const Operand x, Operand::Make(*input));
  QTX_ASSIGN_OR_RETURN(Output y, Output::Make(call, to));
  if (IsXnnpacks(call.arithmetic)) {
    PutImages(x, XnnpackPlaces(height), XnnpackPlaces(width), Blend{kXnnpackBits, TieRule::kHalfUp},
              &y);
  } else if (x.tensor().elem_type == ElementType::kUint8Q) {
    const bool in_turn = call.arithmetic.litert == Arithmetic::LiteRt::kReference;
    PutImages(x, FloatPlaces(height), FloatPlaces(width), in_turn ? BlendInTurn : BlendByRows, &y);
  } else {
    const auto rows = WholePlaces(height), columns = WholePlaces(width);
    if (!rows || !columns) return std::optional<format::Tensor>();
    PutImages(x, *rows, *columns, Blend{kBits, TieRule::kHalfAway}, &y);
  }
  return std::optional(y.Take());
}

}  // namespace qtx::reference
