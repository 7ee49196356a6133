// Operators of ONNX without a section: of signals and of text.
#include <algorithm>
#include <string>

#include "onnx_shapes.h"
#include "rules.h"

namespace qtx::format::catalogue {
namespace {

OnnxShapes OnnxSignalShape(std::optional<Dims> dims) {
  return std::vector<std::optional<Dims>>{std::move(dims)};
}

// Signals ----------------------------------------------------------------------------------------

// The axis that is transformed: an attribute before opset 20, then an input; nullopt where it is
// not known.
Result<std::optional<std::int64_t>> OnnxDftAxis(const Application& a, std::int64_t rank) {
  std::optional<std::int64_t> axis = a.opset < 20 ? a.Int("axis") : -2;
  if (a.Input(2).given) {
    axis = OnnxScalar(a.Input(2));
    QTX_RETURN_IF_ERROR(OnnxIsScalar(a, 2));
  }
  if (!axis) return axis;
  if (*axis < -rank || *axis == -1 || *axis >= rank - 1) {
    return Refuse("axis", "found " + std::to_string(*axis) + ", expected one of rank " +
                              std::to_string(rank) + " but its last");
  }
  return std::optional(*axis < 0 ? *axis + rank : *axis);
}

// The size along that axis.
Result<std::int64_t> OnnxDftSize(const Application& a, std::int64_t size) {
  const bool half = a.Int("onesided") != 0, inverse = a.Int("inverse") != 0;
  if (a.Input(1).given) {
    QTX_RETURN_IF_ERROR(OnnxIsScalar(a, 1));
    const auto length = OnnxScalar(a.Input(1));
    if (!length) return kUnknownSize;
    if (*length < 0) return BadInput(a, 1, std::to_string(*length), "at least 0");
    return half && !inverse ? *length / 2 + 1 : *length;
  }
  if (!half) return size;
  if (!inverse) return Known(size) ? size / 2 + 1 : kUnknownSize;
  if (size == 0) return kUnknownSize;
  return Known(size) ? ProductOf(2, size - 1) : kUnknownSize;
}

OnnxShapes OnnxDftShape(const Application& a) {
  QTX_RETURN_IF_ERROR(RankAtLeast(0, 2)(a));
  if (!a.Input(0).dims) return OnnxSignalShape(std::nullopt);
  const bool half = a.Int("onesided") != 0, inverse = a.Int("inverse") != 0;
  Dims dims = *a.Input(0).dims;
  if (half && a.opset >= 20 && Differ(dims.back(), inverse ? 2 : 1)) {
    return BadInput(a, 0, "shape " + ShapeText(dims),
                    std::string("last size ") + (inverse ? "2" : "1"));
  }
  QTX_ASSIGN_OR_RETURN(const std::optional<std::int64_t> axis,
                       OnnxDftAxis(a, static_cast<std::int64_t>(dims.size())));
  if (axis) {
    std::int64_t& size = dims[static_cast<std::size_t>(*axis)];
    QTX_ASSIGN_OR_RETURN(size, OnnxDftSize(a, size));
  } else if (half || a.Input(1).given) {
    std::ranges::fill(dims, kUnknownSize);
  }
  dims.back() = half && inverse ? 1 : 2;
  return OnnxSignalShape(std::move(dims));
}

OnnxShapes OnnxStftShape(const Application& a) {
  QTX_RETURN_IF_ERROR(RankAtLeast(0, 2)(a));
  QTX_RETURN_IF_ERROR(RankIs(2, 1)(a));
  if (!a.Input(0).dims) return OnnxSignalShape(std::nullopt);
  Dims dims = {a.Input(0).dims->front(), kUnknownSize, kUnknownSize, 2};
  std::int64_t length = LengthOf(a.Input(2));
  if (a.Input(3).given) {
    const auto frame = OnnxScalar(a.Input(3));
    if (frame && Differ(*frame, length)) {
      return BadInput(a, 2, std::to_string(length) + " values", std::to_string(*frame));
    }
    length = frame.value_or(length);
  }
  if (Known(length)) dims[2] = a.Int("onesided") != 0 ? length / 2 + 1 : length;
  const std::int64_t signal = (*a.Input(0).dims)[1];
  const auto step = OnnxScalar(a.Input(1));
  if (step && *step > 0 && Known(signal) && Known(length) && signal >= length) {
    dims[1] = (signal - length) / *step + 1;
  }
  return OnnxSignalShape(std::move(dims));
}

OnnxShapes OnnxWindowShape(const Application& a) {
  QTX_RETURN_IF_ERROR(OnnxIsScalar(a, 0));
  const std::int64_t size = OnnxScalar(a.Input(0)).value_or(kUnknownSize);
  return OnnxSignalShape(Dims{std::max(size, kUnknownSize)});
}

ElementType OnnxOutputDatatype(const Application& a, std::size_t) {
  return ElementTypeFromCode(a.Int("output_datatype")).value_or(ElementType::kUndefined);
}

OnnxShapes OnnxMelShape(const Application& a) {
  QTX_RETURN_IF_ERROR(OnnxIsScalar(a, 0));
  QTX_RETURN_IF_ERROR(OnnxIsScalar(a, 1));
  const auto bins = OnnxScalar(a.Input(0)), length = OnnxScalar(a.Input(1));
  if (!bins || !length || *bins <= 0 || *length <= 0) return OnnxSignalShape(DimsOfRank(2));
  return OnnxSignalShape(Dims{*length / 2 + 1, *bins});
}

// Text -------------------------------------------------------------------------------------------

OnnxShapes OnnxSplitShape(const Application& a) {
  std::optional<Dims> parts = a.Input(0).dims;
  if (parts) parts->push_back(kUnknownSize);
  return std::vector<std::optional<Dims>>{std::move(parts), a.Input(0).dims};
}

// [C] or [1, C], fewer where there are stop words.
OnnxShapes OnnxNormalizerShape(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return OnnxSignalShape(std::nullopt);
  if (x->size() == 1) return OnnxSignalShape(Dims{kUnknownSize});
  if (x->size() != 2 || x->front() != 1) {
    return BadInput(a, 0, "shape " + ShapeText(*x), "[C] or [1,C]");
  }
  return OnnxSignalShape(Dims{1, kUnknownSize});
}

OnnxShapes OnnxTfIdfShape(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return OnnxSignalShape(std::nullopt);
  const Dims indexes = a.node.IntsOr("ngram_indexes", {});
  if (indexes.empty() || std::ranges::min(indexes) < 0) {
    return BadAttribute("ngram_indexes", indexes.empty() ? "none" : "a negative one",
                        "values of at least 0");
  }
  if (x->empty() || x->size() > 2) return BadInput(a, 0, "shape " + ShapeText(*x), "rank 1 or 2");
  Dims dims = *x;
  dims.back() = SumOf(std::ranges::max(indexes), 1);
  return OnnxSignalShape(std::move(dims));
}

}  // namespace

void AddOnnxSignals(std::vector<OpSchema>& rows) {
  rows.push_back({.op_type = "DFT",
                  .attributes = {{"axis", AttributeType::kInt, 1, false, 0, 19},
                                 {"inverse", AttributeType::kInt, 0},
                                 {"onesided", AttributeType::kInt, 0}},
                  .shape = OnnxDftShape});
  rows.push_back({.op_type = "STFT",
                  .attributes = {{"onesided", AttributeType::kInt, 1}},
                  .shape = OnnxStftShape});
  const AttributeRule datatype{"output_datatype", AttributeType::kInt, 1};
  for (const std::string_view op_type : {"BlackmanWindow", "HammingWindow", "HannWindow"}) {
    rows.push_back({.op_type = op_type,
                    .attributes = {datatype},
                    .shape = OnnxWindowShape,
                    .type = OnnxOutputDatatype});
  }
  rows.push_back({.op_type = "MelWeightMatrix",
                  .attributes = {datatype},
                  .shape = OnnxMelShape,
                  .type = OnnxOutputDatatype});
  rows.push_back({.op_type = "StringNormalizer", .shape = OnnxNormalizerShape});
  rows.push_back({.op_type = "StringSplit", .shape = OnnxSplitShape});
  rows.push_back({.op_type = "TfIdfVectorizer", .shape = OnnxTfIdfShape});
}

}  // namespace qtx::format::catalogue
