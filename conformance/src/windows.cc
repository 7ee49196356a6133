#include "windows.h"

#include <functional>
#include <numeric>

namespace qtx::conformance {

using format::Dims;
using format::WindowAxis;

namespace {

std::int64_t Product(const std::vector<WindowAxis>& axes, std::int64_t WindowAxis::*size) {
  return std::transform_reduce(axes.begin(), axes.end(), std::int64_t{1}, std::multiplies<>(),
                               std::mem_fn(size));
}

}  // namespace

std::optional<std::vector<WindowAxis>> AxesOf(const format::Node& node, const Dims& x,
                                              const Dims& kernel) {
  if (x.size() != kernel.size() + 2) return std::nullopt;
  auto axes = format::WindowAxes(node, std::span(x).subspan(2), kernel);
  return axes.has_value() ? std::optional(*std::move(axes)) : std::nullopt;
}

Dims PadsOf(const std::vector<WindowAxis>& axes) {
  Dims pads;
  for (const auto end : {&WindowAxis::pad_begin, &WindowAxis::pad_end}) {
    for (const WindowAxis& axis : axes) pads.push_back(axis.*end);
  }
  return pads;
}

Dims OutputsOf(const std::vector<WindowAxis>& axes) {
  Dims outputs;
  for (const WindowAxis& axis : axes) outputs.push_back(axis.output);
  return outputs;
}

std::optional<Windows> Windows::Of(const format::Node& node, const Dims& x) {
  if (!node.op_type.ends_with("Pool") || x.size() < 3) return std::nullopt;
  const bool global = node.op_type.starts_with("Global");
  auto axes =
      AxesOf(node, x, global ? Dims(x.begin() + 2, x.end()) : node.IntsOr("kernel_shape", {}));
  return axes ? std::optional(Windows(*std::move(axes))) : std::nullopt;
}

std::int64_t Windows::image() const { return Product(axes_, &WindowAxis::input); }
std::int64_t Windows::outputs() const { return Product(axes_, &WindowAxis::output); }

Window Windows::At(std::int64_t output) const {
  Window window;
  const std::int64_t kernel = Product(axes_, &WindowAxis::kernel);
  for (std::int64_t k = 0; k < kernel; ++k) {
    std::int64_t element = 0, step = 1, tap = k, at = output;
    bool inside = true, beyond = false;
    for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
      const std::int64_t i =
          at % axis->output * axis->stride + tap % axis->kernel * axis->dilation - axis->pad_begin;
      inside = inside && i >= 0 && i < axis->input;
      beyond = beyond || i >= axis->input + axis->pad_end;
      element += i * step;
      step *= axis->input;
      tap /= axis->kernel;
      at /= axis->output;
    }
    if (inside) {
      window.elements.push_back(element);
    } else {
      ++(beyond ? window.beyond : window.padding);
    }
  }
  return window;
}

}  // namespace qtx::conformance
