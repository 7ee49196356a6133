#include "tflite/versions.h"

#include <algorithm>
#include <array>

namespace qtx::convert {
namespace {

using enum schema::BuiltinOperator;
using schema::TensorType;

// Version by the type of input 0; 1 for every other type.
struct Row {
  schema::BuiltinOperator code;
  std::int32_t int8, int16;
};
constexpr std::array kRows = {
    Row{ABS, 2, 3},
    Row{ADD, 2, 3},  // 16 bits: of any scales, pot_scale_int16 is false
    Row{ARG_MAX, 2, 1},
    Row{ARG_MIN, 2, 1},
    Row{AVERAGE_POOL_2D, 2, 3},
    Row{BATCH_MATMUL, 2, 3},
    Row{BROADCAST_TO, 3, 3},  // 2 for other types: version 1 was taken back
    Row{CONCATENATION, 2, 3},
    Row{DEPTH_TO_SPACE, 2, 1},
    Row{EQUAL, 2, 4},
    Row{EXP, 2, 2},
    Row{GATHER, 2, 4},
    Row{GELU, 2, 1},
    Row{GREATER, 2, 1},
    Row{GREATER_EQUAL, 2, 3},
    Row{LEAKY_RELU, 1, 2},
    Row{LESS, 2, 3},
    Row{LESS_EQUAL, 2, 1},
    Row{LOGISTIC, 2, 3},
    Row{LOG_SOFTMAX, 2, 1},
    Row{L2_NORMALIZATION, 2, 1},
    Row{MAXIMUM, 2, 4},
    Row{MAX_POOL_2D, 2, 3},
    Row{MEAN, 2, 3},
    Row{MINIMUM, 2, 4},
    Row{MUL, 2, 4},
    Row{PAD, 2, 3},
    Row{PADV2, 2, 3},
    Row{REDUCE_MAX, 2, 3},
    Row{REDUCE_MIN, 2, 3},
    Row{RELU, 2, 3},
    Row{RELU6, 2, 3},
    Row{RESIZE_BILINEAR, 2, 4},
    Row{RESIZE_NEAREST_NEIGHBOR, 2, 4},
    Row{RSQRT, 2, 3},
    Row{SLICE, 2, 4},
    Row{SOFTMAX, 2, 3},
    Row{SPACE_TO_DEPTH, 2, 1},
    Row{SPLIT, 2, 4},
    Row{STRIDED_SLICE, 2, 1},
    Row{SUB, 2, 5},
    Row{SUM, 2, 1},
    Row{TANH, 2, 3},
    Row{TILE, 3, 1},
    Row{TOPK_V2, 2, 3},
    Row{TRANSPOSE, 2, 5},
};

class Signature {
 public:
  Signature(const schema::SubGraphT& graph, const Call& call, const std::vector<int>& outputs)
      : graph_(graph), call_(call), outputs_(outputs) {}

  std::int32_t Version() const {
    switch (call_.code) {
      case CONV_2D:
        return Conv();
      case DEPTHWISE_CONV_2D:
        return Depthwise();
      case FULLY_CONNECTED:
        return FullyConnected();
      case DEQUANTIZE:
        return Type(0) == TensorType::INT16 || Type(0) == TensorType::FLOAT16 ? 3
               : Type(0) != TensorType::INT8                                  ? 1
               : PerChannel(0)                                                ? 5
                                                                              : 2;
      case QUANTIZE:
        return Of(outputs_[0]).type == TensorType::INT16 ? 2 : 1;
      case CAST:
        return Type(0) == TensorType::INT8 || Of(outputs_[0]).type == TensorType::INT8 ? 3 : 1;
      case BROADCAST_TO:
        return std::max(2, ByRow());
      case TRANSPOSE_CONV:
        if (call_.options.AsTransposeConvOptions()->fused_activation_function !=
            schema::ActivationFunctionType::NONE) {
          return 4;
        }
        return call_.inputs.size() > 3 ? 3 : Type(1) == TensorType::INT8 ? 2 : 1;
      case CUSTOM:
        return 1;
      default:
        return std::max(ByRow(), ByRank());
    }
  }

 private:
  const schema::TensorT& Of(int index) const {
    return *graph_.tensors[static_cast<std::size_t>(index)];
  }
  const schema::TensorT& Input(std::size_t i) const { return Of(call_.inputs[i]); }
  TensorType Type(std::size_t i) const { return Input(i).type; }
  bool PerChannel(std::size_t i) const {
    return Input(i).quantization != nullptr && Input(i).quantization->scale.size() > 1;
  }
  // Both ends of the type `x`, with weights of the type `w`.
  bool Is(TensorType x, TensorType w) const {
    return Type(0) == x && Type(1) == w && Of(outputs_[0]).type == x;
  }

  std::int32_t Conv() const {
    if (Input(0).shape[3] != Input(1).shape[3]) return 6;  // grouped
    if (Is(TensorType::INT8, TensorType::INT8)) return 3;
    if (Is(TensorType::INT8, TensorType::INT4)) return 7;
    if (Is(TensorType::FLOAT32, TensorType::INT8)) return PerChannel(1) ? 5 : 2;
    return 1;
  }
  std::int32_t Depthwise() const {
    if (Is(TensorType::FLOAT32, TensorType::INT8)) return PerChannel(1) ? 6 : 4;
    if (Is(TensorType::INT8, TensorType::INT8)) return 3;
    if (Is(TensorType::INT8, TensorType::INT4)) return 7;
    const auto* options = call_.options.AsDepthwiseConv2DOptions();
    return options->dilation_w_factor != 1 || options->dilation_h_factor != 1 ? 2 : 1;
  }
  std::int32_t FullyConnected() const {
    if (Is(TensorType::FLOAT32, TensorType::INT8) && PerChannel(1)) return 12;
    if (call_.inputs.size() == 2) return 6;
    if (call_.options.AsFullyConnectedOptions()->keep_num_dims) return 5;
    if (Is(TensorType::INT8, TensorType::INT8)) return 4;
    if (Is(TensorType::INT8, TensorType::INT4)) return 10;
    return Is(TensorType::FLOAT32, TensorType::INT8) ? 3 : 1;
  }

  std::int32_t ByRow() const {
    const std::size_t data = call_.code == SPLIT ? 1 : 0;
    const auto* row = std::ranges::find(kRows, call_.code, &Row::code);
    if (row == kRows.end()) return 1;
    if (call_.code == MUL && MultipliesByOneOrMore()) return 3;
    const TensorType type = Type(data);
    const bool unsigned_too = call_.code == RELU || call_.code == ABS || call_.code == GELU;
    if (type == TensorType::INT8 || (unsigned_too && type == TensorType::UINT8)) return row->int8;
    return type == TensorType::INT16 ? row->int16 : 1;
  }
  // What came with larger ranks and with more options.
  std::int32_t ByRank() const {
    const std::size_t rank = Input(0).shape.size();
    const auto* bilinear = call_.options.AsResizeBilinearOptions();
    const auto* nearest = call_.options.AsResizeNearestNeighborOptions();
    if (bilinear != nullptr) return bilinear->half_pixel_centers ? 3 : 1;
    if (nearest != nullptr) return nearest->half_pixel_centers || nearest->align_corners ? 3 : 1;
    if (call_.code == TRANSPOSE) return rank > 5 ? 6 : rank > 4 ? 4 : 1;
    if (call_.code == SLICE) return rank > 4 ? 5 : 1;
    if (call_.code == PAD || call_.code == PADV2 || call_.code == STRIDED_SLICE) {
      return rank > 4 ? 4 : 1;
    }
    return 1;
  }
  bool MultipliesByOneOrMore() const {
    const auto scale = [](const schema::TensorT& tensor) {
      const auto* q = tensor.quantization.get();
      return q == nullptr || q->scale.empty() ? 0.0F : q->scale[0];
    };
    const float product = scale(Input(0)) * scale(Input(1)), y = scale(Of(outputs_[0]));
    return product != 0 && y != 0 && product / y >= 1 && Type(0) != TensorType::INT16;
  }

  const schema::SubGraphT& graph_;
  const Call& call_;
  const std::vector<int>& outputs_;
};

}  // namespace

std::int32_t VersionOf(const schema::SubGraphT& graph, const Call& call,
                       const std::vector<int>& outputs) {
  return Signature(graph, call, outputs).Version();
}

}  // namespace qtx::convert
