#pragma once
// SPDX-License-Identifier: Apache-2.0
// PLAB_SIMD before a function: it is compiled for AVX2 too, and the loader picks the version that
// this processor can run. Internal to the layer.

// Sanitizers instrument the picker, which runs before they are ready; so not under them.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PLAB_SIMD __attribute__((target_clones("default", "avx2")))
#else
#define PLAB_SIMD
#endif
