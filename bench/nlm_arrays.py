#!/usr/bin/env python3
"""Times the Python package's non-local means on a GPU, from each kind of array to its own kind, one JSON line each.

Run by hand:  python3 bench/nlm_arrays.py [SIZE [PATCH_SIZE PATCH_DISTANCE]]
The volume is that of `spinloom bench nlm`: waves, a ball and noise of 0.05. A library that is not installed is skipped, in words.
The errors are those against the CPU on a part of the volume, over its range. `first_call` is what a process pays more for
the first call of this patch and distance; with an empty SPINLOOM_CACHE_DIR it compiles the kernels.
"""
import json
import statistics
import sys
import time

import numpy as np
import spinloom

n = int(sys.argv[1]) if len(sys.argv) > 1 else 500
s, d = (int(sys.argv[2]), int(sys.argv[3])) if len(sys.argv) > 3 else (3, 3)
OPTIONS = {"patch_size": s, "patch_distance": d, "h": 0.04, "sigma": 0.05}


def volume():
    i = np.arange(n)
    wave = np.add.outer(np.add.outer(i, i), i)
    ball = np.add.outer(np.add.outer((2 * i / n - 1) ** 2, (2 * i / n - 1) ** 2), (2 * i / n - 1) ** 2) < 0.5
    noise = np.random.default_rng(1).standard_normal((n, n, n), dtype=np.float32)
    return (0.5 + 0.3 * np.sin(wave / 9) + 0.2 * ball + 0.05 * noise).astype(np.float32)


def seconds(run, wait, repetitions):
    times = []
    for _ in range(repetitions):
        wait()
        start = time.perf_counter()
        run()
        wait()
        times.append(time.perf_counter() - start)
    return times


def report(name, image, back, wait, repetitions=7):
    def run():
        return spinloom.denoise_nl_means(image, **OPTIONS, device="auto" if name != "numpy_to_numpy" else "cuda")

    first = seconds(run, wait, 1)[0]
    result = back(run())
    edge = min(n, 40)
    margin = 0 if n == edge else d + s  # what the rest of the volume reaches
    part = np.ascontiguousarray(host[:edge, :edge, :edge])
    inner = (slice(0, edge - margin),) * 3
    exact = spinloom.denoise_nl_means(part, **OPTIONS, device="cpu")
    error = float(np.abs(result[:edge, :edge, :edge][inner] - exact[inner]).max() / np.ptp(host))
    if not error <= 2.4e-7:
        sys.exit(f"{name}: off by {error} of the range; a wrong answer is not timed")
    times = seconds(run, wait, repetitions)
    middle = statistics.median(times)
    print(json.dumps({"bench": "nlm_arrays", "device": "cuda:0", "name": name, "relative_error": error, "seconds": middle,
                      "spread": (max(times) - min(times)) / middle, "repetitions": repetitions, "first_call": first - middle,
                      "voxels_per_second": n**3 / middle, "dtype": str(host.dtype), "size": [n] * 3, "patch_size": s,
                      "patch_distance": d, "version": spinloom.info()["version"]}), flush=True)


host = volume()
report("numpy_to_numpy", host, lambda a: a, lambda: None)
try:
    import cupy
except (ImportError, OSError) as missing:
    print(f"CuPy is skipped: {missing}", file=sys.stderr)
else:
    report("cupy_to_cupy", cupy.asarray(host), cupy.asnumpy, cupy.cuda.Device().synchronize)
try:
    import torch
except (ImportError, OSError) as missing:
    print(f"PyTorch is skipped: {missing}", file=sys.stderr)
else:
    report("torch_to_torch", torch.from_numpy(host).cuda(), lambda a: a.cpu().numpy(), torch.cuda.synchronize)
