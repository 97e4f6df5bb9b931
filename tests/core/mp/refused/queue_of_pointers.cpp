// SPDX-License-Identifier: Apache-2.0
// expect: Travels
#include <functional>

#include "plab/mp/simple_queue.h"

#ifdef MENDED
plab::mp::SimpleQueue<int> queue;
#else
plab::mp::SimpleQueue<std::function<void()> > queue;
#endif
