// What the parts of the checker share: the place they are at and the list they report to.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qtx/format/check.h"

namespace qtx::format {

class Findings {
 public:
  explicit Findings(std::string file) : file_(std::move(file)) {}
  /// `place` is below the file: "graph.value_info[2] 'w': quantization.offset".
  void Add(std::string rule, const std::string& place, std::string message) {
    list_.push_back(
        {std::move(rule), file_.empty() ? place : file_ + ": " + place, std::move(message)});
  }
  std::vector<Finding> Take() { return std::move(list_); }

 private:
  std::string file_;
  std::vector<Finding> list_;
};

/// The clauses of element_types, shape, quantization and statistics that one type can break.
/// `name` is the value's, `initializer`: it is that of one. Returns the version of the format that
/// the type asks for.
std::int64_t CheckType(const ModelView& view, const TensorType& type, std::string_view name,
                       const std::string& place, bool initializer, Features features,
                       Findings& findings);

/// Those of requantization: `node` produces the value whose type is `type`.
void CheckRequantization(const ModelView& view, const Node& node, const TensorType& type,
                         const std::string& place, Findings& findings);

/// Those an initializer and its type break together: storage, dims, stored values.
void CheckInitializerType(const ModelView& view, const TensorData& data, const TensorType& type,
                          const std::string& place, Findings& findings);

/// Those of graph.md about a node and its bodies together.
void CheckBodies(const FlatModel& flat, const ModelView& view, const Inference& inference,
                 Findings& findings);

inline std::string FoundExpected(const std::string& found, const std::string& expected) {
  return "found " + found + ", expected " + expected;
}

}  // namespace qtx::format
