// Where the names of points in a picture go, so that none covers another name or a point.
#pragma once

#include <optional>
#include <vector>

namespace qtx::bench {

/// In pixels; y grows downwards.
struct Box {
  double left, top, right, bottom;
};

class LabelPlaces {
 public:
  /// Names stay within `area`.
  explicit LabelPlaces(const Box& area) : area_(area) {}

  /// Keeps names off a box.
  void Block(const Box& box) { taken_.push_back(box); }

  /// The nearest free box of this size around the point x, y, which later names keep off; nullopt
  /// where none is free within some 50 pixels.
  std::optional<Box> Place(double x, double y, double width, double height);

 private:
  bool IsFree(const Box& box) const;

  Box area_;
  std::vector<Box> taken_;
};

}  // namespace qtx::bench
