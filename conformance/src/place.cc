#include "place.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "compare.h"
#include "position.h"
#include "qtx/format/levels.h"
#include "redraw.h"
#include "threshold.h"
#include "variation.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Tensor;

constexpr std::uint64_t kBaseDraws = 24;          // of the smallest form
constexpr int kVariationDraws = 40;               // of a variation
constexpr std::uint64_t kMaxVariationDraws = 80;  // those that the reference refuses included
constexpr double kAccident = 0.03;                // that a wrong variation looks right
constexpr std::size_t kMaxParts = 6;              // of a place's sentence

enum class Judged { kRight, kWrong, kUnknown };

std::string DimsText(const format::Dims& dims) {
  std::string text = "[";
  for (const std::int64_t dim : dims) text += (text.size() == 1 ? "" : ",") + std::to_string(dim);
  return text + "]";
}

// " scale 0.5 offset 3", without scales of 1 and offsets of 0; "..." for several.
std::string ParametersText(const std::optional<format::Quantization>& q) {
  if (!q || format::HasLevels(*q)) return "";
  const auto text = [](const auto& values) {
    return values.size() == 1 ? fmt::format("{}", values[0]) : std::string("...");
  };
  std::string says;
  if (std::ranges::any_of(q->scale, [](float scale) { return scale != 1; })) {
    says += " scale " + text(q->scale);
  }
  if (std::ranges::any_of(q->offset, [](std::int32_t offset) { return offset != 0; })) {
    says += " offset " + text(q->offset);
  }
  return says;
}

// "x: INT8Q scale 0.5 [1,2] {3, -4}": the values of the smallest tensors only.
std::string DatumText(const Datum& datum) {
  constexpr std::int64_t kFewValues = 4;
  const Tensor& tensor = datum.tensor;
  std::string text = datum.name + ": " + std::string(format::Name(tensor.elem_type)) +
                     ParametersText(tensor.quantization) + " " + DimsText(tensor.dims);
  if (format::ElementCount(tensor) > kFewValues || format::BitWidth(tensor.elem_type) == 0) {
    return text;
  }
  std::string values;
  const auto add = [&values](const std::string& value) {
    values += (values.empty() ? "" : ", ") + value;
  };
  if (format::IsIntegerStorage(tensor.elem_type) || tensor.elem_type == ElementType::kBool) {
    for (const std::int64_t value : format::UnpackIntegers(tensor)) add(std::to_string(value));
  } else if (tensor.elem_type == ElementType::kFloat) {
    for (const float value : tensor.As<float>()) add(fmt::format("{}", value));
  } else {
    for (const double value : format::StoredValues(tensor)) add(fmt::format("{}", value));
  }
  return text + " {" + values + "}";
}

std::string FormText(const TestModel& test, const Verdict& verdict) {
  std::string text;
  for (const format::Node& node : test.nodes) {
    text += (text.empty() ? "" : ", ") + node.op_type;
  }
  text += "(";
  for (const Datum& datum : test.data) text += (text.back() == '(' ? "" : ", ") + DatumText(datum);
  for (const format::Node& node : test.nodes) {
    for (const format::Attribute& attribute : node.attributes) {
      text += (text.back() == '(' ? "" : ", ") + AttributeText(attribute);
    }
  }
  text += ")";
  std::string types;
  for (const format::ValueInfo& output : test.outputs) {
    if (!output.type) continue;
    types += (types.empty() ? " -> " : ", ") + std::string(format::Name(output.type->elem_type)) +
             ParametersText(output.type->quantization);
  }
  return text + types + ": " + verdict.detail;
}

std::string SizeList(const std::set<std::int64_t>& sizes) {
  std::string text;
  for (const std::int64_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return text;
}

// Sizes that are wrong and right by turns are those of an accident, as of what lies beyond.
bool AreByTurns(const std::set<std::int64_t>& right, const std::set<std::int64_t>& wrong) {
  std::map<std::int64_t, bool> judged;
  for (const std::int64_t size : right) judged[size] = true;
  for (const std::int64_t size : wrong) judged[size] = false;
  std::size_t turns = 0;
  for (auto one = judged.begin(); std::next(one) != judged.end(); ++one) {
    if (one->second != std::next(one)->second) ++turns;
  }
  return turns > 2;
}

// A sentence about the sizes of an axis for which the answer was wrong or right.
std::string SizesText(const SizedAxis& axis, const std::set<std::int64_t>& right,
                      const std::set<std::int64_t>& wrong) {
  if (right.empty()) return "";
  for (const std::int64_t step : {2, 4, 8, 16, 32}) {
    const auto divides = [step](std::int64_t size) { return size % step == 0; };
    const std::string multiple = step == 2 ? "even" : "a multiple of " + std::to_string(step);
    if (right.size() < 2 || wrong.size() < 2) break;
    if (std::ranges::all_of(right, divides) && std::ranges::none_of(wrong, divides)) {
      return "only where " + axis.says + " is not " + multiple;
    }
    if (std::ranges::none_of(right, divides) && std::ranges::all_of(wrong, divides)) {
      return "only where " + axis.says + " is " + multiple;
    }
  }
  if (AreByTurns(right, wrong)) return "";
  const std::string of = axis.says + ": ";
  if (*right.rbegin() < *wrong.begin()) {
    return of + "right with " + std::to_string(*right.rbegin()) + ", wrong from " +
           std::to_string(*wrong.begin()) + " on";
  }
  if (*right.begin() > *wrong.rbegin()) {
    return of + "wrong up to " + std::to_string(*wrong.rbegin()) + ", right from " +
           std::to_string(*right.begin()) + " on";
  }
  return of + "wrong with " + SizeList(wrong) + ", right with " + SizeList(right);
}

// The wrong elements of the first output.
std::set<std::int64_t> WrongElements(const Verdict& verdict, const Tolerance& tolerance) {
  std::set<std::int64_t> wrong;
  if (verdict.kind != VerdictKind::kDiffers || verdict.got.empty()) return wrong;
  const auto distances = Distances(verdict.got[0], verdict.expected[0], tolerance);
  if (!distances) return wrong;
  for (const ElementDistance& distance : *distances) {
    if (!distance.allowed) wrong.insert(static_cast<std::int64_t>(distance.index));
  }
  return wrong;
}

// The most between a wrong element of the first output and the right one, in LSB or ulp.
std::int64_t Farthest(const Verdict& verdict, const Tolerance& tolerance) {
  constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();
  if (verdict.kind != VerdictKind::kDiffers || verdict.got.empty()) return 0;
  const auto distances = Distances(verdict.got[0], verdict.expected[0], tolerance);
  if (!distances) return kUnknown;
  std::int64_t most = 0;
  for (const ElementDistance& element : *distances) {
    const std::int64_t distance = std::max(element.distance.value_or(kUnknown), -kUnknown);
    most = std::max(most, distance < 0 ? -distance : distance);
  }
  return most;
}

class Locator {
 public:
  Locator(const BackendSource& source, DifferentialTester& tester, const Reduction& reduction,
          const Budget& budget)
      : source_(source),
        tester_(tester),
        smallest_(reduction.smallest),
        verdict_(reduction.verdict),
        whole_(reduction.whole),
        budget_(budget) {}

  Located Find() {
    located_.place.op = smallest_.nodes.back().op_type;
    located_.place.form = FormText(smallest_, verdict_);
    located_.trials.push_back({smallest_, true});
    DrawBase();
    located_.draws = located_.trials.size();
    const std::string position = PositionText();
    Add(position.empty() ? PositionInTheWhole() : position);
    if (is_steady_) {
      for (const SizedAxis& axis : AxesOf(tester_, smallest_)) Add(TextOf(axis));
      for (const Feature& feature : FeaturesOf(smallest_)) Add(TextOf(feature));
    }
    if (failing_ < drawn_) {
      for (const auto& text : ThresholdsOf(tester_, smallest_, verdict_, budget_)) Add(text);
    }
    Add(ThreadsText());
    Add(ValuesText());
    return std::move(located_);
  }

 private:
  void Add(const std::string& part) {
    if (part.empty() || parts_++ >= kMaxParts) return;
    std::string& says = located_.place.says;
    says += (says.empty() ? "" : "; ") + part;
  }

  // How often other values fail, and in which elements.
  void DrawBase() {
    Note(verdict_);
    for (std::uint64_t draw = 1; draw <= kBaseDraws && !tester_.Spent(budget_); ++draw) {
      TestModel drawn = Redraw(smallest_, draw);
      const Verdict verdict = tester_.Run(drawn);
      const bool fails = verdict.kind == verdict_.kind;
      if (!fails && verdict.kind != VerdictKind::kPass) continue;
      ++drawn_;
      located_.trials.push_back({std::move(drawn), fails});
      if (!fails) continue;
      ++failing_;
      Note(verdict);
    }
    const double share = drawn_ == 0 ? 1 : static_cast<double>(failing_) / drawn_;
    double accident = 1;
    for (needed_ = 0; needed_ < kVariationDraws && accident > kAccident; ++needed_) {
      accident *= 1 - share;
    }
    is_steady_ = accident <= kAccident;
  }

  void Note(const Verdict& verdict) {
    std::set<std::int64_t> wrong = WrongElements(verdict, tester_.tolerance());
    located_.farthest = std::max(located_.farthest, Farthest(verdict, tester_.tolerance()));
    seen_ += std::ssize(wrong);
    wrong_.merge(wrong);
  }

  // Said only of elements that were wrong often, so that the others had their chance.
  std::string PositionText() const {
    constexpr std::int64_t kOften = 4;
    if (smallest_.nodes.size() != 1 || verdict_.expected.empty() || wrong_.empty()) return "";
    if (seen_ < kOften * std::ssize(wrong_)) return "";
    return DescribePositions(smallest_.nodes[0], verdict_.expected[0].dims, wrong_);
  }

  // The same of the model before it was reduced, whose wrong elements may be all that is left.
  std::string PositionInTheWhole() {
    constexpr std::uint64_t kDraws = 8;
    constexpr std::int64_t kOften = 4;
    if (smallest_.nodes.size() != 1 || whole_.nodes.size() != 1) return "";
    std::set<std::int64_t> wrong;
    format::Dims dims;
    std::int64_t seen = 0;
    for (std::uint64_t draw = 0; draw < kDraws && !tester_.Spent(budget_); ++draw) {
      const Verdict verdict = tester_.Run(draw == 0 ? whole_ : Redraw(whole_, draw));
      if (verdict.kind != verdict_.kind || verdict.expected.empty()) continue;
      dims = verdict.expected[0].dims;
      std::set<std::int64_t> some = WrongElements(verdict, tester_.tolerance());
      seen += std::ssize(some);
      wrong.merge(some);
    }
    if (wrong.empty() || seen < kOften * std::ssize(wrong)) return "";
    const std::string text = DescribePositions(whole_.nodes[0], dims, wrong);
    return text.empty() ? "" : "before it was reduced " + text;
  }

  Judged Judge(const TestModel& test) {
    int right = 0;
    for (std::uint64_t draw = 0; draw < kMaxVariationDraws && !tester_.Spent(budget_); ++draw) {
      TestModel asked = draw == 0 ? test : Redraw(test, draw);
      const Verdict verdict = tester_.Run(asked);
      if (verdict.kind == verdict_.kind) {
        located_.trials.push_back({std::move(asked), true});
        return Judged::kWrong;
      }
      if (verdict.kind == VerdictKind::kPass) ++right;
      if (draw == 0 && right == 0) return Judged::kUnknown;
      if (right < needed_) continue;
      located_.trials.push_back({test, false});
      return Judged::kRight;
    }
    return Judged::kUnknown;
  }

  std::string TextOf(const SizedAxis& axis) {
    std::set<std::int64_t> right;
    std::set<std::int64_t> wrong = {axis.size};
    for (const Sized& other : axis.others) {
      const Judged judged = Judge(other.test);
      if (judged == Judged::kRight) right.insert(other.size);
      if (judged == Judged::kWrong) wrong.insert(other.size);
    }
    return tester_.Spent(budget_) ? "" : SizesText(axis, right, wrong);
  }

  std::string TextOf(const Feature& feature) {
    bool is_right = false;
    for (const TestModel& without : feature.without) {
      const Judged judged = Judge(without);
      if (judged == Judged::kWrong) return "";
      is_right = is_right || judged == Judged::kRight;
    }
    return is_right && !tester_.Spent(budget_) ? "only " + feature.says : "";
  }

  // True if the smallest form fails with that many threads; nullopt where it cannot be asked.
  std::optional<bool> FailsWith(int threads) {
    BackendSource source = source_;
    source.make = [&] { return source_.make_with_threads(threads); };
    auto tester = DifferentialTester::Make(source, tester_.arithmetic(), tester_.tolerance_case());
    if (!tester) return std::nullopt;
    for (int draw = 0; draw < std::max(needed_, 4); ++draw) {
      const Verdict verdict = tester->Run(Redraw(smallest_, static_cast<std::uint64_t>(draw)));
      if (IsFault(verdict.kind)) return true;
    }
    return tester->runs() > 0 ? std::optional(false) : std::nullopt;
  }

  std::string ThreadsText() {
    if (!source_.make_with_threads || tester_.Spent(budget_)) return "";
    constexpr int kMany = 8;
    const auto one = FailsWith(1);
    const auto many = FailsWith(kMany);
    if (!one || !many || *one == *many) return "";
    return *many ? "only with several threads, right with 1" : "only with 1 thread, right with 8";
  }

  std::string ValuesText() const {
    constexpr int kEnough = 12;
    if (drawn_ < kEnough || smallest_.data.empty()) return "";
    if (failing_ == drawn_) return "whatever the values";
    return "for " + std::to_string(failing_) + " of " + std::to_string(drawn_) +
           " draws of other values";
  }

  const BackendSource& source_;
  DifferentialTester& tester_;
  const TestModel& smallest_;
  const Verdict& verdict_;
  const TestModel& whole_;
  const Budget& budget_;
  Located located_;
  std::set<std::int64_t> wrong_;
  std::int64_t seen_ = 0;  // wrong elements, over all draws
  int drawn_ = 0;
  int failing_ = 0;
  int needed_ = 0;          // draws that a right variation must stand
  bool is_steady_ = false;  // failing often enough to say what is right
  std::size_t parts_ = 0;
};

}  // namespace

WrongPlace PlaceOf(const TestModel& test, const Verdict& verdict, const Tolerance& tolerance) {
  WrongPlace place{test.nodes.back().op_type, FormText(test, verdict), ""};
  const std::set<std::int64_t> wrong = WrongElements(verdict, tolerance);
  if (test.nodes.size() != 1 || wrong.empty()) return place;
  place.says = DescribePositions(test.nodes[0], verdict.expected[0].dims, wrong);
  return place;
}

Located Locate(const BackendSource& source, DifferentialTester& tester, const Reduction& reduction,
               const Budget& budget) {
  return Locator(source, tester, reduction, budget).Find();
}

}  // namespace qtx::conformance
