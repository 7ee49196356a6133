// The constraints of operators in the text, definitions.S15, against the format library's, which is
// code: both refuse the same nodes. The nodes are those of the conformance cases, and such with one
// thing changed at random.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qtx/backend/backend.h"
#include "qtx/conformance/case.h"
#include "qtx/conformance/suite.h"
#include "qtx/format/check.h"
#include "qtx/format/inference.h"
#include "qtx/format/model.h"
#include "qtx/format/scopes.h"
#include "qtx/formula/text.h"

namespace qtx::backend {

// The name that CMake gives it.  NOLINTNEXTLINE(readability-identifier-naming)
Result<std::unique_ptr<Backend>> Make_text(std::string_view options);

namespace {

using format::Attribute;
using format::ElementType;

constexpr ElementType kTypes[] = {ElementType::kFloat,  ElementType::kFloat16, ElementType::kDouble,
                                  ElementType::kBool,   ElementType::kInt8,    ElementType::kUint8,
                                  ElementType::kInt32,  ElementType::kInt64,   ElementType::kInt8Q,
                                  ElementType::kUint8Q, ElementType::kInt32Q,  ElementType::kInt4Q,
                                  ElementType::kUint16, ElementType::kBfloat16};
constexpr std::int64_t kNumbers[] = {-3, -2, -1, 0, 1, 2, 3, 4, 5, 9};

/// Changes one thing of the node of a model.
class Mutation {
 public:
  explicit Mutation(std::uint64_t seed) : random_(seed) {}

  void Apply(format::Model& model) {
    switch (Below(5)) {
      case 0:
        return ChangeAttribute(model.graph.nodes[0]);
      case 1:
        return ChangeOpset(model);
      case 2:
        return ChangeConstant(model);
      default:
        return ChangeType(model);
    }
  }

 private:
  std::size_t Below(std::size_t n) { return random_() % n; }
  template <typename T, std::size_t N>
  T One(const T (&values)[N]) {
    return values[Below(N)];
  }

  void ChangeAttribute(format::Node& node) {
    if (node.attributes.empty()) return;
    const std::size_t i = Below(node.attributes.size());
    Attribute& attribute = node.attributes[i];
    if (Below(5) == 0) {
      node.attributes.erase(node.attributes.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (attribute.type == format::AttributeType::kInt) {
      attribute.i = One(kNumbers);
    } else if (attribute.type == format::AttributeType::kFloat) {
      constexpr float kFloats[] = {0, 1, -1, 0.5F, INFINITY, NAN};
      attribute.f = One(kFloats);
    } else if (attribute.type == format::AttributeType::kString) {
      attribute.s = Below(2) == 0 ? "VALID" : "none";
    } else if (attribute.type == format::AttributeType::kInts) {
      ChangeList(attribute.ints);
    }
  }

  void ChangeList(std::vector<std::int64_t>& list) {
    const std::size_t what = Below(4);
    if (list.empty() || what == 0) {
      list.push_back(One(kNumbers));
    } else if (what == 1) {
      list.pop_back();
    } else {
      list[Below(list.size())] = One(kNumbers);
    }
  }

  void ChangeOpset(format::Model& model) {
    constexpr std::int64_t kOpsets[] = {7, 10, 11, 13, 17, 18, 19, 21, 23, 24};
    for (auto& import : model.opset_imports) {
      if (import.domain.empty()) import.version = One(kOpsets);
    }
  }

  void ChangeConstant(format::Model& model) {
    if (model.graph.initializers.empty()) return;
    format::TensorData& data = model.graph.initializers[Below(model.graph.initializers.size())];
    auto tensor = format::Decode(data);
    if (!tensor || tensor->bytes.empty()) return;
    tensor->bytes[Below(tensor->bytes.size())] = static_cast<std::byte>(Below(4) * 85);
    data = format::ToTensorData(data.name, *tensor);
  }

  void ChangeType(format::Model& model) {
    auto& values = Below(3) == 0 ? model.graph.outputs : model.graph.inputs;
    if (values.empty()) return;
    auto& type = values[Below(values.size())].type;
    if (!type) return;
    if (Below(3) == 0) {
      type->elem_type = One(kTypes);
      const bool quantized = format::IsQuantized(type->elem_type);
      if (!quantized) type->quantization.reset();
      if (quantized && !type->quantization) {
        type->quantization.emplace();
        type->quantization->scale = {0.5F};
      }
      return;
    }
    if (!type->shape) return;
    format::Dims dims = format::FixedDims(*type->shape).value_or(format::Dims{});
    ChangeList(dims);
    for (std::int64_t& dim : dims) dim = std::abs(dim);
    type->shape = format::ToShape(dims);
    if (type->quantization && !type->quantization->axis.empty()) {
      type->quantization->axis.clear();
      type->quantization->scale.resize(1);
      type->quantization->offset.resize(
          std::min<std::size_t>(type->quantization->offset.size(), 1));
    }
  }

  std::mt19937_64 random_;
};

/// Leaves a size of one input open; false where no input has one.
bool OpenOne(std::uint64_t seed, format::Model& model) {
  std::vector<format::Dimension*> sizes;
  for (format::ValueInfo& input : model.graph.inputs) {
    if (!input.type || !input.type->shape) continue;
    for (format::Dimension& dimension : *input.type->shape) sizes.push_back(&dimension);
  }
  if (sizes.empty()) return false;
  std::mt19937_64 random(seed);
  *sizes[random() % sizes.size()] = {std::nullopt, "n"};
  return true;
}

bool IsOpen(const format::ValueInfo& value) {
  return value.type && value.type->shape &&
         std::ranges::any_of(*value.type->shape, [](const format::Dimension& dimension) {
           return !dimension.value.has_value();
         });
}

bool HasOpenShapes(const format::Model& model) {
  return std::ranges::any_of(model.graph.inputs, IsOpen) ||
         std::ranges::any_of(model.graph.outputs, IsOpen);
}

/// Whether a size of a result is not known before the model runs: the text does not know its rank,
/// either, and the code no size that takes rationals (range.S1).
bool HasOpenResult(format::Model model) {
  for (format::ValueInfo& output : model.graph.outputs) {
    if (output.type) output.type->shape.reset();
  }
  return std::ranges::any_of(format::WithInferredTypes(model).graph.outputs, IsOpen);
}

class Constraints : public ::testing::Test {
 protected:
  void SetUp() override {
    auto text = formula::Text::Embedded();
    ASSERT_TRUE(text) << text.error().message;
    text_ = *std::move(text);
    auto backend = Make_text("");
    ASSERT_TRUE(backend) << backend.error().message;
    backend_ = *std::move(backend);
  }

  /// What the two say of a node.
  struct Verdicts {
    bool by_text = false, by_code = false;  // refused
    std::string messages;
  };
  /// nullopt where the code refuses the model for what is no constraint of the text.
  std::optional<Verdicts> Judge(const format::Model& model) {
    const auto by_code = format::CheckFirst(model);
    const bool decided = by_code || (by_code.error().code == ErrorCode::kInvalid &&
                                     text_->Constrains(by_code.error().clause));
    if (!decided) return std::nullopt;
    const auto by_text = backend_->Prepare(model, "exact");
    const bool refused =
        !by_text && by_text.error().message.find("does not keep") != std::string::npos;
    return Verdicts{
        refused, !by_code,
        "text: " + (refused ? by_text.error().message : std::string("accepted")) + "; code: " +
            (by_code ? "accepted" : by_code.error().clause + " " + by_code.error().message)};
  }

  /// Calls `visit(id, seed, model)` for the node of each case, and for mutants of it.
  template <typename Visit>
  void ForEachNode(const Visit& visit) {
    const auto suite = conformance::LoadSuite(QTX_SOURCE_DIR "/conformance/cases");
    ASSERT_TRUE(suite) << suite.error().message;
    const char* more = std::getenv("QTX_FUZZ_CASES");  // mutants of each case
    const int mutants = more == nullptr ? 1 : std::atoi(more);
    const char* first = std::getenv("QTX_FUZZ_SEED");
    const std::uint64_t seed = first == nullptr ? 1 : std::strtoull(first, nullptr, 10);
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    for (const conformance::Case& c : suite->cases) {
      if (!c.op) continue;
      const auto model = conformance::BuildModel(c);
      if (!model || model->graph.nodes.size() != 1 || format::HasBodies(model->graph)) continue;
      for (int i = 0; i <= mutants; ++i) {
        format::Model changed = *model;
        const std::uint64_t own =
            seed + static_cast<std::uint64_t>(c.position) * 1009 + static_cast<std::uint64_t>(i);
        if (i > 0) Mutation(own).Apply(changed);
        visit(c.id + " mutant " + std::to_string(i), own, changed);
      }
    }
  }

  std::optional<formula::Text> text_;
  std::unique_ptr<Backend> backend_;
};

// "conv.C3" of each "**conv.C3**" that begins a line of the operators' sections, but those that
// speak of tools: "(tests)".
std::vector<std::string> ClausesOfOperators() {
  std::vector<std::string> clauses;
  const std::regex clause(R"(^\*\*(\w+\.C\d+)\*\*(?! \(tests\)))");
  for (const auto& chapter : std::filesystem::directory_iterator(QTX_SOURCE_DIR "/spec/ops")) {
    std::ifstream file(chapter.path());
    for (std::string line; std::getline(file, line);) {
      std::smatch found;
      if (std::regex_search(line, found, clause)) clauses.push_back(found[1]);
    }
  }
  return clauses;
}

TEST_F(Constraints, AreStatedForEachClause) {
  // The type of a constant result: which quantized types stand over a storage is a table.
  const std::set<std::string> prose = {"constant.C2", "constant_of_shape.C2"};
  const std::vector<std::string> clauses = ClausesOfOperators();
  EXPECT_GT(clauses.size(), 300U);
  for (const std::string& clause : clauses) {
    EXPECT_NE(text_->Requires(clause), prose.contains(clause)) << clause;
  }
}

TEST_F(Constraints, OfTheTextAreThoseOfTheCode) {
  int asked = 0, refused = 0;
  ForEachNode([&](const std::string& id, std::uint64_t, const format::Model& model) {
    if (HasOpenShapes(model) || HasOpenResult(model)) return;  // the next test's
    ++asked;
    const auto verdicts = Judge(model);
    if (!verdicts) return;
    EXPECT_EQ(verdicts->by_text, verdicts->by_code) << id << ": " << verdicts->messages;
    refused += verdicts->by_code ? 1 : 0;
  });
  std::printf("%d nodes, %d of them refused\n", asked, refused);
}

// Of an open shape those are undecided that ask its sizes; those of types hold all the same. The
// code decides more: it knows how many dimensions there are.
TEST_F(Constraints, OfAnOpenShapeAreNotDecidedWrongly) {
  int asked = 0, by_code = 0, by_both = 0;
  ForEachNode([&](const std::string& id, std::uint64_t seed, format::Model& model) {
    if (!OpenOne(seed, model)) return;
    const auto verdicts = Judge(model);
    if (!verdicts) return;
    EXPECT_FALSE(verdicts->by_text && !verdicts->by_code) << id << ": " << verdicts->messages;
    ++asked;
    by_code += verdicts->by_code ? 1 : 0;
    by_both += verdicts->by_text && verdicts->by_code ? 1 : 0;
  });
  std::printf("%d nodes, the code refuses %d of them, the text %d\n", asked, by_code, by_both);
  EXPECT_GE(asked, 10000);
  EXPECT_GE(by_both, 1000);
}

}  // namespace
}  // namespace qtx::backend
