// The library's functions for bytes of each kind, chosen by a value's type.
#pragma once

#include <algorithm>

#include "net.h"

namespace qtx::backend::xnnpack {

inline std::size_t CountOf(const peer::Value& value) {
  return static_cast<std::size_t>(format::ElementCount(value.tensor));
}
/// A size or padding as the library takes it; 0 for a negative one.
inline std::uint32_t U32(std::int64_t value) {
  return static_cast<std::uint32_t>(std::max<std::int64_t>(0, value));
}
inline std::string Place(const peer::Reader& node) { return node.Unsupported("").where; }

struct Signed {
  using T = std::int8_t;
  static constexpr auto kCreateAdd = xnn_create_add_nd_qs8;
  static constexpr auto kSetupAdd = xnn_setup_add_nd_qs8;
  static constexpr auto kCreateSub = xnn_create_subtract_nd_qs8;
  static constexpr auto kSetupSub = xnn_setup_subtract_nd_qs8;
  static constexpr auto kCreateMul = xnn_create_multiply_nd_qs8;
  static constexpr auto kSetupMul = xnn_setup_multiply_nd_qs8;
  static constexpr auto kCreateMax = xnn_create_max_pooling2d_nhwc_s8;
  static constexpr auto kSetupMax = xnn_setup_max_pooling2d_nhwc_s8;
  static constexpr auto kCreateMean = xnn_create_global_average_pooling_nwc_qs8;
  static constexpr auto kSetupMean = xnn_setup_global_average_pooling_nwc_qs8;
  static constexpr auto kCreateClamp = xnn_create_clamp_nc_s8;
  static constexpr auto kSetupClamp = xnn_setup_clamp_nc_s8;
  static constexpr auto kCreateSigmoid = xnn_create_sigmoid_nc_qs8;
  static constexpr auto kSetupSigmoid = xnn_setup_sigmoid_nc_qs8;
  static constexpr auto kCreateTanh = xnn_create_tanh_nc_qs8;
  static constexpr auto kSetupTanh = xnn_setup_tanh_nc_qs8;
};
struct Unsigned {
  using T = std::uint8_t;
  static constexpr auto kCreateAdd = xnn_create_add_nd_qu8;
  static constexpr auto kSetupAdd = xnn_setup_add_nd_qu8;
  static constexpr auto kCreateSub = xnn_create_subtract_nd_qu8;
  static constexpr auto kSetupSub = xnn_setup_subtract_nd_qu8;
  static constexpr auto kCreateMul = xnn_create_multiply_nd_qu8;
  static constexpr auto kSetupMul = xnn_setup_multiply_nd_qu8;
  static constexpr auto kCreateMax = xnn_create_max_pooling2d_nhwc_u8;
  static constexpr auto kSetupMax = xnn_setup_max_pooling2d_nhwc_u8;
  static constexpr auto kCreateMean = xnn_create_global_average_pooling_nwc_qu8;
  static constexpr auto kSetupMean = xnn_setup_global_average_pooling_nwc_qu8;
  static constexpr auto kCreateClamp = xnn_create_clamp_nc_u8;
  static constexpr auto kSetupClamp = xnn_setup_clamp_nc_u8;
  static constexpr auto kCreateSigmoid = xnn_create_sigmoid_nc_qu8;
  static constexpr auto kSetupSigmoid = xnn_setup_sigmoid_nc_qu8;
  static constexpr auto kCreateTanh = xnn_create_tanh_nc_qu8;
  static constexpr auto kSetupTanh = xnn_setup_tanh_nc_qu8;
};

template <typename F>
auto ForBytes(const peer::Value& value, F f) {
  return value.type() == format::ElementType::kInt8Q ? f(Signed{}) : f(Unsigned{});
}

}  // namespace qtx::backend::xnnpack
