#include "patches.h"

#include <utility>

#include "qtx/format/limits.h"

namespace qtx::calibrate {

Result<Patches> Patches::Make(const format::Dims& dims, std::vector<format::WindowAxis> axes) {
  Patches patches;
  patches.rows_ = dims[0];
  for (const format::WindowAxis& axis : axes) {
    if (patches.rows_ > format::kMaxElements / axis.output)
      return Error{ErrorCode::kTooLarge, "", "has more patches than a tensor may have elements"};
    patches.rows_ *= axis.output;
    patches.taps_ *= axis.kernel;
    patches.plane_ *= axis.input;
  }
  patches.image_ = dims[1] * patches.plane_;
  patches.axes_ = std::move(axes);
  return patches;
}

void Patches::Places(std::int64_t first, std::int64_t count,
                     std::vector<std::int64_t>* places) const {
  places->clear();
  for (std::int64_t row = first; row < first + count; ++row) {
    for (std::int64_t tap = 0; tap < taps_; ++tap) places->push_back(PlaceOf(row, tap));
  }
}

// Both are split into their axes, from the last on.
std::int64_t Patches::PlaceOf(std::int64_t row, std::int64_t tap) const {
  std::int64_t place = 0, step = 1;
  bool padding = false;
  for (std::size_t a = axes_.size(); a-- > 0;) {
    const format::WindowAxis& axis = axes_[a];
    const std::int64_t at =
        row % axis.output * axis.stride + tap % axis.kernel * axis.dilation - axis.pad_begin;
    padding |= at < 0 || at >= axis.input;
    place += at * step;
    step *= axis.input;
    row /= axis.output;
    tap /= axis.kernel;
  }
  return padding ? -1 : row * image_ + place;
}

}  // namespace qtx::calibrate
