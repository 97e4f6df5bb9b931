// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/child_error.h"

#include <cxxabi.h>

#include <cstring>
#include <string_view>
#include <typeinfo>

#include "plab/base/error.h"
#include "plab/mp/throw_trace.h"

namespace plab::mp {

namespace {

constexpr int kMaxLayers = 32;

std::string current_type() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  return type == nullptr ? "unknown" : demangle(type->name());
}

/// Adds the exception and those below it; std::nested_exception makes the chain.
void add_layers(const std::exception_ptr& error, std::vector<ChildError::Layer>& layers) {
  std::exception_ptr next = error;
  while (next != nullptr && layers.size() < kMaxLayers) {
    const std::exception_ptr now = next;
    next = nullptr;
    try {
      std::rethrow_exception(now);
    } catch (const std::exception& problem) {
      layers.push_back({current_type(), problem.what()});
      const auto* nested = dynamic_cast<const std::nested_exception*>(&problem);
      if (nested != nullptr) next = nested->nested_ptr();
    } catch (const std::string& text) {
      layers.push_back({"std::string", text});
    } catch (const char* text) {
      layers.push_back({"char const*", text == nullptr ? "" : text});
    } catch (...) {
      layers.push_back({current_type(), ""});
    }
  }
}

const void* object_of(const std::exception_ptr& error) {
  static_assert(sizeof error == sizeof(void*));
  const void* object = nullptr;
  std::memcpy(&object, static_cast<const void*>(&error), sizeof object);
  return object;
}

/// throw_with_nested derives a type of its own from the one that was given: show that one.
std::string readable(const std::string& type) {
  constexpr std::string_view kNested = "std::_Nested_exception<";
  if (type.size() <= kNested.size() + 1 || type.compare(0, kNested.size(), kNested) != 0) {
    return type;
  }
  return type.substr(kNested.size(), type.size() - kNested.size() - 1);
}

}  // namespace

ChildError describe(const std::exception_ptr& error) {
  ChildError result;
  result.stack = throw_stack(object_of(error));
  add_layers(error, result.layers);
  if (result.layers.empty()) result.layers.push_back({"unknown", ""});
  for (auto& layer : result.layers) layer.type = readable(layer.type);
  return result;
}

std::string ChildError::text() const {
  std::string out;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (i != 0) out += "caused by ";
    out += layers[i].type;
    if (!layers[i].message.empty()) out += ": " + layers[i].message;
    out += '\n';
  }
  if (!stack.empty()) out += "thrown at (innermost first):\n";
  for (const auto& frame : stack) out += "  " + frame + '\n';
  return out;
}

}  // namespace plab::mp
