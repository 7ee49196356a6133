// Paddle programs written by hand, for tests.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "schema/paddle.pb.h"
#include "tests/files.h"

namespace qtx::convert {

class PaddleMaker {
 public:
  enum Type : int { kInt32 = 2, kInt64 = 3, kFloat = 5, kInt8 = 21 };  // VarType.Type

  PaddleMaker() {
    block().set_idx(0);
    block().set_parent_idx(-1);
    Holder("feed", 9);
    Holder("fetch", 10);
  }
  paddle_proto::BlockDesc& block() {
    return program.blocks_size() == 0 ? *program.add_blocks() : *program.mutable_blocks(0);
  }
  void Var(const std::string& name, std::vector<std::int64_t> dims, Type type = kFloat,
           bool persistable = false) {
    auto& var = *block().add_vars();
    var.set_name(name);
    var.set_persistable(persistable);
    var.mutable_type()->set_type(7);
    auto& tensor = *var.mutable_type()->mutable_lod_tensor()->mutable_tensor();
    tensor.set_data_type(type);
    for (const auto dim : dims) tensor.add_dims(dim);
  }
  template <typename T>
  void Param(const std::string& name, std::vector<std::int64_t> dims, std::vector<T> values,
             Type type = kFloat) {
    Var(name, dims, type, true);
    paddle_proto::TensorDesc desc;
    desc.set_data_type(type);
    for (const auto dim : dims) desc.add_dims(dim);
    const std::string text = desc.SerializeAsString();
    std::string bytes(4 + 8 + 4, '\0');  // version, no levels, version
    const auto size = static_cast<std::int32_t>(text.size());
    bytes.append(reinterpret_cast<const char*>(&size), 4);
    bytes += text;
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    params[name] = bytes;
  }
  using Vars = std::vector<std::pair<std::string, std::vector<std::string>>>;
  /// The operator, to which attributes are then added.
  PaddleMaker& Op(const std::string& type, const Vars& inputs, const Vars& outputs) {
    op = block().add_ops();
    op->set_type(type);
    for (const auto& [parameter, names] : inputs) Add(*op->add_inputs(), parameter, names);
    for (const auto& [parameter, names] : outputs) Add(*op->add_outputs(), parameter, names);
    return *this;
  }
  PaddleMaker& Int(const std::string& name, std::int32_t value) {
    return Attr(name, 0, [&](auto& attr) { attr.set_i(value); });
  }
  PaddleMaker& Float(const std::string& name, float value) {
    return Attr(name, 1, [&](auto& attr) { attr.set_f(value); });
  }
  PaddleMaker& Text(const std::string& name, const std::string& value) {
    return Attr(name, 2, [&](auto& attr) { attr.set_s(value); });
  }
  PaddleMaker& Ints(const std::string& name, const std::vector<std::int32_t>& values) {
    return Attr(name, 3,
                [&](auto& attr) { attr.mutable_ints()->Add(values.begin(), values.end()); });
  }
  PaddleMaker& Bool(const std::string& name, bool value) {
    return Attr(name, 6, [&](auto& attr) { attr.set_b(value); });
  }
  void Feed(const std::string& var, int column = 0) {
    Op("feed", {{"X", {"feed"}}}, {{"Out", {var}}}).Int("col", column);
  }
  void Fetch(const std::string& var, int column = 0) {
    Op("fetch", {{"X", {var}}}, {{"Out", {"fetch"}}}).Int("col", column);
  }
  std::string Program() const { return program.SerializeAsString(); }
  std::string Params() const {
    std::string bytes;
    for (const auto& [name, tensor] : params) bytes += tensor;
    return bytes;
  }
  Result<Conversion> Convert(const Options& options = {}) const {
    const auto folder = TestFolder();
    WriteBytes(folder / "m.pdmodel", Program());
    if (!params.empty()) WriteBytes(folder / "m.pdiparams", Params());
    return ReadFileAs(folder / "m.pdmodel", "paddle", options);
  }

  paddle_proto::ProgramDesc program;
  paddle_proto::OpDesc* op = nullptr;
  std::map<std::string, std::string> params;  // serialised tensors, in the order of their names

 private:
  void Holder(const std::string& name, int type) {
    auto& var = *block().add_vars();
    var.set_name(name);
    var.set_persistable(true);
    var.mutable_type()->set_type(type);
  }
  static void Add(paddle_proto::OpDesc::Var& var, const std::string& parameter,
                  const std::vector<std::string>& names) {
    var.set_parameter(parameter);
    for (const auto& name : names) var.add_arguments(name);
  }
  PaddleMaker& Attr(const std::string& name, int type, const auto& set) {
    auto& attr = *op->add_attrs();
    attr.set_name(name);
    attr.set_type(type);
    set(attr);
    return *this;
  }
};

}  // namespace qtx::convert
