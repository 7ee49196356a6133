#include "label_places.h"

#include <algorithm>

namespace qtx::bench {
namespace {

struct Direction {
  double x, y;
};
// The side of a point that a name is on; right is read most easily.
constexpr Direction kDirections[] = {{1, 0},   {-1, 0}, {1, -1}, {1, 1},
                                     {-1, -1}, {-1, 1}, {0, -1}, {0, 1}};
constexpr double kDistances[] = {7, 14, 22, 32, 44};  // from the point's centre

}  // namespace

bool LabelPlaces::IsFree(const Box& box) const {
  if (box.left < area_.left || box.right > area_.right || box.top < area_.top ||
      box.bottom > area_.bottom) {
    return false;
  }
  return std::ranges::none_of(taken_, [&box](const Box& other) {
    return box.left < other.right && other.left < box.right && box.top < other.bottom &&
           other.top < box.bottom;
  });
}

std::optional<Box> LabelPlaces::Place(double x, double y, double width, double height) {
  for (const double distance : kDistances) {
    for (const auto& [right, down] : kDirections) {
      // The side towards the point is `distance` away; without a side the name is centred.
      const double left = x + right * distance + (right - 1) / 2 * width;
      const double top = y + down * distance + (down - 1) / 2 * height;
      const Box box{left, top, left + width, top + height};
      if (!IsFree(box)) continue;
      Block(box);
      return box;
    }
  }
  return std::nullopt;
}

}  // namespace qtx::bench
