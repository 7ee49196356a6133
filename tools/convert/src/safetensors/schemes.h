// The schemes of quantized weights: how several tensors of a file are one weight.
#pragma once

#include <optional>
#include <string>

#include "safetensors/config.h"
#include "safetensors/container.h"
#include "safetensors/weight.h"

namespace qtx::convert::safetensors {

/// A scheme makes a weight of the tensors whose names begin with `stem`.
/// Errors: kUnsupported for what no type expresses, naming the tensor; those of reading.
using MakeWeight = Result<Weight> (*)(const Container& files, const Config& config,
                                      const std::string& stem);

struct Found {
  std::string scheme;  // "gptq"
  std::string stem;    // of the module
  MakeWeight make = nullptr;
};

/// The scheme of which `tensor` holds the codes, by its name and those beside it; nullopt: none.
std::optional<Found> SchemeOf(const Container& files, const Tensor& tensor);

// gptq.cc. Source: auto-gptq 0.7.1, qlinear_cuda.py: QuantLinear.forward.
Result<Weight> MakeGptq(const Container& files, const Config& config, const std::string& stem);
// Source: autoawq 0.2.9, awq/utils/packing_utils.py: dequantize_gemm.
Result<Weight> MakeAwq(const Container& files, const Config& config, const std::string& stem);
// compressed.cc. Source: compressed-tensors 0.20.0, compressors/*: decompress.
Result<Weight> MakePackedIntegers(const Container& files, const Config& config,
                                  const std::string& stem);
Result<Weight> MakePackedFloats(const Container& files, const Config& config,
                                const std::string& stem);
// Likewise, and torchao 0.18, prototype/safetensors; transformers, integrations/finegrained_fp8.py.
Result<Weight> MakeElements(const Container& files, const Config& config, const std::string& stem);
// mx_blocks.cc. Source: transformers 5, integrations/mxfp4.py: convert_moe_packed_tensors.
Result<Weight> MakeMxBlocks(const Container& files, const Config& config, const std::string& stem);
// bitsandbytes.cc. Source: bitsandbytes 0.50.2, functional.py: dequantize_4bit, QuantState.
Result<Weight> MakeFourBits(const Container& files, const Config& config, const std::string& stem);
// Source: the same, int8_vectorwise_dequant.
Result<Weight> MakeInt8Rows(const Container& files, const Config& config, const std::string& stem);

}  // namespace qtx::convert::safetensors
