#include "qtx/calibrate/gram.h"

#include <algorithm>
#include <cmath>

#include "coverage.h"
#include "qtx/calibrate/calibrate.h"
#include "qtx/format/attributes.h"

namespace qtx::calibrate {
namespace {

using format::Model;
using format::Node;
using format::Tensor;

constexpr int kBits = 23;                     // of a grid's integers, without their sign
constexpr std::int64_t kRows = 1 << 16;       // whose products of 46 bits fit 63
constexpr std::int64_t kMaxSums = 1LL << 28;  // 4 GiB
constexpr std::int64_t kMaxSize = 1LL << 15;  // a triangle of 2^29, more than that
constexpr const char* kGramVersion = "1";

std::int64_t Triangle(std::int64_t size) { return size * (size + 1) / 2; }

// The columns of the input of a product with constant weights; 0: it has no sums.
std::int64_t ColumnsOf(const Node& node, const Model& model) {
  const bool gemm = node.op_type == "Gemm";
  if (!node.domain.empty() || (!gemm && node.op_type != "MatMul") || node.inputs.size() < 2)
    return 0;
  const auto weights =
      std::ranges::find(model.graph.initializers, node.inputs[1], &format::TensorData::name);
  if (weights == model.graph.initializers.end() || weights->dims.size() != 2 ||
      weights->data_type != format::ElementType::kFloat)
    return 0;
  const format::Attributes attributes(node);
  if (gemm && attributes.Int("transA") != 0) return 0;
  return weights->dims[gemm && attributes.Int("transB") != 0 ? 1 : 0];
}

// The least e with |x| <= 2^(23 + e) for all of them.
int ExponentFor(const format::Statistics& statistics) {
  double most = 0;
  for (const auto* ends : {&statistics.min, &statistics.max}) {
    for (const double end : *ends) most = std::max(most, std::abs(end));
  }
  int exponent = 0;
  std::frexp(most, &exponent);
  return most == 0 ? -149 : std::max(exponent - kBits, -149);
}

// The integers of rows first to last, column by column.
std::vector<std::int32_t> Columns(const Gram& gram, std::span<const float> rows) {
  const auto size = static_cast<std::size_t>(gram.size);
  const std::size_t count = rows.size() / size;
  constexpr double kMost = 1 << kBits;
  std::vector<std::int32_t> columns(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double at = std::ldexp(static_cast<double>(rows[i]), -gram.exponent);
    const double rounded = std::isnan(at) ? 0 : std::nearbyint(std::clamp(at, -kMost, kMost));
    columns[i % size * count + i / size] = static_cast<std::int32_t>(rounded);
  }
  return columns;
}

std::int64_t Dot(const std::int32_t* a, const std::int32_t* b, std::size_t count) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<std::int64_t>(a[i]) * b[i];
  return sum;
}

Error Malformed(const std::string& name, const std::string& expected) {
  return {ErrorCode::kInvalid, "initializer '" + name + "'", "expected " + expected};
}

Result<Gram> ReadGram(const format::TensorData& data, const std::string& folder) {
  constexpr auto kForm = "INT64 of shape [1 + n, 2], n = size * (size + 1) / 2";
  if (data.data_type != format::ElementType::kInt64 || data.dims.size() != 2 || data.dims[1] != 2 ||
      data.dims[0] < 2 || data.dims[0] > kMaxSums)
    return Malformed(data.name, kForm);
  auto tensor = format::Decode(data, folder);
  if (!tensor.has_value()) return At("initializer '" + data.name + "'", tensor.error());
  const auto words = tensor->As<std::int64_t>();
  if (words[0] < -149 || words[0] > 128 - kBits)
    return Malformed(data.name, "an exponent from -149 to 105");
  Gram gram{.exponent = static_cast<int>(words[0]), .size = words[1]};
  if (gram.size < 1 || gram.size > kMaxSize || Triangle(gram.size) != data.dims[0] - 1)
    return Malformed(data.name, kForm);
  constexpr __int128 kMost = static_cast<__int128>(1) << (2 * kBits + 64);
  for (std::size_t i = 2; i < words.size(); i += 2) {
    const __int128 sum = (static_cast<__int128>(words[i + 1]) << 64) |
                         static_cast<__int128>(static_cast<std::uint64_t>(words[i]));
    if (sum > kMost || sum < -kMost) return Malformed(data.name, "sums of at most 2^110");
    gram.sums.push_back(sum);
  }
  return gram;
}

}  // namespace

std::vector<double> Gram::Reals() const {
  std::vector<double> reals;
  reals.reserve(sums.size());
  for (const __int128 sum : sums)
    reals.push_back(std::ldexp(static_cast<double>(sum), 2 * exponent));
  return reals;
}

Result<Grams> PlanGrams(const Model& model) {
  Grams grams;
  std::int64_t total = 0;
  for (const Node& node : model.graph.nodes) {
    const std::int64_t size = ColumnsOf(node, model);
    if (size < 1 || grams.contains(node.inputs[0])) continue;
    const std::string place = "value '" + node.inputs[0] + "'";
    const format::ValueInfo* info = model.graph.FindValue(node.inputs[0]);
    if (info == nullptr || !info->type || !info->type->statistics ||
        info->type->statistics->min.empty()) {
      return Error{ErrorCode::kInvalid, place,
                   "found no statistics, expected a model that qtx calibrate has written: its "
                   "extremes are those of the grid"};
    }
    if (size > kMaxSize || (total += Triangle(size)) > kMaxSums) {
      return Error{ErrorCode::kTooLarge, place,
                   "sums of " + std::to_string(size) + " columns pass 4 GiB in all"};
    }
    Gram& gram = grams[node.inputs[0]];
    gram.exponent = ExponentFor(*info->type->statistics);
    gram.size = size;
    gram.sums.resize(static_cast<std::size_t>(Triangle(size)));
  }
  return grams;
}

Result<void> AddTo(Gram& gram, const Tensor& tensor) {
  if (tensor.elem_type != format::ElementType::kFloat || tensor.dims.empty() ||
      tensor.dims.back() != gram.size) {
    return Error{ErrorCode::kInvalid, "",
                 "found " + format::ToString(std::span(tensor.dims)) +
                     ", expected FLOAT with a last dimension of " + std::to_string(gram.size)};
  }
  const auto values = tensor.As<float>();
  const auto size = static_cast<std::size_t>(gram.size);
  const std::size_t step = static_cast<std::size_t>(kRows) * size;
  for (std::size_t at = 0; at < values.size(); at += step) {
    const auto rows = values.subspan(at, std::min(step, values.size() - at));
    const std::size_t count = rows.size() / size;
    const auto columns = Columns(gram, rows);
    __int128* sum = gram.sums.data();
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = i; j < size; ++j)
        *sum++ += Dot(&columns[i * count], &columns[j * count], count);
    }
  }
  return {};
}

Result<void> AddTo(Grams& grams, const Grams& more) {
  const auto same = [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.size == b.second.size &&
           a.second.exponent == b.second.exponent;
  };
  if (!std::ranges::equal(grams, more, same)) {
    return Error{ErrorCode::kInvalid, "",
                 "found sums of other values or on other grids, expected those of shards that "
                 "started from the same calibrated model"};
  }
  auto other = more.begin();
  for (auto& [value, gram] : grams) {
    for (std::size_t i = 0; i < gram.sums.size(); ++i) gram.sums[i] += other->second.sums[i];
    ++other;
  }
  return {};
}

Result<Model> ToModel(const Grams& grams, const Model& calibrated) {
  Model model;
  model.ir_version = 8;
  model.producer_name = "qtx calibrate";
  model.opset_imports = {{"", 17, ""}};
  model.graph.name = "gram";
  model.metadata = {{std::string(kGramKey), kGramVersion}};
  QTX_ASSIGN_OR_RETURN(const Coverage coverage, CoverageOf(calibrated));
  QTX_RETURN_IF_ERROR(SetCoverage(coverage, model));
  for (const auto& [value, gram] : grams) {
    QTX_ASSIGN_OR_RETURN(Tensor tensor, format::MakeTensor(format::ElementType::kInt64,
                                                           {1 + std::ssize(gram.sums), 2}));
    auto word = tensor.As<std::int64_t>().begin();
    *word++ = gram.exponent;
    *word++ = gram.size;
    for (const __int128 sum : gram.sums) {
      *word++ = static_cast<std::int64_t>(sum);
      *word++ = static_cast<std::int64_t>(sum >> 64);
    }
    model.graph.initializers.push_back(format::ToTensorData(value, tensor));
  }
  return model;
}

bool HasGrams(const Model& model) {
  return std::ranges::any_of(model.metadata,
                             [](const auto& entry) { return entry.first == kGramKey; });
}

Result<Grams> GramsOf(const Model& model) {
  if (std::ranges::find(model.metadata,
                        std::pair(std::string(kGramKey), std::string(kGramVersion))) ==
      model.metadata.end()) {
    return Error{ErrorCode::kInvalid, "",
                 "expected sums that qtx calibrate --gram has written, of version 1"};
  }
  Grams grams;
  std::int64_t total = 0;
  for (const format::TensorData& data : model.graph.initializers) {
    if (data.dims.size() == 2 && (total += std::max<std::int64_t>(data.dims[0], 0)) > 2 * kMaxSums)
      return Error{ErrorCode::kTooLarge, "initializer '" + data.name + "'",
                   "sums pass 8 GiB in all"};
    QTX_ASSIGN_OR_RETURN(grams[data.name], ReadGram(data, model.folder));
  }
  return grams;
}

Result<MergedGrams> MergeGrams(std::span<const Model> models) {
  Grams all;
  Coverage coverage;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const std::string place = "models[" + std::to_string(i) + "]";
    auto grams = GramsOf(models[i]);
    if (!grams.has_value()) return At(place, grams.error());
    auto own = CoverageOf(models[i]);
    if (own.has_value() && i > 0) own = Join(coverage, *own);
    if (!own.has_value()) return At(place, own.error());
    coverage = *std::move(own);
    if (i == 0) {
      all = *std::move(grams);
    } else if (const auto added = AddTo(all, *grams); !added.has_value()) {
      return At(place, added.error());
    }
  }
  if (models.empty() || (coverage.Samples() == 0 && Missing(coverage).empty()))
    return Error{ErrorCode::kInvalid, "models", "found no sample that could be used"};
  Model covered;
  QTX_RETURN_IF_ERROR(SetCoverage(coverage, covered));
  MergedGrams merged{.missing = Missing(coverage)};
  QTX_ASSIGN_OR_RETURN(merged.model, ToModel(all, covered));
  return merged;
}

}  // namespace qtx::calibrate
