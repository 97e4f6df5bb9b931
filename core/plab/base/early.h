#pragma once
// SPDX-License-Identifier: Apache-2.0
// Work that has to be done before there are threads.

namespace plab {

/// Calls a function when the program is loaded, before main. For static objects and fork handlers:
/// what another thread is just making or registering while a process forks is half made in the
/// child, its lock or its guard held for ever by a thread that was not copied.
///
///   const Early early([] { (void)instance(); });   // in the file of instance(), at namespace
///   scope
///
/// The function must not rely on another file's Early.
class Early {
 public:
  template <typename Fn>
  explicit Early(Fn fn) noexcept {
    fn();
  }
};

}  // namespace plab
