// Rows of tensors, as integers of a grid, added to sums of X^T X.
#include <algorithm>
#include <cmath>

#include "packed_rows.h"
#include "patches.h"
#include "qtx/calibrate/gram.h"

namespace qtx::calibrate {
namespace {

using format::Tensor;

constexpr auto kRows = static_cast<std::int64_t>(PackedRows::kRows);

// The grid's integers, which binary32 holds.
std::vector<float> Integers(int exponent, std::span<const float> values) {
  constexpr double kMost = 1 << 23;
  constexpr double kRounder = 0x1.8p52;  // numbers this large have no fraction: half to even
  const double scale = std::ldexp(1.0, -exponent);
  std::vector<float> integers(values.size());
  std::ranges::transform(values, integers.begin(), [scale](float value) {
    const double at = static_cast<double>(value) * scale;
    const double limited = at > kMost ? kMost : at < -kMost ? -kMost : at;
    return std::isnan(at) ? 0 : static_cast<float>((limited + kRounder) - kRounder);
  });
  return integers;
}

// Rows of the last dimension.
void AddRows(std::span<const float> integers, Gram& gram) {
  const auto size = static_cast<std::size_t>(gram.size);
  PackedRows packed(size);
  for (std::size_t at = 0; at < integers.size(); at += PackedRows::kRows * size) {
    const auto part =
        integers.subspan(at, std::min(PackedRows::kRows * size, integers.size() - at));
    for (std::size_t i = 0; i < part.size(); ++i) packed.Set(i / size, i % size, part[i]);
    packed.AddProducts(part.size() / size, gram.sums.data());
  }
}

// The patches of `group`, whose places in the first channel of the input are given.
void PackPatches(std::span<const float> integers, const Patches& patches,
                 std::span<const std::int64_t> places, std::int64_t group, std::int64_t channels,
                 PackedRows& packed) {
  const auto taps = static_cast<std::size_t>(patches.taps());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t row = i / taps, tap = i % taps;
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t at = places[i] + (group * channels + c) * patches.plane();
      packed.Set(row, static_cast<std::size_t>(c) * taps + tap,
                 places[i] < 0 ? 0 : integers[static_cast<std::size_t>(at)]);
    }
  }
}

void AddPatches(std::span<const float> integers, const Patches& patches, Gram& gram) {
  const std::int64_t groups = gram.Groups();
  const std::int64_t channels = gram.size / patches.taps();
  const std::size_t triangle = gram.sums.size() / static_cast<std::size_t>(groups);
  PackedRows packed(static_cast<std::size_t>(gram.size));
  std::vector<std::int64_t> places;
  for (std::int64_t first = 0; first < patches.rows(); first += kRows) {
    const std::int64_t count = std::min(kRows, patches.rows() - first);
    patches.Places(first, count, &places);
    for (std::int64_t group = 0; group < groups; ++group) {
      PackPatches(integers, patches, places, group, channels, packed);
      packed.AddProducts(static_cast<std::size_t>(count),
                         &gram.sums[static_cast<std::size_t>(group) * triangle]);
    }
  }
}

Error BadShape(const Tensor& tensor, const std::string& expected) {
  return {
      ErrorCode::kInvalid, "",
      "found " + format::ToString(std::span(tensor.dims)) + ", expected FLOAT with " + expected};
}

Result<void> AddPatchesOf(const Tensor& tensor, Gram& gram) {
  const format::Dims& kernel = gram.rows.kernel;
  std::int64_t taps = 1;
  for (const std::int64_t size : kernel) taps *= size;
  const std::int64_t channels = gram.size / taps * gram.Groups();
  if (tensor.dims.size() != kernel.size() + 2 || tensor.dims[1] != channels) {
    return BadShape(tensor, std::to_string(channels) + " channels and " +
                                std::to_string(kernel.size()) + " spatial axes");
  }
  QTX_ASSIGN_OR_RETURN(
      auto axes,
      format::WindowAxes(*gram.rows.conv, std::span(tensor.dims).subspan(2), std::span(kernel)));
  QTX_ASSIGN_OR_RETURN(const Patches patches, Patches::Make(tensor.dims, std::move(axes)));
  AddPatches(Integers(gram.exponent, tensor.As<float>()), patches, gram);
  return {};
}

// Of each row, or of each group of channels, the elements of `first` before those of `second`.
Tensor SideBySide(const Tensor& first, const Tensor& second, const Gram& joint) {
  const std::size_t axis = joint.rows.conv ? 1 : first.dims.size() - 1;
  const std::int64_t parts = joint.rows.conv ? joint.Groups() : 1;
  std::int64_t block = first.dims[axis] / parts;
  for (std::size_t i = axis + 1; i < first.dims.size(); ++i) block *= first.dims[i];
  Tensor both{.elem_type = first.elem_type, .dims = first.dims};
  both.dims[axis] *= 2;
  both.bytes.reserve(2 * first.bytes.size());
  const auto size = static_cast<std::size_t>(block) * sizeof(float);
  for (std::size_t at = 0; at < first.bytes.size(); at += size) {
    for (const Tensor* part : {&first, &second})
      both.bytes.insert(both.bytes.end(), part->bytes.begin() + static_cast<std::ptrdiff_t>(at),
                        part->bytes.begin() + static_cast<std::ptrdiff_t>(at + size));
  }
  return both;
}

}  // namespace

Result<void> AddTo(Gram& joint, const Tensor& changed, const Tensor& real) {
  if (changed.elem_type != real.elem_type || changed.dims != real.dims)
    return BadShape(changed, "the shape " + format::ToString(std::span(real.dims)));
  const std::size_t axes = joint.rows.conv ? 2 : 1;
  if (real.dims.size() < axes || (joint.rows.conv && real.dims[1] % joint.Groups() != 0))
    return BadShape(real, "channels for " + std::to_string(joint.Groups()) + " groups");
  if (real.bytes.empty()) return {};
  return AddTo(joint, SideBySide(changed, real, joint));
}

Result<void> AddTo(Gram& gram, const Tensor& tensor) {
  if (tensor.elem_type != format::ElementType::kFloat) return BadShape(tensor, "numbers");
  if (gram.rows.conv) return AddPatchesOf(tensor, gram);
  if (tensor.dims.empty() || tensor.dims.back() != gram.size)
    return BadShape(tensor, "a last dimension of " + std::to_string(gram.size));
  AddRows(Integers(gram.exponent, tensor.As<float>()), gram);
  return {};
}

}  // namespace qtx::calibrate
