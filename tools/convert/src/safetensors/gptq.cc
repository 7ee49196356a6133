// GPTQ and AWQ: words of 32 bits with codes of a weight [K, N], which x [M, K] is multiplied by.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include "errors.h"
#include "safetensors/schemes.h"

namespace qtx::convert::safetensors {
namespace {

constexpr int kWordBits = 32;

std::size_t Index(std::int64_t i) { return static_cast<std::size_t>(i); }

struct Parts {
  const Tensor* qweight = nullptr;
  const Tensor* qzeros = nullptr;
  const Tensor* scales = nullptr;
  std::int64_t rows = 0, columns = 0, groups = 0;  // K, N, G
  std::int64_t group = 0;                          // rows that share a scale
  int bits = 0;
};

Result<Parts> FindParts(const Container& files, const std::string& stem) {
  Parts parts;
  QTX_ASSIGN_OR_RETURN(parts.qweight, Need(files, stem, ".qweight", {"I32"}));
  QTX_ASSIGN_OR_RETURN(parts.qzeros, Need(files, stem, ".qzeros", {"I32"}));
  QTX_ASSIGN_OR_RETURN(parts.scales, Need(files, stem, ".scales", {"F16", "BF16", "F32"}));
  for (const Tensor* tensor : {parts.qweight, parts.qzeros, parts.scales}) {
    if (tensor->dims.size() == 2 && tensor->dims[0] > 0 && tensor->dims[1] > 0) continue;
    return Unsupported(tensor->name, "found shape " + format::ToString(std::span(tensor->dims)) +
                                         ", expected two dimensions");
  }
  parts.groups = parts.scales->dims[0];
  parts.columns = parts.scales->dims[1];
  return parts;
}

Result<void> CheckShape(const Tensor& tensor, const format::Dims& expected) {
  if (tensor.dims == expected) return {};
  return Unsupported(tensor.name, "found shape " + format::ToString(std::span(tensor.dims)) +
                                      ", expected " + format::ToString(std::span(expected)));
}

// Rows that share a scale: as the config says, if that makes as many groups as there are.
Result<void> SetGroup(const Config& config, Parts& parts) {
  const auto ceil = [&](std::int64_t size) { return (parts.rows + size - 1) / size; };
  parts.group = config.group_size > 0 ? config.group_size : ceil(parts.groups);
  if (ceil(parts.group) == parts.groups) return {};
  return Unsupported(parts.scales->name, "found " + std::to_string(parts.groups) +
                                             " groups, expected " +
                                             std::to_string(ceil(parts.group)) + " of " +
                                             std::to_string(parts.group) + " rows");
}

// Row-major over groups and columns. `field` is that of the columns of one group.
Result<std::vector<std::int64_t>> ReadZeros(const Parts& parts, const format::BitField& field,
                                            std::int64_t add) {
  QTX_RETURN_IF_ERROR(CheckShape(
      *parts.qzeros, {parts.groups, (parts.columns * parts.bits + kWordBits - 1) / kWordBits}));
  QTX_ASSIGN_OR_RETURN(const std::string bytes, ReadTensor(*parts.qzeros, kMaxRead));
  const auto row_bytes = static_cast<std::size_t>(parts.qzeros->dims[1] * 4);
  std::vector<std::int64_t> zeros;
  for (std::int64_t g = 0; g < parts.groups; ++g) {
    const auto row =
        std::string_view(bytes).substr(static_cast<std::size_t>(g) * row_bytes, row_bytes);
    for (const std::uint8_t value : UnpackBits(row, field, parts.columns))
      zeros.push_back(value + add);
  }
  return zeros;
}

// The type of [K, N] with its scales and offsets. Its codes lie elsewhere.
Result<Weight> TypedWeight(const std::string& name, const Parts& parts,
                           const std::vector<std::int64_t>& zeros, std::int64_t* bias) {
  const std::int64_t middle = std::int64_t{1} << (parts.bits - 1);
  const bool centred = std::ranges::all_of(zeros, [&](std::int64_t z) { return z == middle; });
  const std::int64_t greatest = centred ? 0 : *std::ranges::max_element(zeros);
  const CodeStorage storage =
      StorageFor({.bits = parts.bits, .centred = centred, .offset = greatest});
  Weight weight = IntegerWeight(name, storage, {parts.rows, parts.columns});
  weight.q().axis = {0, 1};
  weight.q().block_shape = {parts.group, 1};
  QTX_RETURN_IF_ERROR(AddScale(*parts.scales, weight));
  if (!centred) QTX_RETURN_IF_ERROR(SetOffsets(zeros, {parts.groups, parts.columns}, weight));
  *bias = storage.bias;
  return weight;
}

// Where each row lies once those of a group lie together, in their order (act-order); empty where
// they do already.
Result<std::vector<std::int64_t>> PlacesOf(const Tensor& g_idx, const Parts& parts) {
  if (!g_idx.Is("I32")) return Unsupported(g_idx.name, "expected I32");
  QTX_RETURN_IF_ERROR(CheckShape(g_idx, {parts.rows}));
  QTX_ASSIGN_OR_RETURN(const std::string bytes, ReadTensor(g_idx, kMaxRead));
  std::vector<std::int32_t> groups(static_cast<std::size_t>(parts.rows));
  std::memcpy(groups.data(), bytes.data(), bytes.size());
  std::vector<std::int64_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int64_t k) { return groups[Index(k)]; });
  std::vector<std::int64_t> places(order.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::int32_t group = groups[Index(order[place])];
    const std::int64_t expected = static_cast<std::int64_t>(place) / parts.group;
    if (group != expected) {
      return Unsupported(g_idx.name, "found group " + std::to_string(group) + " of row " +
                                         std::to_string(order[place]) + ", expected " +
                                         std::to_string(parts.groups) + " groups of " +
                                         std::to_string(parts.group) + " rows");
    }
    places[Index(order[place])] = static_cast<std::int64_t>(place);
  }
  if (std::ranges::is_sorted(groups)) places.clear();
  return places;
}

// Columns of words hold 32 / bits rows; codes of 3 bits cross words, which lie a row apart.
// `places` as of PlacesOf.
Result<void> SetRows(const Parts& parts, std::int64_t bias, std::span<const std::int64_t> places,
                     Weight& weight) {
  if (places.empty() && kWordBits % parts.bits == 0) {
    const std::int32_t codes = kWordBits / parts.bits;
    SetRecords(*parts.qweight,
               {.record_bytes = 4,
                .record_shape = {codes, 1},
                .fields = {CodeField(parts.bits, bias, {codes}, {parts.bits})}},
               weight);
    return {};
  }
  QTX_ASSIGN_OR_RETURN(const std::string bytes, ReadTensor(*parts.qweight, kMaxRead));
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(parts.rows * parts.columns));
  const auto words = static_cast<std::size_t>(parts.qweight->dims[0]);
  const auto columns = static_cast<std::size_t>(parts.columns);
  const format::BitField field = DenseBits(parts.bits);
  std::string column(words * 4, '\0');
  for (std::size_t n = 0; n < columns; ++n) {
    for (std::size_t w = 0; w < words; ++w)
      std::copy_n(bytes.data() + (w * columns + n) * 4, 4, column.data() + w * 4);
    const auto values = UnpackBits(column, field, parts.rows);
    for (std::size_t k = 0; k < values.size(); ++k)
      codes[(places.empty() ? k : Index(places[k])) * columns + n] = values[k];
  }
  return SetOwn(codes, bias, weight);
}

// The weight is the rows at `places` of the initializer.
Result<void> SetRowOrder(const std::string& stem, std::span<const std::int64_t> places,
                         Weight& weight) {
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor,
                       format::MakeTensor(format::ElementType::kInt64, {std::ssize(places)}));
  format::PackIntegers(places, tensor);
  weight.row_order = {.weight = stem + ".weight", .places = stem + ".weight_rows"};
  weight.made.emplace_back(weight.row_order->places, std::move(tensor));
  return {};
}

}  // namespace

Result<Weight> MakeGptq(const Container& files, const Config& config, const std::string& stem) {
  QTX_ASSIGN_OR_RETURN(Parts parts, FindParts(files, stem));
  const Tensor* g_idx = files.Find(stem + ".g_idx");
  const std::int64_t packed = parts.qweight->dims[0] * kWordBits;
  if (g_idx != nullptr && g_idx->Is("I32") && g_idx->dims.size() == 1 && g_idx->dims[0] > 0)
    parts.rows = g_idx->dims[0];
  else if (config.bits > 0)
    parts.rows = packed / config.bits;
  parts.bits =
      parts.rows > 0 ? static_cast<int>(std::min<std::int64_t>(packed / parts.rows, kWordBits)) : 0;
  if ((parts.bits != 2 && parts.bits != 3 && parts.bits != 4 && parts.bits != 8) ||
      parts.rows * parts.bits != packed) {
    return Unsupported(parts.qweight->name, "found " + std::to_string(parts.qweight->dims[0]) +
                                                " words for " + std::to_string(parts.rows) +
                                                " rows, expected 2, 3, 4 or 8 bits a row");
  }
  QTX_RETURN_IF_ERROR(SetGroup(config, parts));
  std::vector<std::int64_t> places;
  if (g_idx != nullptr) {
    QTX_ASSIGN_OR_RETURN(places, PlacesOf(*g_idx, parts));
  }
  const std::int64_t add = config.checkpoint_format == "gptq_v2" ? 0 : 1;
  QTX_ASSIGN_OR_RETURN(const auto zeros, ReadZeros(parts, DenseBits(parts.bits), add));
  const std::string name = stem + (places.empty() ? ".weight" : ".weight_by_group");
  std::int64_t bias = 0;
  QTX_ASSIGN_OR_RETURN(Weight weight, TypedWeight(name, parts, zeros, &bias));
  QTX_RETURN_IF_ERROR(SetRows(parts, bias, places, weight));
  if (!places.empty()) QTX_RETURN_IF_ERROR(SetRowOrder(stem, places, weight));
  return weight;
}

Result<Weight> MakeAwq(const Container& files, const Config& config, const std::string& stem) {
  // Nibble i of a word has its column 0 2 4 6 1 3 5 7.
  format::EncodedField codes = CodeField(4, 0, {2, 4}, {16, 4});
  QTX_ASSIGN_OR_RETURN(Parts parts, FindParts(files, stem));
  parts.bits = 4;
  parts.rows = parts.qweight->dims[0];
  QTX_RETURN_IF_ERROR(CheckShape(*parts.qweight, {parts.rows, (parts.columns + 7) / 8}));
  if (parts.columns % 8 != 0) return Unsupported(parts.qweight->name, "expected columns in eights");
  QTX_RETURN_IF_ERROR(SetGroup(config, parts));
  QTX_ASSIGN_OR_RETURN(const auto zeros, ReadZeros(parts, {codes.bits, 4}, 0));
  std::int64_t bias = 0;
  QTX_ASSIGN_OR_RETURN(Weight weight, TypedWeight(stem + ".weight", parts, zeros, &bias));
  codes.bias = static_cast<std::int32_t>(bias);
  SetRecords(*parts.qweight,
             {.record_bytes = 4, .record_shape = {1, 8}, .fields = {std::move(codes)}}, weight);
  return weight;
}

}  // namespace qtx::convert::safetensors
