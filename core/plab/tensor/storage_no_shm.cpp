// SPDX-License-Identifier: Apache-2.0
// Stands in for storage_shared.cpp where the layer shm is not built.
#include "plab/base/error.h"
#include "plab/tensor/storage_impl.h"

namespace plab {

namespace {
[[noreturn]] void refuse() {
  throw ResourceError("[tensor.storage] this build has no shared memory (layer shm)");
}
}  // namespace

Storage Storage::shared(std::size_t /*bytes*/) { refuse(); }
Storage Storage::adopt(shm::Block /*block*/) { refuse(); }
void Storage::share_memory() { refuse(); }

}  // namespace plab
