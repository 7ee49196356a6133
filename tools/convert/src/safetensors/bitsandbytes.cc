// bitsandbytes: indices of 4 bits into a table of NF4 or FP4, whose scales are the greatest
// magnitudes of blocks, quantized themselves where quantization is nested; and int8 with a scale
// for each row.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "errors.h"
#include "json_document.h"
#include "qtx/format/limits.h"
#include "safetensors/schemes.h"

namespace qtx::convert::safetensors {
namespace {

using format::Dims;
using format::ElementType;

constexpr std::int64_t kMaxState = 1 << 20;  // bytes of the JSON in quant_state

// The JSON that bitsandbytes keeps in a tensor of bytes.
struct State {
  Dims shape;
  std::int64_t block = 0;
  std::int64_t nested_block = 0;  // 0: not nested
  float nested_offset = 0;
};

Result<State> ReadState(const Tensor& tensor) {
  QTX_ASSIGN_OR_RETURN(const std::string text, ReadTensor(tensor, kMaxState));
  rapidjson::Document json;
  const auto parsed = ParseObject(text, json);
  if (!parsed.has_value()) return Unsupported(tensor.name, parsed.error().message);
  const auto number = [&json](const char* key) -> std::int64_t {
    return json.HasMember(key) && json[key].IsInt64() ? json[key].GetInt64() : 0;
  };
  State state{.block = number("blocksize"), .nested_block = number("nested_blocksize")};
  if (json.HasMember("shape") && json["shape"].IsArray()) {
    for (const auto& size : json["shape"].GetArray())
      state.shape.push_back(size.IsInt64() ? size.GetInt64() : -1);
  }
  if (json.HasMember("nested_offset") && json["nested_offset"].IsNumber())
    state.nested_offset = static_cast<float>(json["nested_offset"].GetDouble());
  const bool sound =
      !state.shape.empty() && state.block > 0 &&
      std::ranges::all_of(state.shape, [](std::int64_t d) { return d > 0 && d < 1 << 30; });
  if (sound) return state;
  return Unsupported(tensor.name, "expected a shape and a blocksize");
}

// Blocks of consecutive elements as blocks along axes: whole rows, or parts of a row.
Result<void> SetBlocks(const State& state, const std::string& name, Weight& weight) {
  std::int64_t inner = 1;
  for (std::size_t axis = state.shape.size(); axis-- > 0; inner *= state.shape[axis]) {
    const std::int64_t size = state.shape[axis];
    const std::int64_t outer = RowsOf(
        Dims(state.shape.begin(), state.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1));
    if (state.block % inner != 0) break;
    const std::int64_t block = state.block / inner;
    if (block > size && outer != 1) continue;
    if (size % block != 0 && outer != 1) break;
    for (std::size_t i = 0; i <= axis; ++i) {
      weight.q().axis.push_back(static_cast<std::int64_t>(i));
      weight.q().block_shape.push_back(i == axis ? block : 1);
    }
    return {};
  }
  return Unsupported(name, "found blocks of " + std::to_string(state.block) +
                               " elements in a weight of " +
                               format::ToString(std::span(state.shape)) +
                               ", expected blocks that divide rows, or hold whole ones");
}

Result<std::vector<float>> ReadFloats(const Tensor& tensor, std::int64_t count) {
  if (tensor.size != count * 4)
    return Unsupported(tensor.name, "expected " + std::to_string(count) + " values of F32");
  QTX_ASSIGN_OR_RETURN(const std::string bytes, ReadTensor(tensor, format::kMaxParameters * 4));
  std::vector<float> values(static_cast<std::size_t>(count));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Nested scales: table[code] * absmax + offset, each step in binary32.
Result<void> AddNested(const Container& files, const std::string& stem, const State& state,
                       const Tensor& absmax, Weight& weight) {
  QTX_ASSIGN_OR_RETURN(const Tensor* outer, Need(files, stem, ".weight.nested_absmax", {"F32"}));
  QTX_ASSIGN_OR_RETURN(const Tensor* map, Need(files, stem, ".weight.nested_quant_map", {"F32"}));
  if (state.nested_block < 1) return Unsupported(absmax.name, "expected a nested_blocksize");
  const std::int64_t blocks = (absmax.size + state.nested_block - 1) / state.nested_block;
  QTX_ASSIGN_OR_RETURN(const std::vector<float> scales, ReadFloats(*outer, blocks));
  QTX_ASSIGN_OR_RETURN(const std::vector<float> table, ReadFloats(*map, 256));
  QTX_ASSIGN_OR_RETURN(const std::string codes, ReadTensor(absmax, format::kMaxParameters));
  format::Tensor values{.elem_type = ElementType::kFloat, .dims = {absmax.size}};
  values.bytes.resize(codes.size() * sizeof(float));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const float product = table[static_cast<unsigned char>(codes[i])] *
                          scales[i / static_cast<std::size_t>(state.nested_block)];
    values.As<float>()[i] = product + state.nested_offset;
  }
  const auto found = values.As<float>();
  const auto bad = std::ranges::find_if(found, [](float v) { return !std::isfinite(v); });
  if (bad != found.end())
    return Unsupported(absmax.name, "element " + std::to_string(bad - found.begin()) +
                                        " makes a scale that is not finite");
  weight.q().scale_levels.push_back({.tensor = weight.name + "_scale"});
  weight.made.emplace_back(weight.name + "_scale", std::move(values));
  return {};
}

// The first code of a byte lies in its high bits.
Result<void> SetCodes(const Tensor& codes, const State& state, Weight& weight) {
  const std::int64_t width = state.shape.back();
  QTX_ASSIGN_OR_RETURN(const std::int64_t count,
                       format::ElementCount(std::span<const std::int64_t>(state.shape)));
  if ((count + 1) / 2 != codes.size)
    return Unsupported(codes.name, "found " + std::to_string(codes.size) + " bytes, expected " +
                                       std::to_string((count + 1) / 2));
  if (width % 2 != 0)
    return Unsupported(codes.name,
                       "found rows of " + std::to_string(width) + ", expected even ones");
  const std::int32_t pairs = width % 64 == 0 ? 32 : 1;
  Dims record(state.shape.size(), 1);
  record.back() = 2 * pairs;
  SetRecords(codes,
             {.record_bytes = pairs,
              .record_shape = std::move(record),
              .fields = {CodeField(4, 0, {2, pairs}, {-4, 8}, 4)}},
             weight);
  return {};
}

}  // namespace

Result<Weight> MakeFourBits(const Container& files, const Config&, const std::string& stem) {
  const Tensor* codes = files.Find(stem + ".weight");
  const Tensor* text = files.Find(stem + ".weight.quant_state.bitsandbytes__nf4");
  if (text == nullptr) text = files.Find(stem + ".weight.quant_state.bitsandbytes__fp4");
  QTX_ASSIGN_OR_RETURN(const Tensor* absmax, Need(files, stem, ".weight.absmax", {"F32", "U8"}));
  QTX_ASSIGN_OR_RETURN(const Tensor* map, Need(files, stem, ".weight.quant_map", {"F32"}));
  QTX_ASSIGN_OR_RETURN(const State state, ReadState(*text));
  QTX_ASSIGN_OR_RETURN(const std::vector<float> table, ReadFloats(*map, 16));
  if (std::ranges::any_of(table, [](float v) { return !std::isfinite(v); }))
    return Unsupported(map->name, "expected finite values");
  Weight weight = IntegerWeight(codes->name, StorageFor({.bits = 4}), state.shape);
  QTX_RETURN_IF_ERROR(SetBlocks(state, codes->name, weight));
  QTX_RETURN_IF_ERROR(absmax->Is("U8") ? AddNested(files, stem, state, *absmax, weight)
                                       : AddScale(*absmax, weight));
  weight.q().code_book_tensor = map->name;
  QTX_RETURN_IF_ERROR(SetCodes(*codes, state, weight));
  return weight;
}

Result<Weight> MakeInt8Rows(const Container& files, const Config&, const std::string& stem) {
  // 1 / 127, by which bitsandbytes multiplies in binary32.
  constexpr auto kInverse = static_cast<float>(7.874015718698502e-3);
  QTX_ASSIGN_OR_RETURN(const Tensor* codes, Need(files, stem, ".weight", {"I8"}));
  QTX_ASSIGN_OR_RETURN(const Tensor* rows, Need(files, stem, ".SCB", {"F32"}));
  if (codes->dims.size() != 2 || rows->dims != Dims{codes->dims[0]})
    return Unsupported(rows->name, "expected a value for each row of " + codes->name);
  Weight weight{.name = codes->name};
  weight.type.elem_type = ElementType::kInt8Q;
  weight.type.shape = format::ToShape(codes->dims);
  weight.type.quantization.emplace();
  weight.q().axis = {0};
  QTX_RETURN_IF_ERROR(AddScale(*rows, weight));
  AddScale(kInverse, weight);
  SetInPlace(*codes, ElementType::kInt8, weight);
  return weight;
}

}  // namespace qtx::convert::safetensors
