#include "ops/heads.h"

#include <string>

namespace qtx::reference {

using format::Dims;
using format::ElementType;

namespace {

constexpr std::int64_t kMaxProducts = std::int64_t{1} << 24;  // seconds of work

Error Invalid(const std::string& where, const std::string& message) {
  return {ErrorCode::kInvalid, where, message};
}

// Input `i` as heads, their number given by attribute `name` when it is flat.
// Source: attention.S1, attention.C3.
Result<Heads> HeadsOf(const Call& call, std::size_t i, const char* name) {
  const Dims& dims = call.inputs[i]->dims;
  const std::int64_t given = call.node.IntOr(name, 0);
  const std::string found = "found shape " + format::ToString(dims) + ", expected ";
  if (dims.size() != call.inputs[0]->dims.size() || dims.size() < 3 || dims.size() > 4) {
    return Invalid(InputName(call, i), found + "rank 3 or 4, and that of the others");
  }
  if (dims.size() == 4) {
    if (dims[1] < 1 || dims[3] < 1 || (given != 0 && given != dims[1])) {
      return Invalid(InputName(call, i), found + "heads, as many as '" + std::string(name) +
                                             "' says, and elements in them");
    }
    return Heads{dims[0], dims[1], dims[2], dims[3], false};
  }
  if (given == 0) return Invalid("attribute '" + std::string(name) + "'", "is required");
  if (dims[2] < given || dims[2] % given != 0) {
    return Invalid(InputName(call, i), found + "a last size that is a multiple of '" +
                                           std::string(name) + "', " + std::to_string(given));
  }
  return Heads{dims[0], given, dims[1], dims[2] / given, true};
}

// Input `i`, absent or of the shape of `now` but for its length.  Source: attention.C5.
Result<Heads> PastOf(const Call& call, std::size_t i, const Heads& now) {
  if ((call.Input(kPastKey) == nullptr) != (call.Input(kPastValue) == nullptr)) {
    return Invalid("input[" + std::to_string(i) + "]", "past_key and past_value go together");
  }
  Heads past{now.batch, now.count, 0, now.size, false};
  if (call.Input(i) == nullptr) return past;
  const Dims& dims = call.inputs[i]->dims;
  if (dims.size() == 4) past.length = dims[2];
  if (dims == past.dims()) return past;
  past.length = 0;
  return Invalid(InputName(call, i), "found shape " + format::ToString(dims) + ", expected " +
                                         format::ToString(past.dims()) + " but for axis 2");
}

// Source: attention.C4.
Result<void> CheckGeometry(const Call& call, const Geometry& g) {
  if (g.k.batch != g.q.batch || g.k.size != g.q.size || g.q.count % g.k.count != 0) {
    return Invalid(InputName(call, 1), "heads " + format::ToString(g.k.dims()) +
                                           " do not fit those of the query, " +
                                           format::ToString(g.q.dims()));
  }
  if (g.v.batch != g.k.batch || g.v.count != g.k.count || g.v.length != g.k.length ||
      g.past_v.length != g.past_k.length) {
    return Invalid(InputName(call, 2), "values " + format::ToString(g.v.dims()) +
                                           " are not one for each key of " +
                                           format::ToString(g.k.dims()) + ", past ones included");
  }
  const bool shares = call.Wants(kScores) && call.node.IntOr("qk_matmul_output_mode", 0) == 3;
  std::int64_t products = 1;
  for (const std::int64_t size : {g.q.batch, g.q.count, g.q.length, g.total(),
                                  g.q.size + g.v.size + (shares ? g.total() : 0)}) {
    if (size > 0 && products > kMaxProducts / size) {
      return Error{ErrorCode::kTooLarge, InputName(call, 0),
                   "needs more than " + std::to_string(kMaxProducts) + " products"};
    }
    products *= size;
  }
  return {};
}

}  // namespace

Result<Geometry> GeometryOf(const Call& call) {
  Geometry g;
  QTX_ASSIGN_OR_RETURN(g.q, HeadsOf(call, 0, "q_num_heads"));
  QTX_ASSIGN_OR_RETURN(g.k, HeadsOf(call, 1, "kv_num_heads"));
  QTX_ASSIGN_OR_RETURN(g.v, HeadsOf(call, 2, "kv_num_heads"));
  QTX_ASSIGN_OR_RETURN(g.past_k, PastOf(call, kPastKey, g.k));
  QTX_ASSIGN_OR_RETURN(g.past_v, PastOf(call, kPastValue, g.v));
  QTX_RETURN_IF_ERROR(CheckGeometry(call, g));
  return g;
}

// Source: attention.C6.
Result<void> Masks::SetMask(const Call& call) {
  const format::Tensor* mask = call.Input(kMask);
  if (mask == nullptr) return {};
  const bool pads = call.opset == 0 || call.opset >= 24;
  Dims dims = g_.ScoreDims();
  const std::string place = InputName(call, kMask);
  if (pads && !mask->dims.empty()) dims[3] = std::min(dims[3], mask->dims.back());
  const auto broadcast = Broadcast(mask->dims, dims);
  if (mask->dims.empty() || !broadcast.has_value() || *broadcast != dims) {
    return Invalid(place, "found shape " + format::ToString(mask->dims) +
                              ", which does not broadcast to " + format::ToString(dims));
  }
  if (mask->elem_type == ElementType::kBool) {
    allowed_ = format::UnpackIntegers(*mask);
  } else {
    QTX_ASSIGN_OR_RETURN(bias_, RealAt(call, kMask));
  }
  width_ = dims[3];
  elements_ = BroadcastIndices(mask->dims, dims);
  return {};
}

// Source: attention.C7.
Result<void> Masks::SetLengths(const Call& call) {
  if (call.Input(kNonpad) == nullptr) return {};
  if (call.Input(kPastKey) != nullptr) {
    return Invalid(InputName(call, kNonpad), "and past_key exclude each other");
  }
  QTX_ASSIGN_OR_RETURN(lengths_, Int64sAt(call, kNonpad));
  bool valid = call.inputs[kNonpad]->dims == Dims{g_.q.batch};
  for (const std::int64_t length : lengths_) valid = valid && length >= 0 && length <= g_.total();
  if (valid) return {};
  return Invalid(InputName(call, kNonpad), "found " + format::ToString(lengths_) + ", expected " +
                                               std::to_string(g_.q.batch) + " values of 0 to " +
                                               std::to_string(g_.total()));
}

Result<Masks> Masks::Make(const Call& call, const Geometry& g) {
  Masks masks;
  masks.g_ = g;
  masks.causal_ = call.node.IntOr("is_causal", 0) == 1;
  QTX_RETURN_IF_ERROR(masks.SetMask(call));
  QTX_RETURN_IF_ERROR(masks.SetLengths(call));
  return masks;
}

std::vector<Visibility> Masks::Row(std::int64_t b, std::int64_t h, std::int64_t i) const {
  const std::int64_t total = g_.total();
  const std::int64_t length = lengths_.empty() ? total : lengths_[static_cast<std::size_t>(b)];
  const std::int64_t before = lengths_.empty() ? g_.past() : length - g_.q.length;
  const bool has_mask = !allowed_.empty() || bias_.has_value();
  std::vector<Visibility> row(static_cast<std::size_t>(total));
  for (std::int64_t j = 0; j < total; ++j) {
    Visibility& visible = row[static_cast<std::size_t>(j)];
    visible.masked = j >= length || (causal_ && j > i + before) || (has_mask && j >= width_);
    if (visible.masked || !has_mask) continue;
    const std::int64_t at = ((b * g_.q.count + h) * g_.q.length + i) * width_ + j;
    const std::int64_t element = elements_[static_cast<std::size_t>(at)];
    if (bias_) {
      visible.bias = element;
    } else {
      visible.masked = allowed_[static_cast<std::size_t>(element)] == 0;
    }
  }
  return row;
}

}  // namespace qtx::reference
