#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

// Where the elements of heads stand, and which rows of the caches turn them.
// Source: rotary_embedding.S1 to rotary_embedding.S3.
struct RotaryLayout {
  std::int64_t head_size = 0, rotated = 0, heads = 0, length = 0;
  bool flat = false;  // [batch, length, heads * head_size]
  bool interleaved = false;
  std::vector<std::int64_t> positions;  // of all tokens: rows of the caches

  std::int64_t half() const { return rotated / 2; }
  std::int64_t PairOf(std::int64_t at) const { return interleaved ? at / 2 : at % half(); }
  bool IsFirst(std::int64_t at) const { return interleaved ? at % 2 == 0 : at < half(); }
  std::int64_t Distance() const { return interleaved ? 1 : half(); }
  // The token of a head's row: of [batch, heads, length] or [batch, length, heads].
  std::int64_t TokenOf(std::int64_t row) const {
    if (flat) return row / heads;
    return row / (heads * length) * length + row % length;
  }
};

RotaryLayout RotaryLayoutOf(const Call& call) {
  const Dims& x = call.inputs[0]->dims;
  RotaryLayout layout;
  layout.flat = x.size() == 3;
  layout.heads = layout.flat ? call.Int("num_heads") : x[1];
  layout.head_size = layout.flat ? x[2] / layout.heads : x[3];
  layout.length = x[x.size() - 2];
  layout.interleaved = call.Int("interleaved") != 0;
  const std::int64_t dim = call.Int("rotary_embedding_dim");
  layout.rotated = dim == 0 ? layout.head_size : dim;
  if (call.inputs.size() > 3 && call.inputs[3] != nullptr) {
    layout.positions = IntegersAt(call, 3);
  } else {
    for (std::int64_t token = 0; token < x[0] * layout.length; ++token) {
      layout.positions.push_back(token);
    }
  }
  return layout;
}

// An element and the other one of its pair, in x, and the element of both caches that turns them.
struct Turn {
  std::int64_t own, other, cache;
  bool first;  // of the pair: what comes of the other one is subtracted
};

Real TurnedExactly(const Operand& x, const Operand& cos, const Operand& sin, const Turn& turn) {
  ExactSum sum;
  sum.AddProduct(cos.exact(turn.cache), x.exact(turn.own));
  Dyadic factor = sin.exact(turn.cache);
  if (turn.first) factor.mantissa = -factor.mantissa;
  sum.AddProduct(factor, x.exact(turn.other));
  return sum.Value();
}

float TurnedInBinary32(const Operand& x, const Operand& cos, const Operand& sin, const Turn& turn) {
  const float along = cos.binary32(turn.cache) * x.binary32(turn.own);
  const float across = sin.binary32(turn.cache) * x.binary32(turn.other);
  return turn.first ? along - across : across + along;
}

// Source: rotary_embedding.S1 to rotary_embedding.S5.
Result<format::Tensor> RotaryEmbedding(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand cos, OperandAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const Operand sin, OperandAt(call, 2));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const bool in_binary32 = DomainFor(call.arithmetic, output) == Domain::kFloat32;
  const std::int64_t count = format::ElementCount(x.tensor());
  if (count == 0) return output.Take();
  const RotaryLayout layout = RotaryLayoutOf(call);
  for (std::int64_t element = 0; element < count; ++element) {
    const std::int64_t at = element % layout.head_size;
    if (at >= layout.rotated) {
      if (in_binary32) {
        output.PutFloat(element, x.binary32(element));
      } else {
        output.PutReal(element, ToReal(x.exact(element)));
      }
      continue;
    }
    const std::int64_t token = layout.TokenOf(element / layout.head_size);
    const std::int64_t row = layout.positions[static_cast<std::size_t>(token)];
    const bool first = layout.IsFirst(at);
    const Turn turn = {element, element + (first ? 1 : -1) * layout.Distance(),
                       row * layout.half() + layout.PairOf(at), first};
    if (in_binary32) {
      output.PutFloat(element, TurnedInBinary32(x, cos, sin, turn));
    } else {
      output.PutReal(element, TurnedExactly(x, cos, sin, turn));
    }
  }
  return output.Take();
}

}  // namespace

const Operator kRotaryEmbedding = {.op_type = "RotaryEmbedding", .run = RotaryEmbedding};

}  // namespace qtx::reference::ops
