#pragma once
// SPDX-License-Identifier: Apache-2.0
// A function as another process of the same program can find it: the number of its module (the
// binary or a shared object), named by its build id, and the offset in there. Addresses themselves
// differ from process to process (address space layout randomisation).

#include <array>
#include <cstdint>

namespace plab::mp {

/// Trivially copyable: it travels as it is.
struct CodeAddress {
  std::array<std::uint8_t, 20> build_id{};  ///< of the module; see find_code_address
  std::uint32_t zero = 0;                   ///< fills up
  std::uint64_t offset = 0;                 ///< from the start of the module; 0 with no function
};

/// Where a function of this process lies. The build id is the linker's (.note.gnu.build-id); a
/// module without one gets a hash of its code.
/// @throws ContractError when the address is in no module (code made at run time)
[[nodiscard]] CodeAddress find_code_address(std::uintptr_t function);

/// The address of that function here.
/// @throws CorruptError when no module of this process has that build id (another build of the
/// program, or a library that was loaded with dlopen), or when the offset is outside its code
[[nodiscard]] std::uintptr_t resolve(const CodeAddress& address);

}  // namespace plab::mp
