// A PaddlePaddle program (.pdmodel, __model__) and its parameters, as plain values.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/model.h"

namespace qtx::convert::paddle {

struct Attribute {
  std::vector<std::int64_t> ints;  // also booleans
  std::vector<float> floats;
  std::vector<std::string> strings;
  bool list = false;
  bool block = false;  // names another block: a loop or a branch
  bool var = false;    // names a variable that holds the value
};

struct Op {
  std::string type;
  std::map<std::string, std::vector<std::string>, std::less<>> inputs, outputs;  // by parameter
  std::map<std::string, Attribute, std::less<>> attributes;

  const Attribute* Find(std::string_view name) const;
  std::int64_t Int(std::string_view name, std::int64_t fallback) const;
  bool Bool(std::string_view name, bool fallback) const { return Int(name, fallback ? 1 : 0) != 0; }
  float Float(std::string_view name, float fallback) const;
  std::string String(std::string_view name, std::string fallback) const;
  std::vector<std::int64_t> Ints(std::string_view name) const;  // empty when absent
  /// "op conv2d of 'y'", for errors.
  std::string Name() const;
  /// Errors: kInvalid if one of the readers above found its attribute to be of another type.
  Result<void> CheckTypes() const;

 private:
  // The attribute, if it is a scalar of the member's type or, with `list`, any list of it.
  template <typename T>
  const std::vector<T>* Values(std::string_view name, std::vector<T> Attribute::*member,
                               bool list) const;
  mutable std::string mistyped_;  // the first such attribute
};

struct Var {
  bool tensor = false;  // else the list of feeds or fetches, a reader, ...
  bool persistable = false;
  format::ElementType elem_type = format::ElementType::kUndefined;
  format::Shape shape;
};

struct Program {
  std::map<std::string, Var> vars;
  std::vector<Op> ops;
};

bool LooksLikeProgram(std::string_view bytes);
/// The main block.  Errors: kInvalid; kUnsupported for a program with a loop or a branch.
Result<Program> ParseProgram(std::string_view bytes);

/// ElementType of a VarType.Type; kUndefined for types that are not tensors.
format::ElementType ElementTypeOf(std::int64_t paddle_type);

using Params = std::map<std::string, format::Tensor>;

/// Parses a serialised tensor and removes it from the front of `bytes`.  Errors: kInvalid,
/// kTooLarge; checks sizes against the remaining bytes before allocating.
/// Source: paddle/fluid/framework/lod_tensor.cc, DeserializeFromStream; tensor_util.cc,
/// TensorFromStream.
Result<format::Tensor> TakeTensor(std::string_view& bytes);

/// The tensors of one file, in the order of the names of the program's persistable tensors.
Result<Params> ParseParams(const Program& program, std::string_view bytes);
/// Each persistable tensor from the file of its name in `folder`.
Result<Params> LoadParams(const Program& program, const std::string& folder);

}  // namespace qtx::convert::paddle
