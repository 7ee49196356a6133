// Parses the subset of MLIR's text that StableHLO programs are written in. Functions are found
// first; operators are read one at a time, in the order of the text.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stablehlo/program.h"

namespace qtx::convert {

class MlirParser {
 public:
  /// Borrows `text`. Finds the functions of all programs in it.
  /// Errors, here and below: kInvalid, kUnsupported and kTooLarge, `where` names the line.
  static Result<MlirParser> Open(std::string_view text);

  const std::vector<MlirFunction>& functions() const { return functions_; }
  MlirText& text() { return text_; }
  /// How many scales of types were no binary32 numbers, and were rounded.
  std::int64_t rounded_scales() const { return rounded_scales_; }

  /// The arguments of `function`; the cursor then stands at its first operator.
  Result<std::vector<MlirArgument>> Enter(const MlirFunction& function);
  /// The next operator; nullopt behind the last one of a body.
  Result<std::optional<MlirOp>> NextOp();

 private:
  explicit MlirParser(std::string_view text) : text_(text) {}

  // parser.cc
  Result<void> FindFunctions();
  Result<void> FindNext(std::size_t& open);
  Result<void> FindAlias();
  Result<void> EnterModule();
  Result<void> SkipResources();
  Result<void> FindFunction();
  Result<void> SkipResults();
  std::size_t SectionOf(std::size_t at) const;

  // parse_op.cc
  Result<MlirOp> Op(int depth);
  Result<void> Results(MlirOp& op);
  Result<void> LongForm(MlirOp& op, int depth);
  Result<void> ShortForm(MlirOp& op);
  Result<bool> ShortItem(MlirOp& op);
  Result<void> ShortWord(MlirOp& op);
  Result<void> Types(MlirOp& op);
  Result<std::string> Operand();
  Result<void> Regions(MlirOp& op, int depth);
  Result<MlirRegion> Region(int depth);
  Result<void> Reducer(MlirOp& op, int depth);
  Result<void> RegionArguments(MlirRegion& region);
  Result<void> RegionOps(MlirRegion& region, int depth);
  Result<void> Properties(MlirOp& op);
  Result<void> SkipLocation();
  Result<std::string> Location();

  // parse_attribute.cc
  Result<MlirAttribute> Attribute(bool typed, int depth = 0);
  Result<MlirAttribute> WordAttribute();
  Result<MlirAttribute> NumberAttribute(bool typed);
  Result<MlirAttribute> HashAttribute(int depth);
  Result<MlirAttribute> Dense();
  Result<MlirAttribute> Array();
  Result<MlirAttribute> List(std::string_view close, int depth);
  Result<MlirAttribute> Joined(MlirAttribute list, int depth);
  Result<void> Entries(MlirAttribute& dict, std::string_view close, int depth);

  // parse_type.cc
  Result<format::TensorType> Type(int depth = 0);
  Result<void> TypeText();  // any type, skipped
  Result<void> Dimensions(format::TensorType& type);
  Result<void> Element(format::TensorType& type, int depth);
  Result<void> Uniform(format::TensorType& type);
  Result<void> Storage(format::TensorType& type);
  Result<void> Axes(format::Quantization& q);
  Result<void> Parameters(format::Quantization& q, int depth);
  Result<void> CheckParameters(const format::TensorType& type);

  Result<void> Spend(std::int64_t& budget, std::int64_t amount, const char* what);
  Result<std::size_t> AliasOf(std::string_view name);

  MlirText text_;
  std::vector<MlirFunction> functions_;
  std::vector<std::size_t> separators_;  // where "// -----" lines stand
  std::map<std::pair<std::size_t, std::string>, std::size_t, std::less<>> aliases_;
  std::int64_t rounded_scales_ = 0;
  std::int64_t attributes_left_ = std::int64_t{1} << 22;
  std::int64_t ops_left_ = std::int64_t{1} << 18;
  std::int64_t parameters_left_ = std::int64_t{1} << 26;
};

/// Limit on brackets, types, attributes and regions within each other.
inline constexpr int kMaxMlirDepth = 32;

/// The plain type of a word such as "f32" or "ui8"; nullopt for any other.
std::optional<format::ElementType> MlirElementType(std::string_view word);
/// The inverse; "" for a type that MLIR does not have.
std::string_view MlirWord(format::ElementType type);

}  // namespace qtx::convert
