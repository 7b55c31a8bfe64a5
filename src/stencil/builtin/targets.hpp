#pragma once
/// X(namespace) for each instruction set that row kernels are compiled for, best first: those of
/// src/stencil/CMakeLists.txt.
#if defined(__x86_64__)
#define SPINLOOM_STENCIL_TARGETS(X) X(avx512) X(avx2) X(baseline)
#else
#define SPINLOOM_STENCIL_TARGETS(X) X(baseline)
#endif
