// RESIZE_*, SPACE_TO_DEPTH, DEPTH_TO_SPACE, SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND: operators over
// height and width.
#include <algorithm>

#include "errors.h"
#include "tflite/ops.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Dims;
using schema::BuiltinOperator;
using Vector = std::vector<std::int64_t>;

struct Centers {
  bool align_corners = false, half_pixel = false;
};

template <typename Options>
Centers CentersOf(const Options* options) {
  if (options == nullptr) return {};
  return {options->align_corners(), options->half_pixel_centers()};
}

// Mapping of output coordinates to input coordinates. TFLite's nearest neighbour takes the floor of
// the mapped corner, which for half pixels equals the mapped centre rounded half up.
std::vector<Attribute> ResizeAttributes(bool nearest, const Centers& centers) {
  std::vector<Attribute> attributes = {
      Attribute::String("coordinate_transformation_mode", centers.align_corners ? "align_corners"
                                                          : centers.half_pixel  ? "half_pixel"
                                                                                : "asymmetric")};
  attributes.push_back(Attribute::String("mode", nearest ? "nearest" : "linear"));
  if (nearest) {
    const bool up = centers.align_corners || centers.half_pixel;
    attributes.push_back(Attribute::String("nearest_mode", up ? "round_prefer_ceil" : "floor"));
  }
  return attributes;
}

// A chain of nodes whose last one produces the output: each is a node of one data input.
class Chain {
 public:
  Chain(TfliteBuilder& builder, const TfliteOperator& op, int y, format::TensorType type,
        std::string start)
      : builder_(builder), op_(op), y_(y), type_(std::move(type)), value_(std::move(start)) {}
  void Add(const char* op_type, const Dims& shape, const Vector* input, const char* suffix,
           std::vector<Attribute> attributes = {}) {
    if (!pending_.inputs.empty()) Flush();
    pending_ = {op_type, {value_}, std::move(attributes)};
    if (input != nullptr) {
      pending_.inputs.push_back(
          builder_.AddConstant(builder_.tensor(y_).name + suffix, graph::IntsTensor(*input)));
    }
    shape_ = shape;
  }
  Draft Last() { return std::move(pending_); }

 private:
  void Flush() {
    format::TensorType type = type_;
    type.shape = format::ToShape(shape_);
    value_ = builder_.EmitInner(op_, std::move(pending_), builder_.tensor(y_).name + "/step",
                                std::move(type));
  }
  TfliteBuilder& builder_;
  const TfliteOperator& op_;
  int y_;
  format::TensorType type_;
  std::string value_;
  Draft pending_;
  Dims shape_;
};

struct Blocks {
  int x = 0, y = 0;
  Vector block;
  Vector edges;  // begin and end of each spatial axis: pads, or crops
};

// Errors: kUnsupported unless x is [N,H,W,C].
Result<Blocks> BlocksOf(const TfliteBuilder& builder, const TfliteOperator& op) {
  Blocks blocks;
  QTX_ASSIGN_OR_RETURN(blocks.x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(blocks.y, builder.Output(op));
  QTX_ASSIGN_OR_RETURN(blocks.block, ConstantInput(builder, op, 1));
  QTX_ASSIGN_OR_RETURN(blocks.edges, ConstantInput(builder, op, 2));
  const TfliteTensor& x = builder.tensor(blocks.x);
  const TfliteTensor& y = builder.tensor(blocks.y);
  if (x.dims.size() != 4 || y.dims.size() != 4 || blocks.block.size() != 2 ||
      blocks.edges.size() != 4) {
    return Error{ErrorCode::kUnsupported, "input[0]",
                 "shape " + format::ToString(x.dims) + ", expected [N,H,W,C]"};
  }
  constexpr std::int64_t kMax = 1 << 16;
  const auto bad = [](std::int64_t v) { return v < 0 || v > kMax; };
  if (std::any_of(blocks.edges.begin(), blocks.edges.end(), bad) ||
      std::any_of(blocks.block.begin(), blocks.block.end(),
                  [&](std::int64_t v) { return v < 1 || bad(v); })) {
    return Invalid("block_shape", "out of range");
  }
  return blocks;
}

Result<Chain> ChainFrom(TfliteBuilder& builder, const TfliteOperator& op, const Blocks& blocks) {
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.Use(blocks.x, Layout::kOwn));
  QTX_ASSIGN_OR_RETURN(const format::TensorType own, builder.Type(blocks.y));
  QTX_ASSIGN_OR_RETURN(format::TensorType type, Reshaped(own, builder.tensor(blocks.y).dims));
  return Chain(builder, op, blocks.y, std::move(type), name);
}

}  // namespace

Result<void> ConvertResize(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  const Dims& x_dims = builder.tensor(x).dims;
  const Dims& y_dims = builder.tensor(y).dims;
  if (x_dims.size() != 4 || y_dims.size() != 4 || x_dims[0] != y_dims[0] ||
      x_dims[3] != y_dims[3]) {
    return BadOutput(builder.tensor(x), builder.tensor(y));
  }
  const bool nearest = op.code == BuiltinOperator::RESIZE_NEAREST_NEIGHBOR;
  const Centers centers =
      nearest ? CentersOf(op.options->builtin_options_as_ResizeNearestNeighborOptions())
              : CentersOf(op.options->builtin_options_as_ResizeBilinearOptions());
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.Use(x, Layout::kFirst));
  const std::string sizes = builder.AddConstant(builder.tensor(y).name + "/sizes",
                                                graph::IntsTensor(Permute(y_dims, NhwcToNchw())));
  return builder.Emit(op, {"Resize", {name, "", "", sizes}, ResizeAttributes(nearest, centers)}, y,
                      Layout::kFirst);
}

Result<void> ConvertBlocks(TfliteBuilder& builder, const TfliteOperator& op) {
  const bool to_depth = op.code == BuiltinOperator::SPACE_TO_DEPTH;
  const auto* to = op.options->builtin_options_as_SpaceToDepthOptions();
  const auto* from = op.options->builtin_options_as_DepthToSpaceOptions();
  if (to_depth ? to == nullptr : from == nullptr) return NoOptions();
  const std::int64_t block = to_depth ? to->block_size() : from->block_size();
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  // Both operators relate pixels in the same way, seen from the larger side.
  const Dims& wide = builder.tensor(to_depth ? x : y).dims;
  const Dims& deep = builder.tensor(to_depth ? y : x).dims;
  const bool fits = block > 0 && block < (1 << 16) && wide.size() == 4 && deep.size() == 4 &&
                    wide[0] == deep[0] && wide[1] % block == 0 && wide[2] % block == 0 &&
                    wide[1] / block == deep[1] && wide[2] / block == deep[2] &&
                    deep[3] % (block * block) == 0 && deep[3] / (block * block) == wide[3];
  if (!fits) return BadOutput(builder.tensor(x), builder.tensor(y));
  QTX_RETURN_IF_ERROR(builder.TakeTypeOfMoved(x, y));
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.Use(x, Layout::kFirst));
  return builder.Emit(
      op,
      {to_depth ? "SpaceToDepth" : "DepthToSpace", {name}, {Attribute::Int("blocksize", block)}}, y,
      Layout::kFirst);
}

Result<void> ConvertSpaceToBatch(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const Blocks b, BlocksOf(builder, op));
  const Dims& x = builder.tensor(b.x).dims;
  const std::int64_t height = x[1] + b.edges[0] + b.edges[1];
  const std::int64_t width = x[2] + b.edges[2] + b.edges[3];
  const std::int64_t bh = b.block[0], bw = b.block[1];
  const Dims expected = {x[0] * bh * bw, height / bh, width / bw, x[3]};
  if (height % bh != 0 || width % bw != 0 || builder.tensor(b.y).dims != expected) {
    return BadOutput(builder.tensor(b.x), builder.tensor(b.y));
  }
  QTX_ASSIGN_OR_RETURN(Chain chain, ChainFrom(builder, op, b));
  const Vector pads = {0, b.edges[0], b.edges[2], 0, 0, b.edges[1], b.edges[3], 0};
  const Dims padded = {x[0], height, width, x[3]};
  chain.Add("Pad", padded, &pads, "/pads");
  const Dims split = {x[0], height / bh, bh, width / bw, bw, x[3]};
  chain.Add("Reshape", split, &split, "/blocks");
  const Vector perm = {2, 4, 0, 1, 3, 5};
  chain.Add("Transpose", Permute(split, perm), nullptr, "", {Attribute::Ints("perm", perm)});
  chain.Add("Reshape", expected, &expected, "/shape");
  return builder.Emit(op, chain.Last(), b.y, Layout::kOwn);
}

Result<void> ConvertBatchToSpace(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const Blocks b, BlocksOf(builder, op));
  const Dims& x = builder.tensor(b.x).dims;
  const std::int64_t bh = b.block[0], bw = b.block[1];
  const std::int64_t batch = x[0] / (bh * bw), height = x[1] * bh, width = x[2] * bw;
  const Dims expected = {batch, height - b.edges[0] - b.edges[1], width - b.edges[2] - b.edges[3],
                         x[3]};
  if (x[0] % (bh * bw) != 0 || builder.tensor(b.y).dims != expected) {
    return BadOutput(builder.tensor(b.x), builder.tensor(b.y));
  }
  QTX_ASSIGN_OR_RETURN(Chain chain, ChainFrom(builder, op, b));
  const Dims split = {bh, bw, batch, x[1], x[2], x[3]};
  chain.Add("Reshape", split, &split, "/blocks");
  const Vector perm = {2, 3, 0, 4, 1, 5};
  chain.Add("Transpose", Permute(split, perm), nullptr, "", {Attribute::Ints("perm", perm)});
  const Dims whole = {batch, height, width, x[3]};
  chain.Add("Reshape", whole, &whole, "/whole");
  Draft last = chain.Last();
  if (expected == whole) return builder.Emit(op, std::move(last), b.y, Layout::kOwn);
  QTX_ASSIGN_OR_RETURN(const format::TensorType own, builder.Type(b.y));
  QTX_ASSIGN_OR_RETURN(format::TensorType type, Reshaped(own, whole));
  const std::string name = builder.tensor(b.y).name;
  const std::string uncropped =
      builder.EmitInner(op, std::move(last), name + "/uncropped", std::move(type));
  const Vector starts = {b.edges[0], b.edges[2]}, axes = {1, 2};
  const Vector ends = {height - b.edges[1], width - b.edges[3]};
  return builder.Emit(op,
                      {"Slice",
                       {uncropped, builder.AddConstant(name + "/starts", graph::IntsTensor(starts)),
                        builder.AddConstant(name + "/ends", graph::IntsTensor(ends)),
                        builder.AddConstant(name + "/axes", graph::IntsTensor(axes))},
                       {}},
                      b.y, Layout::kOwn);
}

}  // namespace qtx::convert
