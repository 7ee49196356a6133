#include "qtx/backend/protocol.h"

#include <gtest/gtest.h>

#include <cmath>

#include "qtx/backend.pb.h"

namespace qtx::backend {
namespace {

format::Tensor Sample() {
  format::Quantization q;
  q.scale = {0.5F, 0x1p-149F};
  q.offset = {3, -4};
  q.axis = {1};
  q.quant_min = -7;
  auto tensor = format::MakeTensor(format::ElementType::kInt8Q, {2, 2}, q);
  format::PackInt32(std::vector<std::int32_t>{-128, 127, 0, 1}, *tensor);
  return *tensor;
}

// A Run request of one tensor, for faults to be put in.
struct RawRun {
  qtx::Request request;
  qtx::Tensor& tensor = *request.mutable_run()->add_inputs();
  explicit RawRun(const format::Tensor& from) {
    tensor.set_elem_type(static_cast<std::int32_t>(from.elem_type));
    for (const auto dim : from.dims) tensor.add_dims(dim);
    tensor.set_data(from.bytes.data(), from.bytes.size());
    tensor.set_quantization(format::SerializeQuantization(*from.quantization));
  }
  Error Refusal() const {
    const auto decoded = DecodeRequest(request.SerializeAsString());
    EXPECT_FALSE(decoded.has_value());
    return decoded.has_value() ? Error{} : decoded.error();
  }
};

TEST(Protocol, CarriesEveryRequest) {
  const auto run = DecodeRequest(Encode(Request(RunRequest{7, {Sample(), Sample()}})));
  ASSERT_TRUE(run.has_value());
  const auto& request = std::get<RunRequest>(*run);
  EXPECT_EQ(request.handle, 7U);
  ASSERT_EQ(request.inputs.size(), 2U);
  EXPECT_EQ(request.inputs[1], Sample());
  const auto prepare =
      DecodeRequest(Encode(Request(PrepareRequest{std::string("a\0b", 3), "exact"})));
  EXPECT_EQ(std::get<PrepareRequest>(*prepare).model, std::string("a\0b", 3));
  EXPECT_EQ(std::get<PrepareRequest>(*prepare).arithmetic, "exact");
  EXPECT_TRUE(
      std::holds_alternative<DescribeRequest>(*DecodeRequest(Encode(Request(DescribeRequest{})))));
  EXPECT_EQ(std::get<ReleaseRequest>(*DecodeRequest(Encode(Request(ReleaseRequest{9})))).handle,
            9U);
}

TEST(Protocol, CarriesEveryResponse) {
  const Error error{ErrorCode::kTooLarge, "node 'a'", "too much"};
  const auto refused = DecodeResponse(Encode(Response(error)));
  EXPECT_EQ(std::get<Error>(*refused).code, ErrorCode::kTooLarge);
  EXPECT_EQ(std::get<Error>(*refused).where, "node 'a'");
  EXPECT_EQ(std::get<Error>(*refused).message, "too much");
  const Description description{"x86", "1", {"exact", "float32"}, "avx2"};
  const auto described = DecodeResponse(Encode(Response(description)));
  EXPECT_EQ(std::get<Description>(*described).arithmetics, description.arithmetics);
  EXPECT_EQ(std::get<Description>(*described).device, "avx2");
  EXPECT_EQ(std::get<PrepareResponse>(*DecodeResponse(Encode(Response(PrepareResponse{3})))).handle,
            3U);
  EXPECT_EQ(
      std::get<RunResponse>(*DecodeResponse(Encode(Response(RunResponse{{Sample()}})))).outputs[0],
      Sample());
  EXPECT_TRUE(std::holds_alternative<ReleaseResponse>(
      *DecodeResponse(Encode(Response(ReleaseResponse{})))));
}

// A name has at most 256 bytes, other texts 65,536, and arithmetics are 1 to 64.
// Source: backend_protocol.S7.
TEST(Protocol, BoundsTexts) {
  const auto described = [](Description description) {
    const auto decoded = DecodeResponse(Encode(Response(std::move(description))));
    return decoded.has_value() ? "" : decoded.error().Text();
  };
  const auto texts = [](std::size_t size) { return std::string(size, 'a'); };
  EXPECT_EQ(described({texts(256), texts(65536), {texts(256)}, texts(65536)}), "");
  EXPECT_EQ(described({texts(257), "1", {"exact"}, ""}),
            "response.describe.name: found 257 bytes, expected at most 256");
  EXPECT_EQ(described({"b", texts(65537), {"exact"}, ""}),
            "response.describe.version: found 65537 bytes, expected at most 65536");
  EXPECT_EQ(described({"b", "1", {"exact", texts(257)}, ""}),
            "response.describe.arithmetics: found 257 bytes, expected at most 256");
  const std::string counted = " arithmetics, expected a name and 1 to 64 of them";
  EXPECT_EQ(described({"b", "1", {}, ""}), "response.describe: found 0" + counted);
  EXPECT_EQ(described({"b", "1", std::vector<std::string>(65, "exact"), ""}),
            "response.describe: found 65" + counted);
  const auto refused =
      DecodeResponse(Encode(Response(Error{ErrorCode::kInvalid, "", texts(65537)})));
  EXPECT_EQ(refused.error().Text(), "response.error: found 65537 bytes, expected at most 65536");
}

// A Run of messages of `tensor` in field `field` (inputs 2, outputs 1), in field `run` (3, 4).
std::string RunOf(char run, char field, const std::string& tensor, std::size_t count) {
  const auto length = [](std::size_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value % 0x80 + 0x80);
    return bytes + static_cast<char>(value);
  };
  const std::string one = static_cast<char>(field << 3 | 2) + length(tensor.size()) + tensor;
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += one;
  return static_cast<char>(run << 3 | 2) + length(all.size()) + all;
}

// Before memory is taken for them: an empty tensor is 2 bytes here and 100 in memory.
// Source: backend_protocol.S9.
TEST(Protocol, BoundsTensorsAndTheirDims) {
  constexpr std::size_t kMany = kMaxTensors + 1;
  EXPECT_EQ(DecodeResponse(RunOf(4, 1, "", kMany)).error().Text(),
            "response.run.outputs: expected at most 1048576 tensors");
  EXPECT_EQ(DecodeRequest(RunOf(3, 2, "", kMany)).error().Text(),
            "request.run.inputs: expected at most 1048576 tensors");
  const std::string dims(4096, '\x10');  // 2048 times field 2, a varint of 16
  EXPECT_EQ(DecodeResponse(RunOf(4, 1, dims, 1)).error().Text(),
            "response.run.outputs: found a type and dims of 4096 bytes, expected at most 1024");
}

// Source: backend_protocol.S22.
TEST(Protocol, CarriesRepetitionsAndTheirSeconds) {
  const auto run = DecodeRequest(Encode(Request(RunRequest{7, {}, 3})));
  EXPECT_EQ(std::get<RunRequest>(*run).repetitions, 3U);
  const auto answer = DecodeResponse(Encode(Response(RunResponse{{}, {0.5, 0.0, 0x1p-20}})));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(std::get<RunResponse>(*answer).seconds, (std::vector<double>{0.5, 0.0, 0x1p-20}));
}

TEST(Protocol, RefusesSecondsThatAreNoTime) {
  for (const double bad : {-1.0, std::nan(""), HUGE_VAL}) {
    const auto answer = DecodeResponse(Encode(Response(RunResponse{{}, {0.5, bad}})));
    ASSERT_FALSE(answer.has_value()) << bad;
    EXPECT_EQ(answer.error().code, ErrorCode::kProtocol);
    EXPECT_EQ(answer.error().where, "response.run.seconds[1]");
  }
}

TEST(Protocol, RefusesBytesThatAreNoMessage) {
  for (const char* bytes : {"", "\xff\xff\xff", "\x12\x7f"}) {
    EXPECT_EQ(DecodeRequest(bytes).error().code, ErrorCode::kProtocol);
    EXPECT_EQ(DecodeResponse(bytes).error().code, ErrorCode::kProtocol);
  }
}

TEST(Protocol, RefusesUnknownElementType) {
  RawRun run(Sample());
  run.tensor.set_elem_type(999);
  EXPECT_EQ(run.Refusal().code, ErrorCode::kProtocol);
  EXPECT_EQ(run.Refusal().where, "request.run.inputs[0]: elem_type");
}

// Source: backend_protocol.S12 and backend_protocol.S14.
TEST(Protocol, RefusesDataThatDoesNotFillTheShape) {
  RawRun run(Sample());
  run.tensor.set_data("abc");
  EXPECT_EQ(run.Refusal().where, "request.run.inputs[0]: data");
  EXPECT_EQ(run.Refusal().message, "found 3 bytes, expected 4");
}

// 2^62 * 4 elements: the product must not wrap to what the data holds.
TEST(Protocol, RefusesShapesWhoseProductOverflows) {
  RawRun run(Sample());
  run.tensor.clear_dims();
  run.tensor.add_dims(std::int64_t{1} << 62);
  run.tensor.add_dims(4);
  EXPECT_EQ(run.Refusal().code, ErrorCode::kProtocol);
  run.tensor.set_dims(0, -1);
  EXPECT_EQ(run.Refusal().code, ErrorCode::kProtocol);
}

TEST(Protocol, RefusesParametersThatDoNotFit) {
  const auto refuse = [](auto change) {
    format::Tensor tensor = Sample();
    change(*tensor.quantization);
    return RawRun(tensor).Refusal().where;
  };
  EXPECT_EQ(refuse([](auto& q) { q.scale.push_back(1); }),
            "request.run.inputs[0]: quantization.scale");
  EXPECT_EQ(refuse([](auto& q) { q.scale[0] = INFINITY; }),
            "request.run.inputs[0]: quantization.scale");
  EXPECT_EQ(refuse([](auto& q) { q.scale[1] = NAN; }), "request.run.inputs[0]: quantization.scale");
  EXPECT_EQ(refuse([](auto& q) { q.offset.pop_back(); }),
            "request.run.inputs[0]: quantization.offset");
  EXPECT_EQ(refuse([](auto& q) { q.scale_tensor = "s"; }),
            "request.run.inputs[0]: quantization.scale_tensor");
  EXPECT_NE(refuse([](auto& q) { q.axis = {5}; }), "");
}

// Source: backend_protocol.S13.
TEST(Protocol, RefusesQuantizationOnPlainTypesAndItsAbsenceOnOthers) {
  RawRun plain(Sample());
  plain.tensor.set_elem_type(static_cast<std::int32_t>(format::ElementType::kInt8));
  EXPECT_EQ(plain.Refusal().where, "request.run.inputs[0]: quantization");
  RawRun bare(Sample());
  bare.tensor.clear_quantization();
  EXPECT_EQ(bare.Refusal().where, "request.run.inputs[0]: quantization");
}

}  // namespace
}  // namespace qtx::backend
