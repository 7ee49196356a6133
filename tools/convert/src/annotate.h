// Joins files of parameters and statistics (profiles, tables) with a model, and lists the values
// for such files.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ledger.h"
#include "qtx/format/inference.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// The ONNX model of a table: the first of `source.with`, or the .onnx beside it of the same stem.
/// Errors: those of Model::Load; kInvalid when there is neither.
Result<format::Model> ModelBeside(const Source& source);

/// What a table gives the model beside it. A lowered model records its annotations
/// (qtx.annotations): the record is made anew if it agreed before; if not, what the table says may
/// be the annotations that were lost.
using Annotator = std::function<Result<void>(format::Model& model, Ledger& ledger)>;
/// Errors: those of ModelBeside and of `annotate`.
Result<Conversion> OntoModelBeside(const Source& source, const Options& options,
                                   const Annotator& annotate);

/// All names of values: inputs, initializers, node outputs.
std::set<std::string> ValueNames(const format::Graph& graph);

/// The declaration of `value`; an undeclared value is declared as FLOAT. Errors: kUnsupported when
/// it is declared with another type.
Result<format::TensorType*> DeclareFloat(format::Model& model, const std::string& value);

/// The sizes that follow from a model and that its declarations leave open.
class InferredSizes {
 public:
  /// Borrows `model`, whose graph is inferred when a size is first asked for.
  explicit InferredSizes(const format::Model& model) : model_(model) {}

  /// Gives the type of `value` the shape or the sizes that it lacks.
  void Fill(const std::string& value, format::TensorType& type);

 private:
  const format::Model& model_;
  std::optional<format::Inference> inference_;
};

/// Gives `type` the shape that it lacks, or sizes of it; one of another rank says nothing.
void FillShape(const format::Shape& shape, format::TensorType& type);

/// Errors: kInvalid for an axis whose size is not known, which C1 and C3 need; `field` names it.
Result<void> CheckAxes(const std::vector<std::int64_t>& axes, const format::TensorType& type,
                       const std::string& field);

/// Every value with parameters or statistics, in the order of the graph's inputs, values and
/// outputs, without repeats.
std::vector<const format::ValueInfo*> Described(const format::Model& model);

/// The quantization of `info` as per-tensor INT8 (for UINT8 the offset is reduced by 128). nullopt
/// and a loss of "parameters" if impossible: several scales, another storage, a narrowed range, an
/// initializer.  Errors: kUnsupported if that loss is not allowed.
/// REQUIRES: info.type->quantization.
Result<std::optional<format::Quantization>> AsInt8(const format::Model& model,
                                                   const format::ValueInfo& info, Ledger& ledger);

/// True for a character that no line of text can hold.
inline bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace qtx::convert
