// From a GGUF file to a graph of initializers.
#include <filesystem>
#include <utility>

#include "errors.h"
#include "gguf/decoder_graph.h"
#include "gguf/ggml_types.h"
#include "gguf/gguf.h"
#include "gguf/split.h"
#include "gguf/tensor_in.h"
#include "ledger.h"
#include "qtx/format/data_file.h"
#include "qtx/format/external_elements.h"
#include "qtx/format/feature.h"
#include "qtx/format/limits.h"
#include "qtx/format/text.h"
#include "qtx/graph/graph_builder.h"

namespace qtx::convert {
namespace gguf {
namespace {

namespace fs = std::filesystem;

using format::Dims;
using format::ElementType;
using format::TensorType;

constexpr std::int64_t kIrVersion = 12;
constexpr std::int64_t kOpset = 24;

class Import {
 public:
  explicit Import(const Options& options)
      : repack_(options.repack),
        weights_only_(options.weights_only),
        data_(options.data),
        ledger_(options) {}

  Result<Conversion> Run(const Source& source) {
    QTX_ASSIGN_OR_RETURN(const std::vector<Part> parts, OpenParts(source));
    for (const Part& part : parts) {
      for (const TensorInfo& info : part.file.tensors) {
        if (info.name.starts_with(kPrefix))
          return Unsupported("tensor '" + info.name + "'", "has a name of qtx's own");
        names_.Take(info.name);
      }
    }
    for (std::size_t i = 0; i < parts.size(); ++i) QTX_RETURN_IF_ERROR(AddPart(parts[i], i + 1));
    return Finish(parts);
  }

 private:
  // Where the model points to: the file itself, whatever links lead there.
  Result<void> Locate(const Part& part) {
    std::error_code code;
    const fs::path file = fs::canonical(part.path, code);
    if (code || !fs::is_regular_file(file, code)) {
      return Unsupported("",
                         "is no regular file, into which the model could point; --repack writes "
                         "a model without it");
    }
    const std::string folder = file.parent_path().string();
    if (!model_.folder.empty() && model_.folder != folder)
      return Unsupported(part.path, "lies in another folder than the other parts");
    model_.folder = folder;
    location_ = file.filename().string();
    return {};
  }

  Result<void> AddPart(const Part& part, std::size_t number) {
    if (!repack_) QTX_RETURN_IF_ERROR(Locate(part));
    bytes_ = part.bytes;
    QTX_RETURN_IF_ERROR(AddBytes(HeaderName(number), {0, part.file.data}));
    for (const Gap& gap : part.file.gaps)
      QTX_RETURN_IF_ERROR(AddBytes(GapName(number, gap.offset), gap));
    for (const TensorInfo& info : part.file.tensors) {
      auto added = AddTensor(info);
      if (!added.has_value())
        return At("tensor '" + format::Printable(info.name).text() + "'", added.error());
    }
    return {};
  }

  std::span<const std::byte> View(std::int64_t offset, std::int64_t size) const {
    return std::as_bytes(std::span(bytes_))
        .subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
  }

  // Elements as they lie in the file.
  Result<void> AddRange(const std::string& name, ElementType storage, Dims dims,
                        std::int64_t offset, std::int64_t size) {
    if (!repack_) {
      model_.graph.initializers.push_back(
          format::ToExternalData(name, storage, std::move(dims), location_, offset, size));
      return {};
    }
    const auto bytes = View(offset, size);
    return Add(name, {storage, std::move(dims), std::nullopt, {bytes.begin(), bytes.end()}});
  }
  Result<void> AddBytes(const std::string& name, const Gap& range) {
    return AddRange(name, ElementType::kUint8, {range.size}, range.offset, range.size);
  }

  Result<void> AddTensor(const TensorInfo& info) {
    const GgmlType* type = FindGgmlType(info.type);
    if (type == nullptr || type->form == Form::kOpaque) {
      const std::string name =
          type == nullptr ? "number " + std::to_string(info.type) : std::string(type->name);
      return AddOpaque(info, "ggml's type " + name + " has no form in ONNX: its bytes");
    }
    if (type->form == Form::kPlain) {
      ledger_.Kept(info.name, "type");
      return AddRange(info.name, type->elem_type, info.dims, info.offset, info.size);
    }
    const std::int64_t records = info.size / type->bytes;
    if (records * (type->block / type->scale[0].block) > format::kMaxParameters) {
      return AddOpaque(info, std::string(type->name) + " as its bytes: more than " +
                                 std::to_string(format::kMaxParameters) + " scales");
    }
    return type->form == Form::kRecords ? AddRecords(info, *type) : AddVectors(info, *type);
  }

  Result<void> AddOpaque(const TensorInfo& info, std::string why) {
    ledger_.Changed(info.name, "type", std::move(why));
    return AddBytes(info.name, {info.offset, info.size});
  }

  Result<void> AddRecords(const TensorInfo& info, const GgmlType& type) {
    const auto records = View(info.offset, info.size);
    QTX_ASSIGN_OR_RETURN(const auto found, FindNonFinite(type, records));
    if (found) return AddOpaque(info, std::string(type.name) + " as its bytes: " + *found);
    if (!repack_) {
      Declare(info.name, TypeOf(type, info.dims, true));
      return AddBytes(info.name, {info.offset, info.size});
    }
    QTX_ASSIGN_OR_RETURN(const Unpacked unpacked, UnpackRecords(type, info.dims, records));
    return AddUnpacked(info, type, unpacked);
  }

  Result<void> AddVectors(const TensorInfo& info, const GgmlType& type) {
    std::string why;
    QTX_ASSIGN_OR_RETURN(const auto unpacked,
                         UnpackVectors(type, info.dims, View(info.offset, info.size), why));
    if (!unpacked) return AddOpaque(info, std::string(type.name) + " as its bytes: " + why);
    return AddUnpacked(info, type, *unpacked);
  }

  Result<void> AddUnpacked(const TensorInfo& info, const GgmlType& type, const Unpacked& unpacked) {
    TensorType declared = TypeOf(type, info.dims, false);
    QTX_RETURN_IF_ERROR(Add(info.name, unpacked.codes));
    const auto attach = [&](const std::vector<format::Tensor>& factors,
                            std::vector<format::BlockFactors>& levels,
                            const std::string& field) -> Result<void> {
      for (std::size_t i = 0; i < factors.size(); ++i) {
        levels[i].tensor = names_.Unique(info.name + "." + field + "." + std::to_string(i));
        QTX_RETURN_IF_ERROR(Add(levels[i].tensor, factors[i]));
      }
      return {};
    };
    format::Quantization& q = *declared.quantization;
    QTX_RETURN_IF_ERROR(attach(unpacked.scale, q.scale_levels, "scale_levels"));
    QTX_RETURN_IF_ERROR(attach(unpacked.base, q.base_levels, "base_levels"));
    Declare(info.name, std::move(declared));
    return {};
  }

  // Large tensors lie beside the model, so that one at a time is in memory.
  Result<void> Add(const std::string& name, const format::Tensor& tensor) {
    QTX_ASSIGN_OR_RETURN(format::TensorData data, format::MakeTensorData(name, tensor, data_));
    model_.graph.initializers.push_back(std::move(data));
    return {};
  }
  void Declare(const std::string& name, TensorType type) {
    ledger_.Kept(name, "type");
    model_.graph.values.push_back({.name = name, .type = std::move(type)});
  }

  Conversion Finish(const std::vector<Part>& parts) {
    model_.ir_version = kIrVersion;
    model_.graph.name = "gguf";
    model_.opset_imports = {
        {"", kOpset}, {std::string(format::kDomain), format::Features::Current().LatestVersion()}};
    if (!weights_only_) AddDecoderGraph(parts, &model_, &ledger_);
    return {std::move(model_), ledger_.Take()};
  }

  const bool repack_, weights_only_;
  format::DataFile* const data_;
  Ledger ledger_;
  graph::Names names_;
  format::Model model_;
  std::string location_;    // of the current part
  std::string_view bytes_;  // likewise
};

}  // namespace

std::string HeaderName(std::size_t part) {
  return std::string(kPrefix) + "header." + std::to_string(part);
}
std::string GapName(std::size_t part, std::int64_t offset) {
  return std::string(kPrefix) + "gap." + std::to_string(part) + "." + std::to_string(offset);
}

}  // namespace gguf

bool LooksLikeGguf(const Source& source) { return source.bytes().starts_with(gguf::kMagic); }

Result<Conversion> ReadGguf(const Source& source, const Options& options) {
  return gguf::Import(options).Run(source);
}

}  // namespace qtx::convert
