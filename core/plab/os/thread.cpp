// SPDX-License-Identifier: Apache-2.0
#include "plab/os/thread.h"

#include <pthread.h>
#include <unistd.h>

#include "plab/base/early.h"

namespace plab::os {

namespace detail {

thread_local constinit ThreadNumbers t_numbers;

void learn_numbers() noexcept { t_numbers = {::getpid(), ::gettid()}; }

}  // namespace detail

namespace {

void forget() noexcept { detail::t_numbers = {}; }

const Early g_early_thread([] { ::pthread_atfork(nullptr, nullptr, &forget); });

}  // namespace

}  // namespace plab::os
