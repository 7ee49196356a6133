// The only file of this folder that includes the generated messages.
#include "paddle/program.h"

#include <cstring>
#include <set>

#include "qtx/format/limits.h"
#include "schema/paddle.pb.h"

namespace qtx::convert::paddle {
namespace {

using format::ElementType;

constexpr std::int32_t kLodTensor = 7;  // VarType.Type
constexpr auto kMaxProgram = static_cast<std::size_t>(format::kMaxModelBytes);

template <typename T>
std::vector<T> All(const google::protobuf::RepeatedField<T>& values) {
  return {values.begin(), values.end()};
}

Attribute AttributeOf(const paddle_proto::OpDesc::Attr& attr) {
  Attribute result;
  result.block = attr.has_block_idx() || attr.blocks_idx_size() > 0;
  result.var = attr.has_var_name() || attr.vars_name_size() > 0;
  if (attr.has_i()) result.ints = {attr.i()};
  if (attr.has_l()) result.ints = {attr.l()};
  if (attr.has_b()) result.ints = {attr.b() ? 1 : 0};
  if (attr.has_f()) result.floats = {attr.f()};
  if (attr.has_float64()) result.floats = {static_cast<float>(attr.float64())};
  if (attr.has_s()) result.strings = {attr.s()};
  result.list = !attr.has_i() && !attr.has_l() && !attr.has_b() && !attr.has_f() &&
                !attr.has_float64() && !attr.has_s();
  for (const auto value : attr.ints()) result.ints.push_back(value);
  for (const auto value : attr.longs()) result.ints.push_back(value);
  for (const auto value : attr.bools()) result.ints.push_back(value ? 1 : 0);
  for (const auto value : attr.floats()) result.floats.push_back(value);
  for (const auto value : attr.float64s()) result.floats.push_back(static_cast<float>(value));
  for (const auto& value : attr.strings()) result.strings.push_back(value);
  return result;
}

Error Twice(const std::string& where, const std::string& what) {
  return {ErrorCode::kInvalid, where, "found " + what + " twice, expected it once"};
}

template <typename Vars, typename Arguments>
Result<void> ReadArguments(const Vars& vars, const std::string& what, const Op& op,
                           Arguments& arguments) {
  for (const auto& var : vars) {
    const std::vector<std::string> names(var.arguments().begin(), var.arguments().end());
    if (!arguments.emplace(var.parameter(), names).second)
      return Twice(op.Name(), what + " '" + var.parameter() + "'");
  }
  return {};
}

Result<Op> OpOf(const paddle_proto::OpDesc& desc) {
  Op op;
  op.type = desc.type();
  if (op.type.empty()) return Error{ErrorCode::kInvalid, "", "an operator without type"};
  QTX_RETURN_IF_ERROR(ReadArguments(desc.outputs(), "output", op, op.outputs));
  QTX_RETURN_IF_ERROR(ReadArguments(desc.inputs(), "input", op, op.inputs));
  for (const auto& attr : desc.attrs()) {
    if (!op.attributes.emplace(attr.name(), AttributeOf(attr)).second)
      return Twice(op.Name(), "attribute '" + attr.name() + "'");
  }
  for (const auto& [name, attribute] : op.attributes) {
    if (!attribute.block) continue;
    return Error{ErrorCode::kUnsupported, op.Name(), "attribute '" + name + "' is another block"};
  }
  return op;
}

Result<Var> VarOf(const paddle_proto::VarDesc& desc) {
  Var var;
  var.persistable = desc.persistable();
  if (desc.type().type() != kLodTensor || !desc.type().has_lod_tensor()) return var;
  const auto& tensor = desc.type().lod_tensor().tensor();
  var.elem_type = ElementTypeOf(tensor.data_type());
  if (var.elem_type == ElementType::kUndefined) {
    return Error{ErrorCode::kUnsupported, "variable '" + desc.name() + "'",
                 "data type " + std::to_string(tensor.data_type())};
  }
  var.tensor = true;
  for (const std::int64_t dim : tensor.dims()) {
    format::Dimension& dimension = var.shape.emplace_back();
    if (dim >= 0) dimension.value = dim;
  }
  return var;
}

Error Short(const char* what) {
  return {ErrorCode::kInvalid, "", std::string("ends within ") + what};
}

template <typename T>
Result<T> Take(std::string_view& bytes, const char* what) {
  T value{};
  if (bytes.size() < sizeof(T)) return Short(what);
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return value;
}

Result<void> SkipLevels(std::string_view& bytes) {
  QTX_ASSIGN_OR_RETURN(const auto levels, Take<std::uint64_t>(bytes, "the count of its levels"));
  if (levels > 16) return Error{ErrorCode::kInvalid, "", std::to_string(levels) + " levels"};
  for (std::uint64_t i = 0; i < levels; ++i) {
    QTX_ASSIGN_OR_RETURN(const auto size, Take<std::uint64_t>(bytes, "a level"));
    if (size > bytes.size()) return Short("a level");
    bytes.remove_prefix(size);
  }
  return {};
}

Result<void> ExpectZero(std::string_view& bytes, const char* what) {
  QTX_ASSIGN_OR_RETURN(const auto version, Take<std::uint32_t>(bytes, what));
  if (version == 0) return {};
  return Error{ErrorCode::kInvalid, "",
               std::string(what) + " " + std::to_string(version) + ", expected 0"};
}

Result<void> ExpectAsDeclared(const Var& var, const format::Tensor& tensor) {
  const auto declared = format::FixedDims(var.shape);
  if (tensor.elem_type == var.elem_type && (!declared || *declared == tensor.dims)) return {};
  return Error{ErrorCode::kInvalid, "",
               "found " + std::string(format::Name(tensor.elem_type)) +
                   format::ToString(tensor.dims) + ", the program says " +
                   std::string(format::Name(var.elem_type)) + format::ToString(var.shape)};
}

// File names come from the program, which may be hostile: they must stay within the folder.
bool StaysWithin(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos && name != "." && name != "..";
}

}  // namespace

const Attribute* Op::Find(std::string_view name) const {
  const auto found = attributes.find(name);
  return found == attributes.end() ? nullptr : &found->second;
}
template <typename T>
const std::vector<T>* Op::Values(std::string_view name, std::vector<T> Attribute::*member,
                                 bool list) const {
  const Attribute* attribute = Find(name);
  if (attribute == nullptr) return nullptr;
  const std::vector<T>& values = attribute->*member;
  const std::size_t all =
      attribute->ints.size() + attribute->floats.size() + attribute->strings.size();
  if (values.size() == all && (list || (!attribute->list && all == 1))) return &values;
  if (mistyped_.empty()) mistyped_ = name;
  return nullptr;
}
std::int64_t Op::Int(std::string_view name, std::int64_t fallback) const {
  const auto* values = Values(name, &Attribute::ints, /*list=*/false);
  return values == nullptr ? fallback : values->front();
}
float Op::Float(std::string_view name, float fallback) const {
  const auto* values = Values(name, &Attribute::floats, /*list=*/false);
  return values == nullptr ? fallback : values->front();
}
std::string Op::String(std::string_view name, std::string fallback) const {
  const auto* values = Values(name, &Attribute::strings, /*list=*/false);
  return values == nullptr ? std::move(fallback) : values->front();
}
std::vector<std::int64_t> Op::Ints(std::string_view name) const {
  const auto* values = Values(name, &Attribute::ints, /*list=*/true);
  return values == nullptr ? std::vector<std::int64_t>() : *values;
}
Result<void> Op::CheckTypes() const {
  if (mistyped_.empty()) return {};
  return Error{ErrorCode::kInvalid, Name(),
               "attribute '" + mistyped_ + "' has another type than expected"};
}
std::string Op::Name() const {
  for (const auto& [parameter, names] : outputs) {
    if (!names.empty()) return "op " + type + " of '" + names[0] + "'";
  }
  return "op " + type;
}

// Source: framework.proto, VarType.Type; 22 BF16 and 23, 24 COMPLEX are of later versions.
ElementType ElementTypeOf(std::int64_t paddle_type) {
  switch (paddle_type) {
    case 0:
      return ElementType::kBool;
    case 1:
      return ElementType::kInt16;
    case 2:
      return ElementType::kInt32;
    case 3:
      return ElementType::kInt64;
    case 4:
      return ElementType::kFloat16;
    case 5:
      return ElementType::kFloat;
    case 6:
      return ElementType::kDouble;
    case 20:
      return ElementType::kUint8;
    case 21:
      return ElementType::kInt8;
    case 22:
      return ElementType::kBfloat16;
    default:
      return ElementType::kUndefined;
  }
}

bool LooksLikeProgram(std::string_view bytes) {
  // blocks = 1, length-delimited; within it idx = 1 is 0.
  if (bytes.size() < 8 || bytes.size() >= kMaxProgram || bytes[0] != 0x0A) return false;
  paddle_proto::ProgramDesc program;
  return program.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) &&
         program.blocks_size() > 0 && program.blocks(0).has_idx() &&
         program.blocks(0).ops_size() > 0 && program.blocks(0).ops(0).has_type() &&
         program.blocks(0).vars_size() > 0;
}

Result<Program> ParseProgram(std::string_view bytes) {
  paddle_proto::ProgramDesc desc;
  if (bytes.size() >= kMaxProgram ||
      !desc.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Error{ErrorCode::kInvalid, "", "not a Paddle program (truncated?)"};
  if (desc.blocks_size() == 0) return Error{ErrorCode::kInvalid, "", "a program without blocks"};
  Program program;
  for (const auto& var : desc.blocks(0).vars()) {
    QTX_ASSIGN_OR_RETURN(Var converted, VarOf(var));
    if (!program.vars.emplace(var.name(), std::move(converted)).second)
      return Twice("program", "variable '" + var.name() + "'");
  }
  for (const auto& op : desc.blocks(0).ops()) {
    QTX_ASSIGN_OR_RETURN(Op converted, OpOf(op));
    program.ops.push_back(std::move(converted));
  }
  return program;
}

Result<format::Tensor> TakeTensor(std::string_view& bytes) {
  QTX_RETURN_IF_ERROR(ExpectZero(bytes, "version"));
  QTX_RETURN_IF_ERROR(SkipLevels(bytes));
  QTX_RETURN_IF_ERROR(ExpectZero(bytes, "version of the tensor"));
  QTX_ASSIGN_OR_RETURN(const auto size, Take<std::int32_t>(bytes, "the size of its description"));
  if (size < 0 || static_cast<std::size_t>(size) > bytes.size()) return Short("its description");
  paddle_proto::TensorDesc desc;
  if (!desc.ParseFromArray(bytes.data(), size))
    return Error{ErrorCode::kInvalid, "", "expected the description of a tensor"};
  bytes.remove_prefix(static_cast<std::size_t>(size));
  const ElementType type = ElementTypeOf(desc.data_type());
  if (type == ElementType::kUndefined) {
    return Error{ErrorCode::kUnsupported, "", "data type " + std::to_string(desc.data_type())};
  }
  const format::Dims dims = All(desc.dims());
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t needed, format::PackedBytes(type, count));
  if (static_cast<std::uint64_t>(needed) > bytes.size()) {
    return Error{ErrorCode::kInvalid, "",
                 std::to_string(bytes.size()) + " bytes are left, " + format::ToString(dims) +
                     " needs " + std::to_string(needed)};
  }
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor, format::MakeTensor(type, dims));
  if (needed > 0) std::memcpy(tensor.bytes.data(), bytes.data(), tensor.bytes.size());
  bytes.remove_prefix(static_cast<std::size_t>(needed));
  return tensor;
}

Result<Params> ParseParams(const Program& program, std::string_view bytes) {
  Params params;
  // The map is in the order of names, as the writer's sorted list is.
  for (const auto& [name, var] : program.vars) {
    if (!var.persistable || !var.tensor) continue;
    auto tensor = TakeTensor(bytes);
    if (!tensor.has_value()) return At("parameter '" + name + "'", tensor.error());
    if (auto as = ExpectAsDeclared(var, *tensor); !as.has_value())
      return At("parameter '" + name + "'", as.error());
    params.emplace(name, *std::move(tensor));
  }
  if (bytes.empty()) return params;
  return Error{ErrorCode::kInvalid, "parameters",
               std::to_string(bytes.size()) + " bytes after the last"};
}

Result<Params> LoadParams(const Program& program, const std::string& folder) {
  Params params;
  for (const auto& [name, var] : program.vars) {
    if (!var.persistable || !var.tensor) continue;
    if (!StaysWithin(name))
      return Error{ErrorCode::kInvalid, "parameter '" + name + "'", "expected a file name"};
    QTX_ASSIGN_OR_RETURN(const auto file,
                         format::FileBytes::Open(folder + "/" + name, format::kMaxTensorBytes));
    std::string_view rest = file.view();
    auto tensor = TakeTensor(rest);
    if (!tensor.has_value()) return At("parameter '" + name + "'", tensor.error());
    if (auto as = ExpectAsDeclared(var, *tensor); !as.has_value())
      return At("parameter '" + name + "'", as.error());
    params.emplace(name, *std::move(tensor));
  }
  return params;
}

}  // namespace qtx::convert::paddle
