// SPDX-License-Identifier: Apache-2.0
// Tensor::str(): PyTorch's text with its default print options (four digits, 80 columns, three
// elements at each edge of a dimension once there are over 1000).
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "plab/tensor/tensor_impl.h"

namespace plab {

namespace {

using detail::TensorAccess;

constexpr std::int64_t kThreshold = 1000;
constexpr std::int64_t kEdge = 3;
constexpr std::size_t kLineWidth = 80;
constexpr std::size_t kIndent = 7;  // of "tensor("

// How all elements are written: chosen from the finite ones that are not 0.
class Style {
 public:
  Style(const Tensor& tensor, bool summarize) : tensor_(tensor), summarize_(summarize) {
    floating_ = is_floating(tensor.dtype());
    if (floating_) {
      visit(0, 0, [this](std::int64_t at) { look(TensorAccess::number(tensor_, at)); });
      const bool wide = most_ / least_ > 1000 || most_ > 1e8;
      scientific_ = any_ && (wide || (!whole_ && least_ < 1e-4));
    }
    visit(0, 0, [this](std::int64_t at) { measure(at); });
  }

  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  [[nodiscard]] std::string format(std::int64_t at) const {
    return fmt::format("{:>{}}", bare(at), width_);
  }

 private:
  // Calls f with the offset of each element that will be printed.
  template <typename F>
  void visit(std::size_t dim, std::int64_t at, const F& f) const {
    const Shape& sizes = tensor_.sizes();
    if (dim == sizes.dims()) return f(at);
    for (std::int64_t i = 0; i < sizes[dim]; ++i) {
      if (summarize_ && i == kEdge && sizes[dim] > 2 * kEdge) i = sizes[dim] - kEdge;
      visit(dim + 1, at + i * tensor_.strides()[dim], f);
    }
  }

  void look(double value) {
    if (!std::isfinite(value) || value == 0) return;
    const double size = std::fabs(value);
    most_ = any_ ? std::max(most_, size) : size;
    least_ = any_ ? std::min(least_, size) : size;
    whole_ = whole_ && value == std::ceil(value);
    any_ = true;
  }

  void measure(std::int64_t at) {
    if (floating_) {  // 0, inf and nan do not count
      const double value = TensorAccess::number(tensor_, at);
      if (!std::isfinite(value) || value == 0) return;
    }
    width_ = std::max(width_, bare(at).size());
  }

  [[nodiscard]] std::string bare(std::int64_t at) const {
    if (tensor_.dtype() == DType::kBool) {
      return TensorAccess::whole(tensor_, at) != 0 ? "True" : "False";
    }
    if (!floating_) return fmt::format("{}", TensorAccess::whole(tensor_, at));
    const double value = TensorAccess::number(tensor_, at);
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    if (scientific_) return fmt::format("{:.4e}", value);
    return whole_ ? fmt::format("{:.0f}.", value) : fmt::format("{:.4f}", value);
  }

  const Tensor& tensor_;
  bool summarize_;
  bool floating_ = false;
  bool any_ = false;
  bool whole_ = true;
  bool scientific_ = false;
  double most_ = 0;
  double least_ = 0;
  std::size_t width_ = 1;
};

class Writer {
 public:
  explicit Writer(const Tensor& tensor)
      : tensor_(tensor), summarize_(tensor.numel() > kThreshold), style_(tensor, summarize_) {}

  // The part from dimension `dim` on whose first element is at `at`; `indent` columns are taken.
  [[nodiscard]] std::string text(std::size_t dim, std::int64_t at, std::size_t indent) const {
    const std::size_t left = tensor_.sizes().dims() - dim;
    if (left == 0) return style_.format(at);
    const std::vector<std::string> parts = items(dim, at, indent);
    const std::string blank(indent + 1, ' ');
    if (left > 1) {
      const std::string gap = fmt::format(",{:\n>{}}{}", "", left - 1, blank);
      return fmt::format("[{}]", fmt::join(parts, gap));
    }
    const std::size_t room = kLineWidth > indent ? kLineWidth - indent : 0;
    const std::size_t per_line = std::max<std::size_t>(1, room / (style_.width() + 2));
    std::string out = "[";
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) out += i % per_line == 0 ? ",\n" + blank : ", ";
      out += parts[i];
    }
    return out + "]";
  }

 private:
  [[nodiscard]] std::vector<std::string> items(std::size_t dim, std::int64_t at,
                                               std::size_t indent) const {
    const std::int64_t size = tensor_.sizes()[dim];
    const bool is_row = dim + 1 == tensor_.sizes().dims();
    std::vector<std::string> parts;
    for (std::int64_t i = 0; i < size; ++i) {
      if (summarize_ && i == kEdge && size > 2 * kEdge) {
        parts.emplace_back(is_row ? " ..." : "...");
        i = size - kEdge;
      }
      parts.push_back(text(dim + 1, at + i * tensor_.strides()[dim], indent + 1));
    }
    return parts;
  }

  const Tensor& tensor_;
  bool summarize_;
  Style style_;
};

std::vector<std::string> suffixes(const Tensor& tensor) {
  std::vector<std::string> out;
  const DType dtype = tensor.dtype();
  const bool none = tensor.numel() == 0;
  if (none && tensor.dim() != 1) {
    out.push_back(fmt::format("size=({})", fmt::join(tensor.sizes(), ", ")));
  }
  const bool is_default =
      dtype == DType::kF32 || (!none && (dtype == DType::kI64 || dtype == DType::kBool));
  if (!is_default) out.push_back(fmt::format("dtype=torch.{}", name_of(dtype)));
  if (!tensor.is_leaf()) {
    out.push_back(fmt::format("grad_fn=<{}>", tensor.autograd()->grad_fn->name()));
  } else if (tensor.requires_grad()) {
    out.emplace_back("requires_grad=True");
  }
  return out;
}

}  // namespace

std::string Tensor::str() const {
  static_cast<void>(impl());
  std::string out = "tensor(";
  out += numel() == 0 ? "[]" : Writer(*this).text(0, 0, kIndent);
  const std::size_t line = out.rfind('\n');
  std::size_t column = out.size() - (line == std::string::npos ? std::size_t{0} - 1 : line) + 1;
  for (const std::string& suffix : suffixes(*this)) {
    if (column + suffix.size() + 2 > kLineWidth) {
      out += ",\n" + std::string(kIndent, ' ') + suffix;
      column = kIndent + suffix.size();
    } else {
      out += ", " + suffix;
      column += suffix.size() + 2;
    }
  }
  return out + ")";
}

}  // namespace plab
