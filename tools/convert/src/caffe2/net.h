// A Caffe2 net as its operators, out of a binary NetDef or its text form.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/model.h"

namespace qtx::convert {

struct Caffe2Argument {
  std::optional<float> f;
  std::optional<std::int64_t> i;
  std::optional<std::string> s;  // bytes
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string> strings;
};

struct Caffe2Operator {
  std::size_t index = 0;  // in its net
  std::string type, name, engine;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, Caffe2Argument> arguments;

  const Caffe2Argument* Find(const std::string& argument) const;  // nullptr when absent
  std::int64_t IntOr(const std::string& argument, std::int64_t fallback) const;
  float FloatOr(const std::string& argument, float fallback) const;
  std::string StringOr(const std::string& argument, const std::string& fallback) const;
  std::vector<std::int64_t> IntsOr(const std::string& argument,
                                   std::vector<std::int64_t> fallback) const;
  /// "op[3] (Int8Conv)"
  std::string Place() const;
};

struct Caffe2Net {
  std::string name;
  std::vector<Caffe2Operator> operators;
  std::vector<std::string> inputs, outputs;  // those it calls external

  /// It only fills blobs, from nothing: an init net.
  bool IsInit() const;
};

/// Errors: kInvalid for what is neither form of a net of operators.
Result<Caffe2Net> ParseCaffe2Net(std::string_view bytes);

}  // namespace qtx::convert
