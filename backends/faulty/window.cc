#include "window.h"

#include <algorithm>

namespace qtx::backend::faulty {
namespace {

Result<Dims> ListOf(const Call& call, const char* name, std::size_t count, std::int64_t fallback,
                    std::int64_t least) {
  const Dims values = call.node.IntsOr(name, Dims(count, fallback));
  const bool fits = values.size() == count && std::ranges::all_of(values, [&](std::int64_t value) {
                      return value >= least && value < (1 << 20);
                    });
  if (!fits) return Declined(call, "attribute '" + std::string(name) + "'");
  return values;
}

Result<void> ReadLists(const Call& call, Window& window) {
  const std::size_t rank = window.input.size();
  QTX_ASSIGN_OR_RETURN(window.stride, ListOf(call, "strides", rank, 1, 1));
  QTX_ASSIGN_OR_RETURN(window.dilation, ListOf(call, "dilations", rank, 1, 1));
  QTX_ASSIGN_OR_RETURN(const Dims pads, ListOf(call, "pads", 2 * rank, 0, 0));
  window.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  window.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  return {};
}

std::int64_t Extent(const Window& window, std::size_t d) {
  return window.dilation[d] * (window.kernel[d] - 1) + 1;
}

Result<void> AutoPad(const Call& call, const std::string& mode, Window& window) {
  for (std::size_t d = 0; d < window.input.size(); ++d) {
    if (mode == "VALID") {
      window.begin[d] = window.end[d] = 0;
      continue;
    }
    const std::int64_t out = (window.input[d] + window.stride[d] - 1) / window.stride[d];
    const std::int64_t total = std::max<std::int64_t>(
        0, (out - 1) * window.stride[d] + Extent(window, d) - window.input[d]);
    const bool lower = mode == "SAME_LOWER" && !call.Is(Fault::kSameLowerAsUpper);
    window.begin[d] = lower ? total - total / 2 : total / 2;
    window.end[d] = total - window.begin[d];
  }
  return {};
}

Result<std::string> AutoPadOf(const Call& call) {
  const std::string mode = call.String("auto_pad");
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    return Declined(call, "auto_pad '" + mode + "'");
  }
  return mode;
}

// Source: conv.S5; average_pool.S3 for ceil_mode.
Result<void> SetOutput(const Call& call, Window& window) {
  const bool ceil = call.RoundsUp();
  window.output.clear();
  for (std::size_t d = 0; d < window.input.size(); ++d) {
    const std::int64_t stride = window.stride[d];
    const std::int64_t room = window.input[d] + window.begin[d] + window.end[d] - Extent(window, d);
    // With ceil_mode the first window may reach less than a stride beyond the padding.
    if (room < 0 && !(ceil && room > -stride)) {
      return Declined(call, "a window larger than the padded input");
    }
    std::int64_t out = room / stride + 1;
    if (ceil) {
      out = (room + stride - 1) / stride + 1;
      const bool begins_in_padding = (out - 1) * stride >= window.input[d] + window.begin[d];
      if (begins_in_padding && !call.Is(Fault::kCeilModeKeepsLastWindow)) --out;
      if (call.Is(Fault::kCeilModeOffByOne) && out > room / stride + 1) --out;
    }
    window.output.push_back(out);
  }
  return {};
}

}  // namespace

std::vector<Tap> Window::Taps(std::int64_t at) const {
  const Dims o = Coordinates(at, output);
  std::vector<Tap> taps;
  for (std::int64_t k = 0; k < Size(kernel); ++k) {
    const Dims c = Coordinates(k, kernel);
    Tap tap{.kernel = k, .input = 0};
    for (std::size_t d = 0; d < input.size(); ++d) {
      const std::int64_t i = o[d] * stride[d] + c[d] * dilation[d] - begin[d];
      tap.beyond = tap.beyond || i >= input[d] + end[d];
      const bool inside = i >= 0 && i < input[d] && tap.input >= 0;
      tap.input = inside ? tap.input * input[d] + i : -1;
    }
    taps.push_back(tap);
  }
  return taps;
}

std::vector<Tap> Window::TransposedTaps(std::int64_t at) const {
  const Dims o = Coordinates(at, output);
  std::vector<Tap> taps;
  for (std::int64_t k = 0; k < Size(kernel); ++k) {
    const Dims c = Coordinates(k, kernel);
    Tap tap{.kernel = k, .input = 0};
    for (std::size_t d = 0; d < input.size(); ++d) {
      const std::int64_t i = o[d] + begin[d] - c[d] * dilation[d];
      const bool reaches = i >= 0 && i % stride[d] == 0 && i / stride[d] < input[d];
      tap.input = reaches && tap.input >= 0 ? tap.input * input[d] + i / stride[d] : -1;
    }
    if (tap.input >= 0) taps.push_back(tap);
  }
  return taps;
}

Result<Window> WindowOf(const Call& call, const Dims& input, const Dims& kernel) {
  Window window{.input = input, .kernel = kernel};
  const Dims declared = call.node.IntsOr("kernel_shape", kernel);
  const bool empty = std::ranges::any_of(kernel, [](std::int64_t size) { return size < 1; });
  if (declared != kernel || empty) return Declined(call, "attribute 'kernel_shape'");
  QTX_RETURN_IF_ERROR(CheckSize(call, kernel));
  QTX_RETURN_IF_ERROR(ReadLists(call, window));
  QTX_ASSIGN_OR_RETURN(const std::string mode, AutoPadOf(call));
  if (mode != "NOTSET") QTX_RETURN_IF_ERROR(AutoPad(call, mode, window));
  QTX_RETURN_IF_ERROR(SetOutput(call, window));
  QTX_RETURN_IF_ERROR(CheckSize(call, window.output));
  if (call.Is(Fault::kPadsSwapped)) std::swap(window.begin, window.end);
  const bool convolves = call.node.op_type.find("Conv") != std::string::npos;
  if (call.Is(Fault::kDilationIgnored)) std::ranges::fill(window.dilation, 1);
  const bool pointwise = convolves && Size(kernel) == 1;
  if (call.Is(Fault::kPointwiseIgnoresStride) && pointwise) std::ranges::fill(window.stride, 1);
  return window;
}

Result<Window> TransposedWindowOf(const Call& call, const Dims& input, const Dims& kernel) {
  Window window{.input = input, .kernel = kernel};
  const std::size_t rank = input.size();
  if (call.node.IntsOr("kernel_shape", kernel) != kernel || Size(kernel) < 1) {
    return Declined(call, "attribute 'kernel_shape'");
  }
  if (call.node.Find("output_shape") != nullptr || call.node.Find("auto_pad") != nullptr) {
    return Declined(call, "output_shape and auto_pad");
  }
  QTX_RETURN_IF_ERROR(ReadLists(call, window));
  QTX_ASSIGN_OR_RETURN(const Dims extra, ListOf(call, "output_padding", rank, 0, 0));
  for (std::size_t d = 0; d < rank; ++d) {
    if (extra[d] >= std::max(window.stride[d], window.dilation[d])) {
      return Declined(call, "attribute 'output_padding'");
    }
    window.output.push_back(window.stride[d] * (input[d] - 1) + extra[d] + Extent(window, d) -
                            window.begin[d] - window.end[d]);
    if (window.output[d] < 1 || input[d] < 1) return Declined(call, "an empty result");
    if (call.Is(Fault::kOutputPaddingAtBegin)) window.begin[d] -= extra[d];
  }
  QTX_RETURN_IF_ERROR(CheckSize(call, window.output));
  return window;
}

}  // namespace qtx::backend::faulty
