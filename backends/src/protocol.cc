// Requests and responses to and from protobuf. What arrives was written by another process and is
// checked against the rules of the format first.  Source: spec/backend_protocol.md.
#include "qtx/backend/protocol.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "qtx/backend.pb.h"
#include "qtx/format/levels.h"
#include "qtx/format/limits.h"
#include "qtx/format/quantization.h"
#include "qtx/format/shape.h"

namespace qtx::backend {
namespace {

Error Malformed(std::string where, std::string message) {
  return {ErrorCode::kProtocol, std::move(where), std::move(message)};
}

// The error with code kProtocol: a wrong frame is a fault of the peer.
Error AsProtocol(std::string where, Error error) {
  error.code = ErrorCode::kProtocol;
  return At(std::move(where), std::move(error));
}

void ToMessage(const format::Tensor& tensor, qtx::Tensor& message) {
  message.set_elem_type(static_cast<std::int32_t>(tensor.elem_type));
  message.mutable_dims()->Add(tensor.dims.begin(), tensor.dims.end());
  message.set_data(tensor.bytes.data(), tensor.bytes.size());
  if (tensor.quantization.has_value()) {
    message.set_quantization(format::SerializeQuantization(*tensor.quantization));
  }
}

// Counts and values of the parameters; `dims` are known to be sound.
Result<void> CheckParameters(const format::Quantization& q, const format::Dims& dims) {
  const auto invalid = [](const char* field, std::string message) {
    return Malformed(std::string("quantization.") + field, std::move(message));
  };
  if (!q.scale_tensor.empty() || !q.offset_tensor.empty()) {
    return invalid("scale_tensor", "parameters by tensor name, expected inline");
  }
  const auto parameter_dims = format::ParameterDims(q, dims);
  if (!parameter_dims) return AsProtocol("quantization", parameter_dims.error());
  const auto count = format::ElementCount(*parameter_dims);
  if (!count) return AsProtocol("quantization", count.error());
  const auto expected = "expected " + std::to_string(*count);
  if (static_cast<std::int64_t>(q.scale.size()) != *count) {
    return invalid("scale", "found " + std::to_string(q.scale.size()) + " values, " + expected);
  }
  if (!q.offset.empty() && q.offset.size() != q.scale.size()) {
    return invalid("offset", "found " + std::to_string(q.offset.size()) + " values, " + expected);
  }
  if (!q.scale_levels.empty()) return invalid("scale_levels", "found levels, expected inline");
  const bool base_fits =
      !format::HasBase(q) || (q.base_levels.size() == 1 && q.base_levels[0].tensor.empty() &&
                              q.base_levels[0].value.size() == q.scale.size());
  if (!base_fits) return invalid("base_levels", "expected one inline level of as many values");
  // Of 0 and below are those of an initializer that is an output.
  if (!std::ranges::all_of(q.scale, [](float scale) { return std::isfinite(scale); }))
    return invalid("scale", "not finite");
  if (!q.code_book_tensor.empty()) return invalid("code_book_tensor", "expected an inline one");
  return {};
}

// Bits past the last element of packed 4-, 2- and 1-bit data are zero.
bool PaddingIsZero(const format::Tensor& tensor, std::int64_t count) {
  const auto used = static_cast<unsigned>(count * format::BitWidth(tensor.elem_type) % 8);
  return used == 0 || std::to_integer<unsigned>(tensor.bytes.back()) >> used == 0;
}

// The bytes that the parameters of a tensor take at most: binary32 and a varint of 10 bytes for
// each scale and each base level.
std::int64_t MaxParameterBytes(std::int64_t elements) {
  constexpr std::int64_t kOfOne = 32, kOfAxesAndBlocks = 1024;
  return kOfAxesAndBlocks + kOfOne * std::min(elements, format::kMaxParameters);
}

// Takes the elements out of the message.
Result<format::Tensor> FromMessage(qtx::Tensor& message) {
  const auto type = format::ElementTypeFromCode(message.elem_type());
  if (!type.has_value()) {
    return Malformed("elem_type", "unknown code " + std::to_string(message.elem_type()));
  }
  format::Tensor tensor;
  tensor.elem_type = *type;
  tensor.dims.assign(message.dims().begin(), message.dims().end());
  const std::string elements = std::move(*message.mutable_data());
  const auto* data = reinterpret_cast<const std::byte*>(elements.data());
  tensor.bytes.assign(data, data + elements.size());
  if (!message.quantization().empty()) {
    QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(tensor.dims));
    if (std::ssize(message.quantization()) > MaxParameterBytes(count)) {
      return Malformed("quantization", "found " + std::to_string(message.quantization().size()) +
                                           " bytes, more than parameters of the dims take");
    }
    QTX_ASSIGN_OR_RETURN(tensor.quantization, format::ParseQuantization(message.quantization()));
  }
  QTX_RETURN_IF_ERROR(CheckTensor(tensor));
  return tensor;
}

Result<std::vector<format::Tensor>> FromMessages(
    google::protobuf::RepeatedPtrField<qtx::Tensor>& messages, const std::string& where) {
  std::vector<format::Tensor> tensors;
  for (auto& message : messages) {
    auto tensor = FromMessage(message);
    if (!tensor.has_value()) {
      return AsProtocol(where + "[" + std::to_string(tensors.size()) + "]", tensor.error());
    }
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

Result<void> CheckSeconds(std::span<const double> seconds) {
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (seconds[i] >= 0 && !std::isinf(seconds[i])) continue;
    return Malformed("response.run.seconds[" + std::to_string(i) + "]",
                     "expected a finite number, not negative");
  }
  return {};
}

struct RequestEncoder {
  qtx::Request& message;
  void operator()(const DescribeRequest&) const { message.mutable_describe(); }
  void operator()(const PrepareRequest& request) const {
    message.mutable_prepare()->set_model(request.model);
    message.mutable_prepare()->set_arithmetic(request.arithmetic);
  }
  void operator()(const RunRequest& request) const {
    message.mutable_run()->set_handle(request.handle);
    message.mutable_run()->set_repetitions(request.repetitions);
    for (const auto& input : request.inputs) ToMessage(input, *message.mutable_run()->add_inputs());
  }
  void operator()(const ReleaseRequest& request) const {
    message.mutable_release()->set_handle(request.handle);
  }
};

struct ResponseEncoder {
  qtx::Response& message;
  void operator()(const Error& error) const {
    auto& target = *message.mutable_error();
    // The numbers of backend.proto are ErrorCode's; the other codes are faults of the backend.
    const ErrorCode code = error.code <= ErrorCode::kProtocol ? error.code : ErrorCode::kIo;
    target.set_code(static_cast<qtx::Response::Error::Code>(code));
    target.set_where(error.where);
    target.set_message(error.message);
    target.set_clause(error.clause);
  }
  void operator()(const Description& description) const {
    auto& target = *message.mutable_describe();
    target.set_name(description.name);
    target.set_version(description.version);
    for (const auto& name : description.arithmetics) target.add_arithmetics(name);
    target.set_device(description.device);
  }
  void operator()(const PrepareResponse& response) const {
    message.mutable_prepare()->set_handle(response.handle);
  }
  void operator()(const RunResponse& response) const {
    auto& target = *message.mutable_run();
    for (const auto& output : response.outputs) ToMessage(output, *target.add_outputs());
    target.mutable_seconds()->Add(response.seconds.begin(), response.seconds.end());
  }
  void operator()(const ReleaseResponse&) const { message.mutable_release(); }
};

Result<void> CheckText(std::string_view text, const std::string& where, std::size_t most) {
  if (text.size() <= most) return {};
  return Malformed(where, "found " + std::to_string(text.size()) + " bytes, expected at most " +
                              std::to_string(most));
}

Result<Response> FromMessage(const qtx::Response::Error& message) {
  for (const std::string* text : {&message.where(), &message.message(), &message.clause()})
    QTX_RETURN_IF_ERROR(CheckText(*text, "response.error", kMaxTextBytes));
  const int code = message.code();
  if (code < 0 || code > static_cast<int>(ErrorCode::kProtocol)) {
    return Malformed("response.error.code", "found " + std::to_string(code) + ", expected 0 to 5");
  }
  return Response(
      Error{static_cast<ErrorCode>(code), message.where(), message.message(), message.clause()});
}

Result<Response> FromMessage(const qtx::Response::Describe& message) {
  const int count = message.arithmetics().size();
  if (message.name().empty() || count == 0 || count > kMaxArithmetics) {
    return Malformed("response.describe", "found " + std::to_string(count) +
                                              " arithmetics, expected a name and 1 to " +
                                              std::to_string(kMaxArithmetics) + " of them");
  }
  QTX_RETURN_IF_ERROR(CheckText(message.name(), "response.describe.name", kMaxNameBytes));
  QTX_RETURN_IF_ERROR(CheckText(message.version(), "response.describe.version", kMaxTextBytes));
  QTX_RETURN_IF_ERROR(CheckText(message.device(), "response.describe.device", kMaxTextBytes));
  for (const std::string& name : message.arithmetics())
    QTX_RETURN_IF_ERROR(CheckText(name, "response.describe.arithmetics", kMaxNameBytes));
  return Response(Description{message.name(),
                              message.version(),
                              {message.arithmetics().begin(), message.arithmetics().end()},
                              message.device()});
}

// Calls `visit` with the content of each field `number` that is bytes or a message, until one call
// is false; stops where `message` is no sequence of fields, which its parser refuses.
template <typename Visit>
void ForEachField(std::string_view message, int number, const Visit& visit) {
  using google::protobuf::internal::WireFormatLite;
  google::protobuf::io::CodedInputStream input(
      reinterpret_cast<const std::uint8_t*>(message.data()), static_cast<int>(message.size()));
  while (const std::uint32_t tag = input.ReadTag()) {
    const bool wanted =
        tag == WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
    std::uint32_t size = 0;
    if (!wanted && !WireFormatLite::SkipField(&input, tag)) return;
    if (!wanted) continue;
    if (!input.ReadVarint32(&size)) return;
    const auto begin = static_cast<std::size_t>(input.CurrentPosition());
    if (size > message.size() - begin) return;
    if (!visit(message.substr(begin, size)) || !input.Skip(static_cast<int>(size))) return;
  }
}

// Holds the tensors of a Run to their bounds before memory is taken for them: an empty tensor is 2
// bytes of a frame and 100 in memory, a dimension 1 byte and 8. `run` and `tensors` are the field
// numbers.
Result<void> CheckCounts(std::string_view frame, int run, int tensors, const std::string& where) {
  constexpr std::size_t kMaxHeadBytes = 1024;  // of a tensor's type and dims
  std::int64_t count = 0;
  std::size_t longest = 0;
  ForEachField(frame, run, [&](std::string_view message) {
    ForEachField(message, tensors, [&](std::string_view tensor) {
      ++count;
      std::size_t head = tensor.size();
      for (const int bulk : {qtx::Tensor::kDataFieldNumber, qtx::Tensor::kQuantizationFieldNumber})
        ForEachField(tensor, bulk, [&head](std::string_view bytes) {
          head -= bytes.size();
          return true;
        });
      longest = std::max(longest, head);
      return count <= kMaxTensors;
    });
    return count <= kMaxTensors;
  });
  if (longest > kMaxHeadBytes) {
    return Malformed(where, "found a type and dims of " + std::to_string(longest) +
                                " bytes, expected at most " + std::to_string(kMaxHeadBytes));
  }
  if (count <= kMaxTensors) return {};
  return Malformed(where, "expected at most " + std::to_string(kMaxTensors) + " tensors");
}

// Parses a frame and gives its memory back.
template <typename Message>
bool Parse(std::string frame, Message& message) {
  return message.ParseFromArray(frame.data(), static_cast<int>(frame.size()));
}

}  // namespace

Result<void> CheckTensor(const format::Tensor& tensor) {
  const auto count = format::ElementCount(tensor.dims);
  if (!count) return AsProtocol("dims", count.error());
  const auto bytes = format::PackedBytes(tensor.elem_type, *count);
  if (!bytes) return AsProtocol("elem_type", bytes.error());
  if (static_cast<std::int64_t>(tensor.bytes.size()) != *bytes) {
    return Malformed("data", "found " + std::to_string(tensor.bytes.size()) + " bytes, expected " +
                                 std::to_string(*bytes));
  }
  if (!PaddingIsZero(tensor, *count)) return Malformed("data", "unused high bits are not zero");
  const bool quantized = format::IsQuantized(tensor.elem_type);
  if (quantized != tensor.quantization.has_value()) {
    return Malformed("quantization", quantized ? "absent, expected parameters for a quantized type"
                                               : "present on a type that is not quantized");
  }
  if (!quantized) return {};
  return CheckParameters(*tensor.quantization, tensor.dims);
}

std::string Encode(const Request& request) {
  qtx::Request message;
  std::visit(RequestEncoder{message}, request);
  return message.SerializeAsString();
}

std::string Encode(const Response& response) {
  qtx::Response message;
  std::visit(ResponseEncoder{message}, response);
  return message.SerializeAsString();
}

Result<Request> DecodeRequest(std::string frame) {
  qtx::Request message;
  QTX_RETURN_IF_ERROR(CheckCounts(frame, qtx::Request::kRunFieldNumber,
                                  qtx::Request::Run::kInputsFieldNumber, "request.run.inputs"));
  if (!Parse(std::move(frame), message)) return Malformed("request", "not a qtx.Request message");
  switch (message.kind_case()) {
    case qtx::Request::kDescribe:
      return Request(DescribeRequest{});
    case qtx::Request::kPrepare:
      return Request(PrepareRequest{std::move(*message.mutable_prepare()->mutable_model()),
                                    message.prepare().arithmetic()});
    case qtx::Request::kRun: {
      QTX_ASSIGN_OR_RETURN(auto inputs, FromMessages(*message.mutable_run()->mutable_inputs(),
                                                     "request.run.inputs"));
      return Request(
          RunRequest{message.run().handle(), std::move(inputs), message.run().repetitions()});
    }
    case qtx::Request::kRelease:
      return Request(ReleaseRequest{message.release().handle()});
    case qtx::Request::KIND_NOT_SET:
      break;
  }
  return Malformed("request", "no known kind is set");
}

Result<Response> DecodeResponse(std::string frame) {
  qtx::Response message;
  QTX_RETURN_IF_ERROR(CheckCounts(frame, qtx::Response::kRunFieldNumber,
                                  qtx::Response::Run::kOutputsFieldNumber, "response.run.outputs"));
  if (!Parse(std::move(frame), message)) return Malformed("response", "not a qtx.Response message");
  switch (message.kind_case()) {
    case qtx::Response::kError:
      return FromMessage(message.error());
    case qtx::Response::kDescribe:
      return FromMessage(message.describe());
    case qtx::Response::kPrepare:
      return Response(PrepareResponse{message.prepare().handle()});
    case qtx::Response::kRun: {
      QTX_ASSIGN_OR_RETURN(auto outputs, FromMessages(*message.mutable_run()->mutable_outputs(),
                                                      "response.run.outputs"));
      const auto& seconds = message.run().seconds();
      QTX_RETURN_IF_ERROR(CheckSeconds({seconds.data(), static_cast<std::size_t>(seconds.size())}));
      return Response(RunResponse{std::move(outputs), {seconds.begin(), seconds.end()}});
    }
    case qtx::Response::kRelease:
      return Response(ReleaseResponse{});
    case qtx::Response::KIND_NOT_SET:
      break;
  }
  return Malformed("response", "no known kind is set");
}

}  // namespace qtx::backend
