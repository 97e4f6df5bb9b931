#pragma once
// SPDX-License-Identifier: Apache-2.0
// A timeline to look at: a file for Perfetto and chrome://tracing, and a page of our own that opens
// without a network.

#include <string>
#include <string_view>

#include "plab/base/timeline_reader.h"

namespace plab::timeline {

/// Trace Event JSON (times in microseconds from the first event): process and thread names,
/// complete events, instants, and a flow arrow from each put to the get with the same id.
[[nodiscard]] std::string to_chrome_json(const Timeline& timeline);

/// One HTML page with everything in it: a lane per process and thread, zoom, pan, tooltips, a
/// legend that filters, marks on processes that were killed. Reads well with 100,000 events.
[[nodiscard]] std::string to_html(const Timeline& timeline, std::string_view title);

}  // namespace plab::timeline
