#include "caffe2/net.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <climits>

#include "bounds.h"
#include "errors.h"
#include "schema/caffe2.pb.h"

namespace qtx::convert {
namespace {

using google::protobuf::TextFormat;

constexpr int kMaxNesting = 32;  // a net's argument may hold a net; five levels are usual

// Keeps the first error of the text and its place, both of which count from 0.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text_.empty())
      text_ = "line " + std::to_string(line + 1) + ", column " + std::to_string(column + 1) + ": " +
              message;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Text begins with a field's name or a comment, and has no byte below space but white ones.
bool LooksLikeText(std::string_view bytes) {
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  const char letter = bytes[first];
  if (letter != '#' && (letter < 'a' || letter > 'z')) return false;
  return std::ranges::all_of(bytes.substr(0, 4096), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' || c == '\t' || c == '\r' || c == '\n';
  });
}

Result<void> ParseText(std::string_view bytes, caffe2::NetDef& net) {
  QTX_RETURN_IF_ERROR(CheckTextSize(bytes));
  FirstError error;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxNesting);
  parser.AllowUnknownField(true);  // caffe2.proto names what is read here, not all there is
  google::protobuf::io::ArrayInputStream input(bytes.data(), static_cast<int>(bytes.size()));
  if (parser.Parse(&input, &net)) return {};
  return Invalid("not a Caffe2 net in text form: " + error.text());
}

Caffe2Argument ArgumentOf(const caffe2::Argument& from) {
  Caffe2Argument argument;
  if (from.has_f()) argument.f = from.f();
  if (from.has_i()) argument.i = from.i();
  if (from.has_s()) argument.s = from.s();
  argument.floats.assign(from.floats().begin(), from.floats().end());
  argument.ints.assign(from.ints().begin(), from.ints().end());
  argument.strings.assign(from.strings().begin(), from.strings().end());
  return argument;
}

// An operator is known by its type, a word.
bool IsWord(const std::string& type) {
  return !type.empty() && std::ranges::all_of(type, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

Result<Caffe2Operator> OperatorOf(const caffe2::OperatorDef& from, std::size_t index) {
  Caffe2Operator op{index, from.type(), from.name(), from.engine(), {}, {}, {}};
  if (!IsWord(op.type)) return Invalid("op[" + std::to_string(index) + "] has no type");
  op.inputs.assign(from.input().begin(), from.input().end());
  op.outputs.assign(from.output().begin(), from.output().end());
  for (const caffe2::Argument& argument : from.arg()) {
    if (!op.arguments.emplace(argument.name(), ArgumentOf(argument)).second)
      return Error{ErrorCode::kInvalid, op.Place(), "argument '" + argument.name() + "' twice"};
  }
  return op;
}

}  // namespace

const Caffe2Argument* Caffe2Operator::Find(const std::string& argument) const {
  const auto found = arguments.find(argument);
  return found == arguments.end() ? nullptr : &found->second;
}

std::int64_t Caffe2Operator::IntOr(const std::string& argument, std::int64_t fallback) const {
  const Caffe2Argument* found = Find(argument);
  return found == nullptr ? fallback : found->i.value_or(fallback);
}

float Caffe2Operator::FloatOr(const std::string& argument, float fallback) const {
  const Caffe2Argument* found = Find(argument);
  return found == nullptr ? fallback : found->f.value_or(fallback);
}

std::string Caffe2Operator::StringOr(const std::string& argument,
                                     const std::string& fallback) const {
  const Caffe2Argument* found = Find(argument);
  return found == nullptr ? fallback : found->s.value_or(fallback);
}

std::vector<std::int64_t> Caffe2Operator::IntsOr(const std::string& argument,
                                                 std::vector<std::int64_t> fallback) const {
  const Caffe2Argument* found = Find(argument);
  return found == nullptr || found->ints.empty() ? fallback : found->ints;
}

std::string Caffe2Operator::Place() const {
  return "op[" + std::to_string(index) + "] (" + type + ")";
}

bool Caffe2Net::IsInit() const {
  return std::ranges::all_of(operators, [](const Caffe2Operator& op) {
    return op.inputs.empty() && op.type.ends_with("Fill");
  });
}

Result<Caffe2Net> ParseCaffe2Net(std::string_view bytes) {
  caffe2::NetDef from;
  if (LooksLikeText(bytes)) {
    QTX_RETURN_IF_ERROR(ParseText(bytes, from));
  } else if (bytes.size() > INT_MAX ||
             !from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Invalid("not a Caffe2 net");
  }
  if (from.op().empty()) return Invalid("a Caffe2 net without operators");
  Caffe2Net net;
  net.name = from.name();
  net.inputs.assign(from.external_input().begin(), from.external_input().end());
  net.outputs.assign(from.external_output().begin(), from.external_output().end());
  for (const caffe2::OperatorDef& op : from.op()) {
    QTX_ASSIGN_OR_RETURN(Caffe2Operator converted, OperatorOf(op, net.operators.size()));
    net.operators.push_back(std::move(converted));
  }
  return net;
}

}  // namespace qtx::convert
