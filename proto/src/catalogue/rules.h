// Rules that rows of the catalogue share. Each refuses a node only where the facts are certain.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/catalogue.h"
#include "qtx/format/onnx_operators.h"

namespace qtx::format::catalogue {

using Indices = std::vector<std::size_t>;

/// The row of an operator: its section's, else what ONNX or ONNX Runtime says of it. Some files
/// have operators of ONNX Runtime in ONNX's domain. nullptr where there is none.
const OpSchema* FindRow(std::string_view domain, std::string_view op_type);

// Errors -----------------------------------------------------------------------------------------

/// "INT32 or INT64"; "a real operand" and "a plain integer" for all of these.
std::string TypeNames(TypeSet types);
/// "input[1] 'w'", as the schema calls it.
std::string InputPlace(const Application& a, std::size_t i);
std::string OutputPlace(const Application& a, std::size_t i);
Error Refuse(std::string where, std::string message);  // kInvalid
Error BadInput(const Application& a, std::size_t i, const std::string& found,
               const std::string& expected);
Error BadOutput(const Application& a, std::size_t i, const std::string& found,
                const std::string& expected);
Error BadAttribute(std::string_view name, const std::string& found, const std::string& expected);
/// kUnsupported: ONNX defines what the attribute asks for, and this version of the text does not.
Error UndefinedAttribute(std::string_view name, const std::string& value);

// Facts ------------------------------------------------------------------------------------------

/// Sizes where the rank is known, else nullptr: of an input that is given.
const Dims* DimsOf(const ValueFacts& value);
inline bool Known(std::int64_t size) { return size >= 0; }
/// Whether two sizes differ for certain.
inline bool Differ(std::int64_t a, std::int64_t b) { return Known(a) && Known(b) && a != b; }
bool Differ(const Dims& a, const Dims& b);
/// All sizes are known.
bool AllKnown(const Dims& dims);
/// The integers of a constant; nullopt where the value is not known, or holds none.
std::optional<std::vector<std::int64_t>> IntegersOf(const ValueFacts& value);
/// The first integer of a constant that `test` takes; nullopt where there is none, or none known.
/// Copies no INT64 or INT32.
template <typename Test>
std::optional<std::int64_t> FindInteger(const ValueFacts& value, const Test& test) {
  const auto first = [&test](const auto& integers) -> std::optional<std::int64_t> {
    const auto found = std::ranges::find_if(integers, test);
    return found == integers.end() ? std::nullopt : std::optional<std::int64_t>(*found);
  };
  const Tensor* tensor = value.constant;
  if (tensor == nullptr || !kPlainIntegers.Has(tensor->elem_type)) return std::nullopt;
  if (tensor->elem_type == ElementType::kInt64) return first(tensor->As<std::int64_t>());
  if (tensor->elem_type == ElementType::kInt32) return first(tensor->As<std::int32_t>());
  return first(UnpackIntegers(*tensor));
}
/// The finite and other values of a constant of floats; nullopt likewise.
std::optional<std::vector<double>> FloatsOf(const ValueFacts& value);
/// "[1,3,?,8]"
std::string ShapeText(const Dims& dims);
/// The broadcast of two shapes; a negative size meets 1 or an unknown one and stays.
/// Errors: kInvalid, without place.
Result<Dims> BroadcastOf(const Dims& a, const Dims& b);
/// `axis` in [-rank, rank) as a non-negative one.  REQUIRES: it is in the range.
std::size_t AxisOf(std::int64_t axis, std::size_t rank);
/// The rank; kUnknownSize where it is not known.
std::int64_t RankOf(const ValueFacts& value);
/// The number of values of a list, a tensor of rank 1; kUnknownSize where it is not known.
std::int64_t LengthOf(const ValueFacts& value);
/// A shape of which no size is known; nullopt where the rank is not, or is above kMaxRank.
std::optional<Dims> DimsOfRank(std::int64_t rank);
/// The sum or product of two sizes; kUnknownSize where it does not follow, or is past int64.
std::int64_t SumOf(std::int64_t a, std::int64_t b);
std::int64_t ProductOf(std::int64_t a, std::int64_t b);
std::int64_t CountOf(std::span<const std::int64_t> sizes);  // the product of all
/// The size of one thing that is stated twice: the one that is known, or else that has a symbol.
std::int64_t EitherOf(std::int64_t a, std::int64_t b);

/// A list of integers that a node names in input `i` or, where that is not given, in an attribute.
/// An input of rank 0 is one value.
struct ListArgument {
  std::optional<std::vector<std::int64_t>> values;  // nullopt: not known, or not given
  std::int64_t length = kUnknownSize;
  bool given = false;
  std::string place;
};
ListArgument ListOf(const Application& a, std::size_t i, std::string_view attribute = {});

// Rules ------------------------------------------------------------------------------------------

/// These inputs and outputs are all real operands, or all of one type of `one`.
ClauseRule RealOrOne(Indices inputs, Indices outputs, TypeSet one);
/// All inputs and outputs: for variadic ones.
ClauseRule AllRealOrOne(TypeSet one);
/// The outputs are real operands when input 0 is, and of its type otherwise.
ClauseRule OutputsFollowInput(std::size_t input = 0);
ClauseRule InputTypes(std::size_t i, TypeSet types);
ClauseRule OutputTypes(std::size_t i, TypeSet types);
ClauseRule RankIs(std::size_t i, std::size_t rank);
ClauseRule RankAtLeast(std::size_t i, std::size_t rank);
/// One element: rank 0 or shape [1]. An input that is not given is none.
ClauseRule IsScalar(std::size_t i);
ClauseRule CanBroadcast(Indices inputs);
/// The input broadcasts to the shape of `to` without enlarging it.
ClauseRule BroadcastsTo(std::size_t i, std::size_t to);
/// The input is a list: of one of these types, and of rank 1.
ClauseRule IsList(std::size_t i, TypeSet types);
/// A node has the input from opset `since` on: graph.C5.
ClauseRule InputSince(std::size_t i, std::int64_t since);
/// Each of `axes` lies in [-rank, rank) and is named once, as far as they and the rank are known.
Result<void> CheckAxes(const ListArgument& axes, std::int64_t rank);
/// The attribute lies in [-rank, rank) of the input, or [-rank, rank].
ClauseRule AxisInRange(std::string_view attribute, std::size_t input, bool end_too = false);
ClauseRule IntWithin(std::string_view attribute, std::int64_t least, std::int64_t greatest);
ClauseRule StringOneOf(std::string_view attribute, std::vector<std::string_view> values);
ClauseRule IsFinite(std::string_view attribute);
ClauseRule IsFiniteNotNegative(std::string_view attribute);
/// All of them, in their order.
ClauseRule Both(std::vector<ClauseRule> rules);
/// Nothing is asked; for a clause that another one's place covers or that needs elements.
Result<void> Anything(const Application& a);

// Shapes of outputs ------------------------------------------------------------------------------

Result<std::vector<std::optional<Dims>>> ShapeOfFirst(const Application& a);
Result<std::vector<std::optional<Dims>>> ShapeOfBroadcast(const Application& a);  // of all inputs

/// Gives outputs the sizes of the schema's shape rule that they do not have. Errors: those of the
/// rule; kInvalid, of an output that declares other sizes.
Result<void> CheckShapes(Application& a);

// Types of outputs -------------------------------------------------------------------------------

ElementType Int64Type(const Application& a, std::size_t output);
ElementType Int32Type(const Application& a, std::size_t output);

// Rows, a function a family: the catalogue is their sum ------------------------------------------

void AddElementwise(std::vector<OpSchema>& rows);
void AddConvolutions(std::vector<OpSchema>& rows);
void AddPools(std::vector<OpSchema>& rows);
void AddResizing(std::vector<OpSchema>& rows);
void AddMovement(std::vector<OpSchema>& rows);
void AddSlicing(std::vector<OpSchema>& rows);
void AddReshaping(std::vector<OpSchema>& rows);
void AddEinsum(std::vector<OpSchema>& rows);
void AddIndexing(std::vector<OpSchema>& rows);
void AddReductions(std::vector<OpSchema>& rows);
void AddMatrices(std::vector<OpSchema>& rows);
void AddNormalizations(std::vector<OpSchema>& rows);
void AddAttention(std::vector<OpSchema>& rows);
void AddQuantizers(std::vector<OpSchema>& rows);
void AddQLinear(std::vector<OpSchema>& rows);
void AddRecurrent(std::vector<OpSchema>& rows);
void AddGenerators(std::vector<OpSchema>& rows);
void AddBits(std::vector<OpSchema>& rows);
void AddMasks(std::vector<OpSchema>& rows);
void AddRotaryEmbedding(std::vector<OpSchema>& rows);

}  // namespace qtx::format::catalogue
