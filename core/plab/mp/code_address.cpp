// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/code_address.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "plab/base/error.h"

namespace plab::mp {

namespace {

using BuildId = std::array<std::uint8_t, 20>;

bool holds_code(const ElfW(Phdr) & header, std::uintptr_t offset) {
  return header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0 && offset >= header.p_vaddr &&
         offset - header.p_vaddr < header.p_memsz;
}

std::optional<BuildId> id_in_notes(const std::byte* at, std::size_t bytes) {
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const std::size_t name = (note.n_namesz + 3U) & ~3U;
    const std::size_t whole = sizeof note + name + ((note.n_descsz + 3U) & ~3U);
    if (whole > bytes) return std::nullopt;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(at + sizeof note, "GNU", 4) == 0) {
      BuildId id{};
      std::memcpy(id.data(), at + sizeof note + name,
                  std::min<std::size_t>(id.size(), note.n_descsz));
      return id;
    }
    at += whole;
    bytes -= whole;
  }
  return std::nullopt;
}

BuildId hash_of_code(const dl_phdr_info& module) {
  std::array<std::uint64_t, 2> hash{0xcbf29ce484222325, 0x9e3779b97f4a7c15};
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const auto& header = module.dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const auto* at = reinterpret_cast<const std::uint8_t*>(module.dlpi_addr + header.p_vaddr);
    for (std::size_t k = 0; k < header.p_filesz; ++k) {
      hash[0] = (hash[0] ^ at[k]) * 0x100000001b3;
      hash[1] = (hash[1] + at[k]) * 0xff51afd7ed558ccd;
    }
  }
  BuildId id{};
  std::memcpy(id.data(), hash.data(), sizeof hash);
  id.back() = 'h';  // not to be taken for a linker's
  return id;
}

BuildId id_of(const dl_phdr_info& module) {
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const auto& header = module.dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const std::byte*>(module.dlpi_addr + header.p_vaddr);
    if (const auto id = id_in_notes(notes, header.p_memsz)) return *id;
  }
  return hash_of_code(module);
}

struct Search {
  std::uintptr_t address = 0;           // to find the module of
  const CodeAddress* wanted = nullptr;  // or: to find the address of
  CodeAddress found;
  std::uintptr_t resolved = 0;
  bool module_seen = false;
};

bool module_has(const dl_phdr_info& module, std::uintptr_t offset) {
  return std::any_of(module.dlpi_phdr, module.dlpi_phdr + module.dlpi_phnum,
                     [&](const auto& header) { return holds_code(header, offset); });
}

int find_module(dl_phdr_info* module, std::size_t /*size*/, void* data) {
  auto& search = *static_cast<Search*>(data);
  const std::uintptr_t offset = search.address - module->dlpi_addr;
  if (!module_has(*module, offset)) return 0;
  search.found.build_id = id_of(*module);
  search.found.offset = offset;
  search.module_seen = true;
  return 1;
}

int find_function(dl_phdr_info* module, std::size_t /*size*/, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (id_of(*module) != search.wanted->build_id) return 0;
  search.module_seen = true;
  if (!module_has(*module, search.wanted->offset)) return 0;
  search.resolved = module->dlpi_addr + search.wanted->offset;
  return 1;
}

std::string hex(const BuildId& id) {
  std::string text;
  for (const auto byte : id) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

CodeAddress find_code_address(std::uintptr_t function) {
  if (function == 0) return {};
  Search search;
  search.address = function;
  dl_iterate_phdr(&find_module, &search);
  if (search.module_seen) return search.found;
  throw ContractError(fmt::format(
      "[mp.spawn] the function at {:#x} is in no module of this program; give a function "
      "that is compiled into the program or a library that it links",
      function));
}

std::uintptr_t resolve(const CodeAddress& address) {
  if (address.offset == 0) return 0;
  Search search;
  search.wanted = &address;
  dl_iterate_phdr(&find_function, &search);
  if (search.resolved != 0) return search.resolved;
  if (search.module_seen) {
    throw CorruptError(fmt::format("[mp.spawn] offset {:#x} is outside the code of module {}",
                                   address.offset, hex(address.build_id)));
  }
  throw CorruptError(fmt::format(
      "[mp.spawn] no module of this process has build id {}: the program or library was rebuilt "
      "while its parent runs, or the function is in a library loaded by dlopen; link that library",
      hex(address.build_id)));
}

}  // namespace plab::mp
