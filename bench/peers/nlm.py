#!/usr/bin/env python3
"""Times the non-local means of scikit-image and DIPY on the volume of `spinloom bench nlm`, one JSON line each.

Run by hand:  python3 bench/peers/nlm.py [SIZE [PATCH_SIZE PATCH_DISTANCE]]
A package that is not installed is skipped, in words.
"""
import json
import sys
import time

import numpy as np

n = int(sys.argv[1]) if len(sys.argv) > 1 else 64
s, d = (int(sys.argv[2]), int(sys.argv[3])) if len(sys.argv) > 3 else (3, 3)
i = np.indices((n, n, n))
ball = ((2 * i / n - 1) ** 2).sum(0) < 0.5
noise = np.random.default_rng(1).normal(0, 0.05, (n, n, n))
volume = (0.5 + 0.3 * np.sin(i.sum(0) / 9) + 0.2 * ball + noise).astype(np.float32)


def report(name, version, run, **more):
    start, cpu = time.perf_counter(), time.process_time()
    run()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(json.dumps({"name": name, "version": version, "seconds": seconds, "cpu_seconds": cpu, "repetitions": 1,
                      "voxels_per_second": n**3 / seconds, "voxels_per_cpu_second": n**3 / cpu, "dtype": "float32",
                      "size": [n, n, n], "patch_size": s, "patch_distance": d, **more}), flush=True)


try:
    import skimage
    from skimage.restoration import denoise_nl_means
except ImportError:
    print("scikit-image is not installed, skipped", file=sys.stderr)
else:
    for name, fast, h in (("scikit_image_fast", True, 0.04), ("scikit_image_classic", False, 0.03)):
        report(name, skimage.__version__,
               lambda: denoise_nl_means(volume, patch_size=s, patch_distance=d, h=h, sigma=0.05, fast_mode=fast))

try:
    import dipy
    from dipy.denoise.nlmeans import nlmeans
except ImportError:
    print("DIPY is not installed, skipped", file=sys.stderr)
else:
    for threads in (1, 2):
        report(f"dipy_nlmeans_{threads}_threads", dipy.__version__,
               lambda: nlmeans(volume, sigma=0.05, patch_radius=s // 2, block_radius=d, rician=False,
                               num_threads=threads))
