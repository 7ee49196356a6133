// Frames and messages of the backend protocol, without generated code in sight.
// A frame is a base-128 varint length, then that many bytes of one Request or Response
// (proto/qtx/backend.proto).  Source: spec/backend_protocol.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "qtx/backend/backend.h"

namespace qtx::backend {

inline constexpr std::int64_t kMaxFrameBytes = std::int64_t{1} << 30;       // of any frame
inline constexpr std::int64_t kMaxShortFrameBytes = std::int64_t{1} << 20;  // of all but Run's
inline constexpr std::size_t kMaxNameBytes = 256;  // a backend's name, that of an arithmetic
inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 16;  // any other text of a response
inline constexpr int kMaxArithmetics = 64;                          // of a description
inline constexpr std::int64_t kMaxTensors = std::int64_t{1} << 20;  // of a Run

struct DescribeRequest {};
struct PrepareRequest {
  std::string model;  // a serialised ModelProto
  std::string arithmetic;
};
struct RunRequest {
  std::uint64_t handle = 0;
  std::vector<format::Tensor> inputs;
  std::uint32_t repetitions = 0;  // 0: run once; otherwise measure, which needs no outputs
};
struct ReleaseRequest {
  std::uint64_t handle = 0;
};
using Request = std::variant<DescribeRequest, PrepareRequest, RunRequest, ReleaseRequest>;

struct PrepareResponse {
  std::uint64_t handle = 0;
};
struct RunResponse {
  std::vector<format::Tensor> outputs;
  std::vector<double> seconds;  // finite, not negative
};
struct ReleaseResponse {};
using Response = std::variant<Error, Description, PrepareResponse, RunResponse, ReleaseResponse>;

/// Checks a tensor that is exchanged, in process too: its type is known, the number of bytes fits
/// its dims, unused high bits are zero, and it has inline parameters, as many as fit, if and only
/// if its type is quantized. Errors: kProtocol, with the field.  Source: backend_protocol.S12,
/// .S13.
Result<void> CheckTensor(const format::Tensor& tensor);

std::string Encode(const Request& request);
std::string Encode(const Response& response);
/// Errors: kProtocol, saying what of the message is wrong. Tensors are validated: known type, sizes
/// that fit, parameters that fit the dims; memory is taken for no more than kMaxTensors of them. A
/// frame's memory is given back as its message is made, so that a tensor is in memory twice, not
/// three times.
Result<Request> DecodeRequest(std::string frame);
/// Errors: also kProtocol for an empty name, no arithmetic, and what passes the bounds above. An
/// answer of Error whose code nobody knows is one of kInternal.
Result<Response> DecodeResponse(std::string frame);

/// Writes one frame. `deadline_ms` as below: a peer that does not read would block a pipe for ever.
/// Errors: kIo (a peer that has gone is one, not SIGPIPE), kTooLarge, kTimeout.
Result<void> WriteFrame(int fd, std::string_view bytes, std::int64_t deadline_ms = -1);
/// Reads one frame; nullopt at a clean end of file. `deadline_ms` < 0 waits for ever; otherwise it
/// is the time for the whole frame.  Errors: kIo, kTimeout, kProtocol (bad varint, frame too large
/// or cut short).
Result<std::optional<std::string>> ReadFrame(int fd, std::int64_t deadline_ms = -1);

}  // namespace qtx::backend
