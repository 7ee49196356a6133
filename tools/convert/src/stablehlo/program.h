// What a StableHLO program says: functions, operators, attributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qtx/format/tensor_type.h"
#include "stablehlo/text.h"

namespace qtx::convert {

struct MlirAttribute {
  enum class Kind { kInteger, kFloat, kBool, kWord, kString, kSymbol, kList, kDict, kDense };
  Kind kind = Kind::kWord;
  std::int64_t integer = 0;  // of kInteger and kBool
  double real = 0;
  std::string text;                 // of kWord, kString and kSymbol
  std::vector<MlirAttribute> list;  // of kList; of kDict the values
  std::vector<std::string> keys;    // of kDict
  // Of kDense: where the elements stand, and their type.
  std::size_t begin = 0, end = 0;
  std::vector<format::TensorType> type;

  const MlirAttribute* Find(std::string_view key) const;  // of a kDict; nullptr when absent
};

struct MlirOp;

struct MlirRegion {
  std::vector<std::string> arguments;
  std::vector<MlirOp> ops;
};

/// One operator. Values are named without '%'; "0#1" is result 1 of several.
struct MlirOp {
  std::string name;   // "stablehlo.add"
  std::string label;  // of its location; "": none
  std::vector<std::string> results, operands;
  std::vector<format::TensorType> operand_types;  // none where the text does not give each
  std::vector<format::TensorType> result_types;
  std::map<std::string, MlirAttribute, std::less<>> attributes;
  std::vector<std::string> words;  // what stands without a name in the short form: "LT", "FLOAT"
  std::vector<MlirRegion> regions;
  std::size_t at = 0;  // in the text

  /// The attribute by the first of its names in the long and short form that is there; nullptr.
  const MlirAttribute* Find(std::initializer_list<std::string_view> names) const;
};

struct MlirArgument {
  std::string name;
  std::string label;  // of its location; "": none
  format::TensorType type;
};

struct MlirFunction {
  std::string name;
  bool is_private = false;
  std::size_t section = 0;    // which of the programs between "// -----" lines
  std::size_t signature = 0;  // where "(" of the arguments stands
};

}  // namespace qtx::convert
