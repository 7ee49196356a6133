#include "engine/plan.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "qtx/format/levels.h"
#include "qtx/format/limits.h"

namespace qtx::backend::engine {

namespace {

using format::Tensor;

// Copies a value's elements between its buffer and its tensor.
class ChangeForm : public Step {
 public:
  ChangeForm(Value* value, Buffer* buffer, bool to_buffer, bool at_border)
      : value_(value), buffer_(buffer), to_buffer_(to_buffer), at_border_(at_border) {
    flip_ = value->tensor.elem_type == buffer->type.elem_type ? 0 : 0x80;
  }

  Result<void> Run() override {
    Convert(*buffer_, flip_, value_->tensor.bytes.data(), to_buffer_);
    return {};
  }

  bool AtBorder() const override { return at_border_; }
  std::string_view Path() const override { return "layout"; }

  static void Convert(const Buffer& buffer, std::uint8_t flip, std::byte* tensor, bool to_buffer) {
    const std::byte* from = to_buffer ? tensor : buffer.data;
    std::byte* to = to_buffer ? buffer.data : tensor;
    if (buffer.layout == Layout::kRowMajor) return CopyFlipped(from, buffer.size, flip, to);
    ChangeLayout(from, to_buffer ? Layout::kRowMajor : Layout::kChannelsLast, buffer.type.dims,
                 ElementSize(buffer), flip, to);
  }

  static std::size_t ElementSize(const Buffer& buffer) {
    return static_cast<std::size_t>(format::BitWidth(buffer.type.elem_type) / 8);
  }

 private:
  Value* value_;
  Buffer* buffer_;
  bool to_buffer_, at_border_;
  std::uint8_t flip_;
};

class ChangeBufferLayout : public Step {
 public:
  ChangeBufferLayout(Buffer* from, Buffer* to) : from_(from), to_(to) {}
  std::string_view Path() const override { return "layout"; }
  Result<void> Run() override {
    ChangeLayout(from_->data, from_->layout, from_->type.dims, ChangeForm::ElementSize(*from_), 0,
                 to_->data);
    return {};
  }

 private:
  Buffer *from_, *to_;
};

}  // namespace

Result<Workspace::Forms*> Workspace::FindForms(const std::string& name) {
  if (const auto found = forms_.find(name); found != forms_.end()) return &found->second;
  if (view_.FindInitializer(name) == nullptr) {
    return Error{ErrorCode::kUnsupported, "value '" + name + "'", "no earlier node computes it"};
  }
  QTX_ASSIGN_OR_RETURN(Tensor tensor, format::LoadInitializer(view_, name));
  if (tensor.quantization && !format::HasIntegerForm(*tensor.quantization)) {
    return Error{ErrorCode::kUnsupported, "initializer '" + name + "'",
                 "its type has a base, a code book or a scale of 0 or below"};
  }
  QTX_RETURN_IF_ERROR(DefineConstant(name, std::move(tensor)));
  return &forms_.find(name)->second;
}

Result<Workspace::Forms*> Workspace::AddForms(const std::string& name, Tensor like,
                                              format::Dims dims) {
  if (forms_.contains(name)) {
    return Error{ErrorCode::kUnsupported, "value '" + name + "'", "computed twice"};
  }
  Forms forms;
  forms.node = node_;
  forms.type.elem_type = like.elem_type;
  forms.type.quantization = std::move(like.quantization);
  forms.type.dims = std::move(dims);
  return &forms_.emplace(name, std::move(forms)).first->second;
}

Result<Value*> Workspace::AddValue(const std::string& name, Forms& forms) {
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(forms.type.dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t bytes, format::PackedBytes(forms.type.elem_type, count));
  if (bytes > format::kMaxTensorBytes - total_bytes_) {
    return Error{ErrorCode::kTooLarge, "value '" + name + "'",
                 "the model's values pass the limit of " + std::to_string(format::kMaxTensorBytes) +
                     " bytes"};
  }
  total_bytes_ += bytes;
  QTX_ASSIGN_OR_RETURN(Tensor tensor, format::MakeTensor(forms.type.elem_type, forms.type.dims,
                                                         forms.type.quantization));
  values_.push_back({name, std::move(tensor), false});
  forms.value = &values_.back();
  return forms.value;
}

Value* Workspace::Keep(Tensor tensor) {
  values_.push_back({"", std::move(tensor), true});
  return &values_.back();
}

Result<Value*> Workspace::Find(const std::string& name) {
  QTX_ASSIGN_OR_RETURN(Forms * forms, FindForms(name));
  if (forms->value != nullptr) return forms->value;
  Buffer* buffer = forms->row_major != nullptr ? forms->row_major : forms->channels_last;
  QTX_ASSIGN_OR_RETURN(Value * value, AddValue(name, *forms));
  Arena::Use(*buffer, node_);
  Append(std::make_unique<ChangeForm>(value, buffer, false, node_ > model().graph.nodes.size()));
  return value;
}

Buffer*& Workspace::Form(Forms& forms, Layout layout) {
  const bool row_major = layout == Layout::kRowMajor || LayoutsCoincide(forms.type.dims);
  return row_major ? forms.row_major : forms.channels_last;
}

Result<Buffer*> Workspace::MakeConstantBuffer(Forms& forms, Layout layout) {
  QTX_ASSIGN_OR_RETURN(Buffer * buffer,
                       arena_.AddConstant(BufferType(forms.type, kernels_.signed_bytes), layout));
  const std::uint8_t flip = forms.type.elem_type == buffer->type.elem_type ? 0 : 0x80;
  ChangeForm::Convert(*buffer, flip, forms.value->tensor.bytes.data(), true);
  return buffer;
}

Result<Buffer*> Workspace::MakeComputedBuffer(Forms& forms, Layout layout) {
  Buffer* other = forms.row_major != nullptr ? forms.row_major : forms.channels_last;
  QTX_ASSIGN_OR_RETURN(Buffer * buffer,
                       arena_.Add(BufferType(forms.type, kernels_.signed_bytes), layout, node_));
  if (other != nullptr) {
    Arena::Use(*other, node_);
    Append(std::make_unique<ChangeBufferLayout>(other, buffer));
  } else {
    Append(std::make_unique<ChangeForm>(forms.value, buffer, true, forms.node == 0));
    // RunInside reads it again, and without this step: other buffers must not take its memory.
    if (forms.node == 0) Arena::Use(*buffer, model().graph.nodes.size());
  }
  return buffer;
}

Result<Buffer*> Workspace::FindBuffer(const std::string& name, Layout layout) {
  QTX_ASSIGN_OR_RETURN(Forms * forms, FindForms(name));
  if (format::BitWidth(forms->type.elem_type) % 8 != 0 ||
      forms->type.elem_type == format::ElementType::kString) {
    return Error{ErrorCode::kUnsupported, "value '" + name + "'",
                 "elements of type " + std::string(format::Name(forms->type.elem_type))};
  }
  if (LayoutsCoincide(forms->type.dims)) layout = Layout::kRowMajor;
  Buffer*& form = Form(*forms, layout);
  if (form == nullptr) {
    const bool constant = forms->value != nullptr && forms->value->constant;
    QTX_ASSIGN_OR_RETURN(
        form, constant ? MakeConstantBuffer(*forms, layout) : MakeComputedBuffer(*forms, layout));
  }
  Arena::Use(*form, node_);
  return form;
}

Result<const Tensor*> Workspace::TypeOf(const std::string& name) {
  QTX_ASSIGN_OR_RETURN(const Forms* forms, FindForms(name));
  return &forms->type;
}

Result<format::ValueFacts> Workspace::FactsOf(const std::string& name) {
  QTX_ASSIGN_OR_RETURN(const Forms* forms, FindForms(name));
  const bool constant = forms->value != nullptr && forms->value->constant;
  return format::FactsOf(constant ? forms->value->tensor : forms->type, constant);
}

bool Workspace::IsConstant(const std::string& name) {
  const auto forms = FindForms(name);
  return forms.has_value() && (*forms)->value != nullptr && (*forms)->value->constant;
}

Layout Workspace::LayoutOf(const std::string& name) const {
  const auto found = forms_.find(name);
  if (found == forms_.end() || found->second.row_major != nullptr) return Layout::kRowMajor;
  return found->second.channels_last != nullptr ? Layout::kChannelsLast : Layout::kRowMajor;
}

Result<Value*> Workspace::Define(const std::string& name, Tensor like, format::Dims dims) {
  QTX_ASSIGN_OR_RETURN(Forms * forms, AddForms(name, std::move(like), std::move(dims)));
  auto value = AddValue(name, *forms);
  if (!value.has_value()) forms_.erase(name);
  return value;
}

Result<Buffer*> Workspace::DefineBuffer(const std::string& name, Tensor like, format::Dims dims,
                                        Layout layout) {
  QTX_ASSIGN_OR_RETURN(Forms * forms, AddForms(name, std::move(like), std::move(dims)));
  if (LayoutsCoincide(forms->type.dims)) layout = Layout::kRowMajor;
  auto buffer = arena_.Add(BufferType(forms->type, kernels_.signed_bytes), layout, node_);
  if (buffer.has_value()) {
    Form(*forms, layout) = *buffer;
  } else {
    forms_.erase(name);
  }
  return buffer;
}

Result<Buffer*> Workspace::DefineAlias(const std::string& name, Buffer& of, Tensor like,
                                       format::Dims dims, Layout layout) {
  QTX_ASSIGN_OR_RETURN(Forms * forms, AddForms(name, std::move(like), std::move(dims)));
  if (LayoutsCoincide(forms->type.dims)) layout = Layout::kRowMajor;
  Buffer* alias = arena_.AddAlias(of, BufferType(forms->type, kernels_.signed_bytes), layout);
  Form(*forms, layout) = alias;
  return alias;
}

Result<void> Workspace::DefineConstant(const std::string& name, Tensor tensor) {
  Tensor type{
      .elem_type = tensor.elem_type, .dims = {}, .quantization = tensor.quantization, .bytes = {}};
  QTX_ASSIGN_OR_RETURN(Forms * forms, AddForms(name, std::move(type), tensor.dims));
  values_.push_back({name, std::move(tensor), true});
  forms->value = &values_.back();
  return {};
}

Result<void> Workspace::Run() {
  for (const Planned& planned : steps_) QTX_RETURN_IF_ERROR(planned.step->Run());
  return {};
}

Result<void> Workspace::RunInside() {
  for (const Planned& planned : steps_) {
    if (!planned.step->AtBorder()) QTX_RETURN_IF_ERROR(planned.step->Run());
  }
  return {};
}

Result<std::vector<NodeTime>> Workspace::Profile(int repetitions) {
  using Clock = std::chrono::steady_clock;
  std::vector<NodeTime> times;
  for (const Planned& planned : steps_) {
    times.push_back({planned.node - 1, std::string(planned.step->Path()), 0});
  }
  for (int r = 0; r < repetitions; ++r) {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].step->AtBorder()) continue;
      const Clock::time_point start = Clock::now();
      QTX_RETURN_IF_ERROR(steps_[i].step->Run());
      times[i].seconds += std::chrono::duration<double>(Clock::now() - start).count();
    }
  }
  std::erase_if(times,
                [this](const NodeTime& time) { return time.node >= model().graph.nodes.size(); });
  return times;
}

std::string NodePlan::Place() const {
  const std::string& name =
      node_.name.empty() && !node_.outputs.empty() ? node_.outputs[0] : node_.name;
  return "node '" + name + "' (" + node_.op_type + ")";
}

Result<void> NodePlan::Check(const format::CheckedModel& model, std::size_t i) {
  const format::OpSchema* schema = attributes_.schema();
  if (schema == nullptr) return {};
  for (const std::string& name : node_.outputs) {
    declared_.push_back(workspace_.view().FindValue(name));
  }
  if (model.inference().KnowsAll(i)) {
    for (const std::string& name : node_.outputs) {
      const format::ValueFacts* inferred = model.inference().Find(name);
      outputs_.push_back(inferred != nullptr ? *inferred : format::ValueFacts());
    }
    return {};
  }
  format::Application application{*schema, node_, opset(), {}, {}};
  for (const std::string& name : node_.inputs) {
    format::ValueFacts& input = application.inputs.emplace_back();
    if (name.empty()) continue;
    auto facts = workspace_.FactsOf(name);
    if (!facts.has_value()) return Because(facts.error());
    input = *std::move(facts);
    input.is_initializer = workspace_.view().FindInitializer(name) != nullptr;
  }
  for (std::size_t k = 0; k < declared_.size(); ++k) {
    application.outputs.push_back(declared_[k] != nullptr ? format::FactsOf(*declared_[k])
                                                          : format::ValueFacts());
    application.outputs.back().given = !node_.outputs[k].empty();
  }
  auto checked = format::CheckApplication(application);
  if (!checked.has_value()) return Because(checked.error());
  outputs_ = std::move(application.outputs);
  return {};
}

Result<format::Dims> NodePlan::InferredDims(std::size_t i) const {
  const bool known = i < outputs_.size() && outputs_[i].dims.has_value() &&
                     std::ranges::all_of(*outputs_[i].dims, [](std::int64_t d) { return d >= 0; });
  if (!known) return Unsupported("a shape that the model computes");
  return *outputs_[i].dims;
}

const format::ValueInfo* NodePlan::Declared(const std::string& output) const {
  const auto i =
      static_cast<std::size_t>(std::ranges::find(node_.outputs, output) - node_.outputs.begin());
  return i < declared_.size() ? declared_[i] : workspace_.view().FindValue(output);
}

format::ElementType NodePlan::InferredType() const {
  return outputs_.empty() ? format::ElementType::kUndefined : outputs_[0].type;
}

Error NodePlan::Absent(const char* what, std::size_t i) const {
  return Unsupported(std::string(what) + " " + std::to_string(i) + " is absent");
}

Error NodePlan::Breaks(std::string_view number, std::string reason) const {
  assert(attributes_.schema() != nullptr);
  // "quantize_linear.C1": operators of two domains have one section.
  const std::string_view first = attributes_.schema()->checks.front().clause;
  const std::string clause = std::string(first.substr(0, first.find('.') + 1)) += number;
  return {ErrorCode::kInvalid, Place(), std::move(reason), clause};
}

Result<Value*> NodePlan::Input(std::size_t i) const {
  if (!HasInput(i)) return Absent("input", i);
  auto value = workspace_.Find(node_.inputs[i]);
  if (!value.has_value()) return Because(value.error());
  return *value;
}

Result<const Tensor*> NodePlan::TypeOf(std::size_t i) const {
  if (!HasInput(i)) return Absent("input", i);
  auto type = workspace_.TypeOf(node_.inputs[i]);
  if (!type.has_value()) return Because(type.error());
  return *type;
}

Result<Buffer*> NodePlan::InputBuffer(std::size_t i, Layout layout) const {
  if (!HasInput(i)) return Absent("input", i);
  auto buffer = workspace_.FindBuffer(node_.inputs[i], layout);
  if (!buffer.has_value()) return Because(buffer.error());
  return *buffer;
}

Result<const Tensor*> NodePlan::Constant(std::size_t i) const {
  QTX_RETURN_IF_ERROR(TypeOf(i));
  if (!IsConstant(i)) {
    return Unsupported("input '" + node_.inputs[i] +
                       "' is computed by the model, expected an initializer");
  }
  QTX_ASSIGN_OR_RETURN(const Value* value, Input(i));
  return &value->tensor;
}

Result<std::vector<std::int64_t>> NodePlan::ConstantIntegers(std::size_t i) const {
  QTX_ASSIGN_OR_RETURN(const Tensor* tensor, Constant(i));
  assert(tensor->elem_type == format::ElementType::kInt64);
  const auto values = tensor->As<std::int64_t>();
  return std::vector<std::int64_t>(values.begin(), values.end());
}

// The declared type of value `name`; kUndefined if it is not declared.
Result<Tensor> NodePlan::DeclaredType(const std::string& name, const format::Dims& dims) const {
  const format::ValueInfo* declared = Declared(name);
  if (declared == nullptr || !declared->type.has_value()) return Tensor{};
  if (declared->type->shape.has_value()) {
    const auto fixed = format::FixedDims(*declared->type->shape);
    if (fixed.has_value() && *fixed != dims) {
      return Unsupported("output '" + name + "' is declared " + format::ToString(*fixed) +
                         ", computed " + format::ToString(dims));
    }
  }
  return DeclaredParameters(name);
}

// The same without a check of the shape.
Result<Tensor> NodePlan::DeclaredParameters(const std::string& name) const {
  Tensor like;
  const format::ValueInfo* declared = Declared(name);
  if (declared == nullptr || !declared->type.has_value()) return like;
  like.elem_type = declared->type->elem_type;
  if (!format::IsQuantized(like.elem_type)) return like;
  assert(declared->type->quantization.has_value());  // quantization.C1
  auto resolved = format::Resolve(workspace_.view(), *declared->type, name);
  if (!resolved.has_value()) return Because(resolved.error());
  like.quantization = *std::move(resolved);
  return like;
}

bool SameReals(const Tensor& a, const Tensor& b) {
  if (a.elem_type != b.elem_type) return false;
  if (!a.quantization.has_value()) return true;
  const auto x = PerTensorOf(a);
  const auto y = PerTensorOf(b);
  return x.has_value() && y.has_value() && *x == *y;
}

Result<void> NodePlan::CheckOnlyOutput() const {
  if (node_.outputs.empty() || node_.outputs[0].empty()) return Absent("output", 0);
  for (std::size_t i = 1; i < node_.outputs.size(); ++i) {
    if (node_.outputs[i].empty()) continue;
    return Unsupported("output '" + node_.outputs[i] + "': only the first is computed");
  }
  return {};
}

Result<Value*> NodePlan::Define(Tensor like, format::Dims dims) const {
  QTX_RETURN_IF_ERROR(CheckOnlyOutput());
  if (output_ != nullptr && output_->tensor.dims == dims) return output_;
  auto value = workspace_.Define(node_.outputs[0], std::move(like), std::move(dims));
  if (!value.has_value()) return Because(value.error());
  output_ = *value;
  return output_;
}

Result<Tensor> NodePlan::OutputType(const format::Dims& dims) const {
  QTX_RETURN_IF_ERROR(CheckOnlyOutput());
  QTX_ASSIGN_OR_RETURN(Tensor like, DeclaredType(node_.outputs[0], dims));
  if (like.elem_type == format::ElementType::kUndefined) like.elem_type = InferredType();
  like.dims = dims;
  return like;
}

Result<Tensor> NodePlan::OutputParameters() const {
  QTX_RETURN_IF_ERROR(CheckOnlyOutput());
  QTX_ASSIGN_OR_RETURN(Tensor like, DeclaredParameters(node_.outputs[0]));
  if (like.elem_type == format::ElementType::kUndefined) like.elem_type = InferredType();
  return like;
}

Result<Value*> NodePlan::Output(format::Dims dims) const {
  QTX_ASSIGN_OR_RETURN(Tensor like, OutputType(dims));
  return Define(std::move(like), std::move(dims));
}

Result<Buffer*> NodePlan::OutputBuffer(format::Dims dims, Layout layout) const {
  QTX_ASSIGN_OR_RETURN(Tensor like, OutputType(dims));
  auto buffer = workspace_.DefineBuffer(node_.outputs[0], std::move(like), std::move(dims), layout);
  if (!buffer.has_value()) return Because(buffer.error());
  return *buffer;
}

Result<Buffer*> NodePlan::OutputAlias(Buffer& x, format::Dims dims, Layout layout) const {
  QTX_ASSIGN_OR_RETURN(Tensor like, OutputType(dims));
  if (!SameReals(BufferType(like, kernels().signed_bytes), x.type)) {
    return Unsupported("a result of another type than its input");
  }
  auto alias =
      workspace_.DefineAlias(node_.outputs[0], x, std::move(like), std::move(dims), layout);
  if (!alias.has_value()) return Because(alias.error());
  return *alias;
}

Result<Value*> NodePlan::OutputOfType(format::Dims dims, format::ElementType type) const {
  if (node_.outputs.empty() || node_.outputs[0].empty()) return Absent("output", 0);
  QTX_ASSIGN_OR_RETURN(Tensor like, DeclaredType(node_.outputs[0], dims));
  if (like.elem_type != format::ElementType::kUndefined && like.elem_type != type) {
    return Unsupported("output '" + node_.outputs[0] + "' is declared " +
                       std::string(format::Name(like.elem_type)) + ", computed " +
                       std::string(format::Name(type)));
  }
  like.elem_type = type;
  return Define(std::move(like), std::move(dims));
}

Result<Tensor> NodePlan::OutputTypeAt(std::size_t i, const format::Dims& dims,
                                      const Tensor& type) const {
  if (!HasOutput(i)) return Absent("output", i);
  QTX_ASSIGN_OR_RETURN(Tensor like, DeclaredType(node_.outputs[i], dims));
  if (like.elem_type == format::ElementType::kUndefined) {
    like.elem_type = type.elem_type;
    like.quantization = type.quantization;
  }
  return like;
}

Result<Value*> NodePlan::OutputAt(std::size_t i, format::Dims dims, const Tensor& type) const {
  QTX_ASSIGN_OR_RETURN(Tensor like, OutputTypeAt(i, dims, type));
  auto value = workspace_.Define(node_.outputs[i], std::move(like), std::move(dims));
  if (!value.has_value()) return Because(value.error());
  return *value;
}

Result<Buffer*> NodePlan::OutputBufferAt(std::size_t i, format::Dims dims, const Tensor& type,
                                         Layout layout) const {
  QTX_ASSIGN_OR_RETURN(Tensor like, OutputTypeAt(i, dims, type));
  auto buffer = workspace_.DefineBuffer(node_.outputs[i], std::move(like), std::move(dims), layout);
  if (!buffer.has_value()) return Because(buffer.error());
  return *buffer;
}

Result<void> NodePlan::OutputConstant(Tensor tensor) const {
  if (node_.outputs.empty() || node_.outputs[0].empty()) return Absent("output", 0);
  QTX_ASSIGN_OR_RETURN(Tensor like, DeclaredType(node_.outputs[0], tensor.dims));
  if (like.elem_type != format::ElementType::kUndefined && like.elem_type != tensor.elem_type) {
    if (format::StorageOf(like.elem_type) != tensor.elem_type) {
      return Unsupported("output '" + node_.outputs[0] + "' is declared " +
                         std::string(format::Name(like.elem_type)) + ", the constant is " +
                         std::string(format::Name(tensor.elem_type)));
    }
    tensor.elem_type = like.elem_type;
    tensor.quantization = std::move(like.quantization);
  }
  auto defined = workspace_.DefineConstant(node_.outputs[0], std::move(tensor));
  if (!defined.has_value()) return Because(defined.error());
  return {};
}

std::optional<format::ElementType> NodePlan::DeclaredElementType() const {
  if (node_.outputs.empty()) return std::nullopt;
  const format::ValueInfo* declared = Declared(node_.outputs[0]);
  if (declared == nullptr || !declared->type.has_value()) return std::nullopt;
  return declared->type->elem_type;
}

bool NodePlan::EightBitOutput() const {
  if (node_.outputs.empty()) return false;
  Tensor like;
  const format::ValueInfo* declared = Declared(node_.outputs[0]);
  if (declared == nullptr || !declared->type.has_value()) return false;
  like.elem_type = declared->type->elem_type;
  like.quantization = declared->type->quantization;
  return format::BitWidth(like.elem_type) == 8 && PerTensorOf(like).has_value();
}

Result<PerTensor> EightBitInput(const NodePlan& plan, std::size_t i) {
  QTX_ASSIGN_OR_RETURN(const Tensor* type, plan.TypeOf(i));
  if (type->elem_type != format::ElementType::kInt8Q &&
      type->elem_type != format::ElementType::kUint8Q) {
    return plan.Unsupported("input '" + plan.node().inputs[i] + "' is " +
                            std::string(format::Name(type->elem_type)) +
                            ", expected INT8Q or UINT8Q");
  }
  auto parameters = PerTensorOf(BufferType(*type, plan.kernels().signed_bytes));
  if (!parameters.has_value()) {
    return plan.Because(At("input '" + plan.node().inputs[i] + "'", parameters.error()));
  }
  return *parameters;
}

}  // namespace qtx::backend::engine
