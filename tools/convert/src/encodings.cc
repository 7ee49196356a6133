#include "encodings.h"

#include <set>
#include <utility>
#include <vector>

#include "errors.h"
#include "levels.h"
#include "onnx/flat_form.h"
#include "onnx/quantized_types.h"
#include "qtx/format/data_file.h"
#include "qtx/graph/graph_builder.h"

namespace qtx::convert {
namespace {

using format::BlockFactors;
using format::EncodedRole;
using format::Encoding;
using format::FieldLayout;
using format::Quantization;
using format::RecordLayout;
using format::Tensor;
using format::TensorData;

constexpr EncodedRole kOfLevels[] = {EncodedRole::kScale, EncodedRole::kBase};

std::vector<BlockFactors>& LevelsOf(Quantization& q, EncodedRole role) {
  return role == EncodedRole::kScale ? q.scale_levels : q.base_levels;
}

const char* NameOf(EncodedRole role) {
  return role == EncodedRole::kScale ? "scale_levels" : "base_levels";
}

template <typename Visit>
void VisitTypes(format::Graph& graph, const Visit& visit) {
  for (auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (format::ValueInfo& info : *list) visit(info);
  }
}

// One encoded value on its way to ordinary storage.
class Decoder {
 public:
  Decoder(const format::Model& model, const format::ValueInfo& info, const RecordLayout& layout,
          format::DataFile* file)
      : model_(model),
        info_(info),
        layout_(layout),
        data_(*model.graph.FindInitializer(info.name)),
        file_(file) {}

  // Adds the factors to `graph` and names them in `q`.
  Result<void> AddLevels(graph::Names& names, format::Graph& graph, Quantization& q) {
    for (const EncodedRole role : kOfLevels) {
      std::vector<BlockFactors>& levels = LevelsOf(q, role);
      for (std::size_t i = 0; i < levels.size(); ++i) {
        const FieldLayout* field = layout_.Find(role, i);
        if (field == nullptr) continue;
        QTX_ASSIGN_OR_RETURN(const Tensor factors, Read(*field));
        levels[i].tensor = names.Unique(info_.name + "/" + NameOf(role) + "/" + std::to_string(i));
        QTX_ASSIGN_OR_RETURN(TensorData made,
                             format::MakeTensorData(levels[i].tensor, factors, file_));
        graph.initializers.push_back(std::move(made));
      }
    }
    return {};
  }

  Result<TensorData> Codes() {
    QTX_ASSIGN_OR_RETURN(const Tensor codes, Read(*layout_.Find(EncodedRole::kCode)));
    return format::MakeTensorData(info_.name, codes, file_);
  }

  // Whether the values read make the bytes again.
  Result<bool> MakesTheBytes() const { return layout_.KeepsAllBits(data_, model_.folder); }

 private:
  Result<Tensor> Read(const FieldLayout& field) {
    return layout_.Decode(field, data_, model_.folder);
  }

  const format::Model& model_;
  const format::ValueInfo& info_;
  const RecordLayout& layout_;
  const TensorData& data_;
  format::DataFile* file_;
};

// The records of `type`'s values, which are in initializers of `model`. `type` is told what it then
// is.
Result<Tensor> RecordsOf(const format::Model& model, const std::string& name,
                         format::TensorType& type, std::set<std::string>& factors) {
  Quantization& q = *type.quantization;
  std::vector<std::pair<EncodedRole, std::pair<std::size_t, std::string>>> tensors;
  for (const EncodedRole role : kOfLevels) {
    std::vector<BlockFactors>& levels = LevelsOf(q, role);
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if (format::FindField(*q.encoding, role, i) != nullptr)
        tensors.push_back({role, {i, std::exchange(levels[i].tensor, "")}});
    }
  }
  QTX_ASSIGN_OR_RETURN(const RecordLayout layout, RecordLayout::Make(type));
  Tensor records;
  records.elem_type = format::ElementType::kUint8;
  records.dims = {layout.bytes()};
  records.bytes.resize(static_cast<std::size_t>(layout.bytes()));
  const auto put = [&](const FieldLayout& field, const std::string& tensor) -> Result<void> {
    const TensorData* data = model.graph.FindInitializer(tensor);
    if (data == nullptr) return Invalid("initializer '" + tensor + "'", "there is none");
    QTX_ASSIGN_OR_RETURN(const Tensor values, format::Decode(*data, model.folder));
    const bool fits = values.elem_type == field.type &&
                      format::ElementCount(values) ==
                          *format::ElementCount(std::span<const std::int64_t>(field.dims));
    if (!fits) return Invalid("initializer '" + tensor + "'", "has another type or size");
    return layout.Encode(field, values, records.bytes);
  };
  QTX_RETURN_IF_ERROR(put(*layout.Find(EncodedRole::kCode), name));
  for (const auto& [role, level] : tensors) {
    QTX_RETURN_IF_ERROR(put(*layout.Find(role, level.first), level.second));
    factors.insert(level.second);
  }
  return records;
}

}  // namespace

Result<format::Model> WithoutEncodings(const format::Model& model, Ledger& ledger, Encodings* taken,
                                       format::DataFile* data_file) {
  format::Model decoded = model;
  graph::Names names(model.graph);
  std::map<std::string, Quantization> done;  // an initializer may be an output, too
  for (auto* list : {&decoded.graph.inputs, &decoded.graph.outputs, &decoded.graph.values}) {
    for (format::ValueInfo& info : *list) {
      if (!info.type || !format::IsEncoded(*info.type)) continue;
      const std::string place = PlaceOfValue(info.name);
      if (const auto found = done.find(info.name); found != done.end()) {
        info.type->quantization = found->second;
        continue;
      }
      if (model.graph.FindInitializer(info.name) == nullptr)
        return Invalid(place, "has an encoding and is no initializer");
      auto layout = RecordLayout::Make(*info.type);
      if (!layout.has_value()) return At(place, layout.error());
      Quantization q = *info.type->quantization;
      Decoder decoder(model, info, *layout, data_file);
      if (auto added = decoder.AddLevels(names, decoded.graph, q); !added.has_value())
        return At(place, added.error());
      auto codes = decoder.Codes();
      if (!codes.has_value()) return At(place, codes.error());
      QTX_ASSIGN_OR_RETURN(const bool again, decoder.MakesTheBytes());
      Encoding encoding = *std::exchange(q.encoding, std::nullopt);
      for (TensorData& data : decoded.graph.initializers) {
        if (data.name == info.name) data = *codes;
      }
      const std::string now = std::string(format::Name(codes->data_type)) + ", factors beside it";
      if (taken == nullptr) {
        ledger.Changed(info.name, "encoding", "the records are " + now);
      } else if (again) {
        ledger.Changed(info.name, "encoding", "the records are " + now + ", and an annotation");
        taken->emplace(info.name, std::move(encoding));
      } else {
        ledger.Dropped(info.name, "encoding",
                       "the records are " + now + ": they have bits that no field has");
      }
      done.emplace(info.name, q);
      info.type->quantization = std::move(q);
    }
  }
  return decoded;
}

Result<format::Model> Decoded(const format::Model& model, Ledger& ledger, format::DataFile* data) {
  QTX_ASSIGN_OR_RETURN(
      Conversion made, OnFlatForm(model, [&](const format::Model& flat) -> Result<Conversion> {
        QTX_ASSIGN_OR_RETURN(format::Model decoded, WithoutEncodings(flat, ledger, nullptr, data));
        for (const auto& [name, unused] : TakeAnnotated(decoded))
          ledger.Dropped(name, "encoding", "the target has no annotations of it");
        return Conversion{std::move(decoded), {}};
      }));
  for (format::OpsetImport& import : made.model.opset_imports) {
    if (import.domain == format::kDomain) import.version = format::FormatVersion(made.model);
  }
  return std::move(made.model);
}

Result<void> PutEncodings(const Encodings& encodings, format::Model& model, Ledger& ledger,
                          format::DataFile* file) {
  std::set<std::string> factors;
  for (const auto& [name, encoding] : encodings) {
    const format::ValueInfo* info = model.graph.FindValue(name);
    const bool quantized = info != nullptr && info->type && info->type->quantization &&
                           format::IsQuantized(info->type->elem_type);
    if (!quantized) {  // an annotation of a value that stays FLOAT
      AnnotateEncodings({{name, encoding}}, model);
      continue;
    }
    format::TensorType type = *info->type;
    type.quantization->encoding = encoding;
    auto records = RecordsOf(model, name, type, factors);
    if (!records.has_value()) {
      ledger.Dropped(name, "encoding", records.error().Text());
      continue;
    }
    for (TensorData& data : model.graph.initializers) {
      if (data.name != name) continue;
      QTX_ASSIGN_OR_RETURN(data, format::MakeTensorData(name, *records, file));
    }
    VisitTypes(model.graph, [&, &value = name](format::ValueInfo& other) {
      if (other.name == value) other.type = type;
    });
  }
  DropFactors(std::move(factors), model.graph);
  return {};
}

Encodings TakeAnnotated(format::Model& model) {
  Encodings encodings;
  VisitTypes(model.graph, [&](format::ValueInfo& info) {
    if (!info.type || !info.type->quantization || format::IsQuantized(info.type->elem_type)) return;
    auto& encoding = info.type->quantization->encoding;
    if (!encoding) return;
    encodings.emplace(info.name, *std::move(encoding));
    encoding.reset();
  });
  return encodings;
}

void AnnotateEncodings(const Encodings& encodings, format::Model& model) {
  VisitTypes(model.graph, [&](format::ValueInfo& info) {
    const auto found = encodings.find(info.name);
    if (found != encodings.end() && info.type && info.type->quantization)
      info.type->quantization->encoding = found->second;
  });
}

}  // namespace qtx::convert
