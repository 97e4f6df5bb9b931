// SPDX-License-Identifier: Apache-2.0
#include "plab/data/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "plab/base/error.h"
#include "plab/data/csv_fields.h"
#include "plab/data/source.h"

namespace plab::data {

namespace {

enum class NumberProblem { kNone, kText, kRange, kNotFinite };

// A decimal number that fits float32. from_chars knows no leading plus.
NumberProblem parse_number(std::string_view text, double& value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (stop != end || problem == std::errc::invalid_argument) return NumberProblem::kText;
  if (problem == std::errc::result_out_of_range) return NumberProblem::kRange;
  if (!std::isfinite(value)) return NumberProblem::kNotFinite;
  return std::abs(value) > std::numeric_limits<float>::max() ? NumberProblem::kRange
                                                             : NumberProblem::kNone;
}

std::vector<std::string> read_line(Fields& fields) {
  std::vector<std::string> line;
  do {
    line.emplace_back(fields.next());
  } while (!fields.ended());
  return line;
}

std::optional<std::int64_t> as_index(std::string_view label) {
  std::int64_t index = 0;
  const char* const end = label.data() + label.size();
  const auto [stop, problem] = std::from_chars(label.data(), end, index);
  if (problem != std::errc{} || stop != end) return std::nullopt;
  return index;
}

// A header is a first line without a number in it; any first line if the label was asked for by
// name. A line with both is taken for bad data: better to ask than to lose a sample.
bool is_header(const std::vector<std::string>& line, const CsvOptions& options) {
  if (!options.label.empty() && !as_index(options.label)) return true;
  const auto is_number = [](const std::string& field) {
    double value = 0;
    return parse_number(field, value) != NumberProblem::kText;
  };
  return std::ranges::none_of(line, is_number) &&
         std::ranges::any_of(line, [](const auto& field) { return !field.empty(); });
}

std::size_t find_label(const std::vector<std::string>& header, const std::string& name,
                       const CsvOptions& options) {
  const auto columns = static_cast<std::int64_t>(header.size());
  const auto index =
      options.label.empty() ? std::optional<std::int64_t>(-1) : as_index(options.label);
  if (index) {
    const std::int64_t column = *index < 0 ? columns + *index : *index;
    if (column >= 0 && column < columns) return static_cast<std::size_t>(column);
    throw DataError(
        name, 1, 0,
        fmt::format("there is no column {} for the label; the line has {} columns, 0 to "
                    "{} (or -1 for the last)",
                    *index, columns, columns - 1));
  }
  const auto at = std::ranges::find(header, options.label);
  if (at != header.end()) return static_cast<std::size_t>(at - header.begin());
  std::string names;
  for (const std::string& field : header) {
    if (names.size() > 200) {
      names += ", ...";
      break;
    }
    names += (names.empty() ? "" : ", ") + std::string(shown(field));
  }
  throw DataError(
      name, 1, 0,
      fmt::format("no column is named {}; the first line names {}", shown(options.label), names));
}

class Table {
 public:
  Table(std::size_t columns, std::size_t label, const CsvOptions& options)
      : columns_(columns), label_(label), options_(options) {}

  void add_line(Fields& fields) {
    std::size_t column = 0;
    do {
      const std::string_view field = fields.next();
      if (column == columns_) ragged(fields, "more fields than");
      add(fields, field, column);
      ++column;
    } while (!fields.ended());
    if (column != columns_) ragged(fields, fmt::format("{} fields, not", column));
  }

  [[nodiscard]] TensorDataset finish(const std::string& name) const {
    if (labels_.empty()) {
      throw DataError(name, 0, 0, "it holds no sample; one line per sample is needed");
    }
    const auto n = static_cast<std::int64_t>(labels_.size());
    const auto width = static_cast<std::int64_t>(columns_ - 1);
    TensorDataset data{.features = Tensor::of<float>(features_, Shape{n, width}),
                       .labels = Tensor::of<std::int64_t>(labels_, Shape{n}),
                       .classes = *std::ranges::max_element(labels_) + 1};
    check_classes(data, name);
    return data;
  }

 private:
  [[noreturn]] void ragged(const Fields& fields, const std::string& what) const {
    fields.fail(fmt::format("{} the {} of the first line; every line needs the same number", what,
                            columns_));
  }

  void add(const Fields& fields, std::string_view field, std::size_t column) {
    double value = 0;
    const NumberProblem problem = parse_number(field, value);
    if (problem != NumberProblem::kNone) bad_number(fields, field, problem);
    if (column != label_) {
      features_.push_back(static_cast<float>(value));
      return;
    }
    if (value != std::floor(value) || value < 0 ||
        value >= static_cast<double>(options_.most_classes)) {
      fields.fail(fmt::format("the label is {}; labels are whole numbers from 0 to {}",
                              shown(field), options_.most_classes - 1));
    }
    labels_.push_back(static_cast<std::int64_t>(value));
  }

  [[noreturn]] static void bad_number(const Fields& fields, std::string_view field,
                                      NumberProblem problem) {
    if (field.empty()) fields.fail("the field is empty; a number is needed");
    if (problem == NumberProblem::kRange) {
      fields.fail(fmt::format("{} does not fit a float32 (up to 3.4e38)", shown(field)));
    }
    if (problem == NumberProblem::kNotFinite) {
      fields.fail(
          fmt::format("{} is no finite number; fill such gaps or drop the line", shown(field)));
    }
    const bool other = field.find_first_of(";\t") != std::string_view::npos;
    const std::string_view hint =
        other                ? "; fields are separated by commas"
        : fields.line() == 1 ? "; if this line is a header, name the label's column (--label NAME)"
                             : "";
    fields.fail(
        fmt::format("{} is no number; numbers look like 12, -0.5 or 3e4{}", shown(field), hint));
  }

  std::size_t columns_;
  std::size_t label_;
  const CsvOptions& options_;
  std::vector<float> features_;
  std::vector<std::int64_t> labels_;
};

}  // namespace

TensorDataset parse_csv(std::string_view text, const std::string& name, const CsvOptions& options) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  Fields fields(text, name);
  fields.skip_blank_lines();
  if (fields.at_end()) throw DataError(name, 0, 0, "it is empty; one line per sample is needed");
  const Fields start = fields;
  const std::vector<std::string> first = read_line(fields);
  const bool header = is_header(first, options);
  const std::size_t label = find_label(first, name, options);
  if (first.size() < 2) {
    fields.fail(
        "it has one column; at least one number and the label are needed, separated by "
        "commas");
  }
  Table table(first.size(), label, options);
  if (!header) fields = start;
  while (!fields.at_end()) {
    table.add_line(fields);
    if (fields.at_end()) break;
    const std::size_t line = fields.line() + 1;
    if (fields.skip_blank_lines() && !fields.at_end()) {
      throw DataError(name, line, 0, "the line is blank; only lines at the end may be");
    }
  }
  return table.finish(name);
}

TensorDataset read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  return parse_csv(read_source(path, options.most_bytes), path.string(), options);
}

}  // namespace plab::data
