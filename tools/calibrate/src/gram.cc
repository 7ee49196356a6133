#include "qtx/calibrate/gram.h"

#include <algorithm>
#include <cmath>

#include "coverage.h"
#include "qtx/calibrate/calibrate.h"
#include "qtx/graph/graph_index.h"
#include "qtx/graph/product_rows.h"

namespace qtx::calibrate {
namespace {

using format::Model;
using format::Node;
using format::Tensor;

constexpr int kBits = 23;                     // of a grid's integers, without their sign
constexpr std::int64_t kMaxSums = 1LL << 28;  // 4 GiB
constexpr std::int64_t kMaxSize = 1LL << 15;  // a triangle of 2^29, more than that
constexpr const char* kGramVersion = "1";

std::int64_t Triangle(std::int64_t size) { return size * (size + 1) / 2; }

// The rows that a node multiplies with constant weights.
std::optional<graph::ProductRows> RowsOf(const Node& node, const Model& model) {
  if (node.inputs.size() < 2) return std::nullopt;
  const auto weights =
      std::ranges::find(model.graph.initializers, node.inputs[1], &format::TensorData::name);
  if (weights == model.graph.initializers.end() ||
      weights->data_type != format::ElementType::kFloat)
    return std::nullopt;
  return graph::RowsOf(node, weights->dims);
}

Gram::Rows SourceOf(const Node& node, const Model& model) {
  if (node.op_type != "Conv") return {.value = node.inputs[0]};
  const auto weights =
      std::ranges::find(model.graph.initializers, node.inputs[1], &format::TensorData::name);
  return {node.inputs[0], node, {weights->dims.begin() + 2, weights->dims.end()}};
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

Error NoStatistics(const std::string& place) {
  return {ErrorCode::kInvalid, place,
          "found no statistics, expected a model that qtx calibrate has written: its extremes are "
          "those of the grid"};
}

Error TooManySums(const std::string& place, const graph::ProductRows& rows) {
  return {ErrorCode::kTooLarge, place,
          "sums of " + std::to_string(rows.size) + " columns" +
              (rows.groups > 1 ? " in " + std::to_string(rows.groups) + " groups" : "") +
              " pass 4 GiB in all"};
}

// Sums of zero for the rows of a node.  `total` grows by their number.
Result<Gram> PlanGram(const Model& model, const Node& node, const graph::ProductRows& rows,
                      std::int64_t* total) {
  const std::string place = "value '" + node.inputs[0] + "'";
  const format::ValueInfo* info = model.graph.FindValue(node.inputs[0]);
  if (info == nullptr || !info->type || !info->type->statistics ||
      info->type->statistics->min.empty())
    return NoStatistics(place);
  if (rows.size > kMaxSize || rows.groups > kMaxSums / Triangle(rows.size) ||
      (*total += rows.groups * Triangle(rows.size)) > kMaxSums)
    return TooManySums(place, rows);
  Gram gram;
  gram.exponent = ExponentFor(*info->type->statistics);
  gram.size = rows.size;
  gram.sums.resize(static_cast<std::size_t>(rows.groups * Triangle(rows.size)));
  gram.rows = SourceOf(node, model);
  return gram;
}

Error Malformed(const std::string& name, const std::string& expected) {
  return {ErrorCode::kInvalid, "initializer '" + name + "'", "expected " + expected};
}

Result<Gram> ReadGram(const format::TensorData& data, const std::string& folder) {
  constexpr auto kForm = "INT64 of shape [1 + n, 2], n a multiple of size * (size + 1) / 2";
  if (data.data_type != format::ElementType::kInt64 || data.dims.size() != 2 || data.dims[1] != 2 ||
      data.dims[0] < 2 || data.dims[0] > kMaxSums)
    return Malformed(data.name, kForm);
  auto tensor = format::Decode(data, folder);
  if (!tensor.has_value()) return At("initializer '" + data.name + "'", tensor.error());
  const auto words = tensor->As<std::int64_t>();
  if (words[0] < -149 || words[0] > 128 - kBits)
    return Malformed(data.name, "an exponent from -149 to 105");
  Gram gram{.exponent = static_cast<int>(words[0]), .size = words[1]};
  if (gram.size < 1 || gram.size > kMaxSize || (data.dims[0] - 1) % Triangle(gram.size) != 0)
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

std::int64_t Gram::Groups() const { return std::ssize(sums) / Triangle(size); }

Result<Grams> PlanGrams(const Model& model) {
  Grams grams;
  std::int64_t total = 0;
  for (const Node& node : model.graph.nodes) {
    const auto rows = RowsOf(node, model);
    if (!rows || rows->size < 1) continue;
    const std::string place = "value '" + node.inputs[0] + "'";
    const auto [at, is_new] = grams.try_emplace(rows->name);
    Gram& gram = at->second;
    if (!is_new && gram.rows.value == node.inputs[0]) continue;
    if (!is_new)
      return Error{ErrorCode::kInvalid, place, "has patches whose name is that of a value"};
    QTX_ASSIGN_OR_RETURN(gram, PlanGram(model, node, *rows, &total));
  }
  return grams;
}

Result<Gram> PlanJointGram(const Model& model, const Node& node) {
  auto rows = RowsOf(node, model);
  if (!rows || rows->size < 1)
    return Error{ErrorCode::kInvalid, graph::PlaceOf(node), "has no rows that are summed"};
  rows->size *= 2;
  std::int64_t total = 0;
  QTX_ASSIGN_OR_RETURN(Gram gram, PlanGram(model, node, *rows, &total));
  ++gram.exponent;
  return gram;
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
