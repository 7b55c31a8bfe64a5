#!/usr/bin/env python3
"""Filters a memory-mapped volume larger than the GPU's free memory into another one, and compares the bits with parts that fit.

Run by hand:  python3 bench/nlm_large.py FOLDER [PLANES [FREE_GIB]]
Volumes of PLANES x 1400 x 1400 float32 (1500: 11.8 GB each) are written to FOLDER, and stay there. Another process takes the
GPU's memory but for FREE_GIB (4). The line's `host_anonymous_bytes` is the most memory of its own that the filtering process
held, `host_pinned_bytes` what copies pass through; pages of both files are the page cache's, whoever maps them.
"""
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

edge, options = 1400, {"patch_size": 3, "patch_distance": 3, "h": 0.04, "sigma": 0.05}
margin = 6  # planes that a voxel's search and patch reach, and more

OCCUPY = """
import ctypes, sys
cuda, number = ctypes.CDLL("libcuda.so.1"), ctypes.c_size_t
device, context, free, total, data = ctypes.c_int(), ctypes.c_void_p(), number(), number(), ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuDeviceGet(ctypes.byref(device), 0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
cuda.cuCtxSetCurrent(context)
cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
cuda.cuMemAlloc_v2(ctypes.byref(data), number(max(0, free.value - int(float(sys.argv[1]) * 2**30))))
cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
print(free.value, total.value, flush=True)
sys.stdin.read()
"""

FILTER = """
import json, sys, threading, time
import numpy as np, spinloom
options = json.loads(sys.argv[3])
def held(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(name))
image = np.load(sys.argv[1], mmap_mode="r")
result = np.lib.format.open_memmap(sys.argv[2], mode="w+", dtype=image.dtype, shape=image.shape)
spinloom.denoise_nl_means(np.ascontiguousarray(image[:2, :64, :64]), **options, device="cuda")  # compiled
most, is_done = [0], threading.Event()
def watch():
    while not is_done.wait(0.02):
        most[0] = max(most[0], held("RssAnon"))
watcher = threading.Thread(target=watch)
watcher.start()
start = time.perf_counter()
spinloom.denoise_nl_means(image, **options, device="cuda", out=result)
seconds = time.perf_counter() - start
is_done.set()
watcher.join()
print(json.dumps({"seconds": seconds, "host_anonymous_bytes": most[0], "host_pinned_bytes": held("RssShmem"),
                  "voxels_per_second": image.size / seconds, "version": spinloom.info()["version"]}))
"""


def write_volume(path, planes):
    """A wave and noise, of which each plane is another one of 48 and moved by another distance."""
    image = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(planes, edge, edge))
    wave = (0.5 + 0.3 * np.sin(np.add.outer(np.arange(edge), np.arange(edge)) / 9)).astype(np.float32)
    random = np.random.default_rng()
    noise = [r.standard_normal((edge, edge), dtype=np.float32) * np.float32(0.05) for r in random.spawn(48)]
    which, moved = random.integers(0, 48, planes), random.integers(1, edge, planes)

    def write(z):
        k = moved[z]
        np.add(wave[:, k:], noise[which[z]][:, :-k], out=image[z, :, k:])
        np.add(wave[:, :k], noise[which[z]][:, -k:], out=image[z, :, :k])

    with ThreadPoolExecutor() as threads:
        list(threads.map(write, range(planes)))


def differing_voxels(source, result, device, parts, thickness):
    import spinloom

    image, filtered = np.load(source, mmap_mode="r"), np.load(result, mmap_mode="r")
    planes = len(image)
    begins = {0, planes - thickness, *np.random.default_rng().integers(0, planes - thickness, parts).tolist()}
    differing = 0
    for begin in begins:
        low, high = max(0, begin - margin), min(planes, begin + thickness + margin)
        exact = spinloom.denoise_nl_means(np.ascontiguousarray(image[low:high]), **options, device=device)
        exact = exact[begin - low :][:thickness]
        differing += int((exact.view(np.uint32) != filtered[begin : begin + thickness].view(np.uint32)).sum())
    return differing, len(begins) * thickness


def main():
    folder = sys.argv[1]
    planes = int(sys.argv[2]) if len(sys.argv) > 2 else 1500
    source, result = os.path.join(folder, "volume.npy"), os.path.join(folder, "filtered.npy")
    write_volume(source, planes)
    occupier = subprocess.Popen([sys.executable, "-c", OCCUPY, sys.argv[3] if len(sys.argv) > 3 else "4"],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    free, total = map(int, occupier.stdout.readline().split())
    run = subprocess.run([sys.executable, "-c", FILTER, source, result, json.dumps(options)], stdout=subprocess.PIPE, check=True)
    line = json.loads(run.stdout)
    begun = time.perf_counter()
    for device, parts, thickness in (("cuda", 16, 8), ("cpu", 1, 4)):
        differing, compared = differing_voxels(source, result, device, parts, thickness)
        if differing > 0:
            sys.exit(f"{differing} voxels of {compared} planes are not those that {device} gives for a part")
        line[f"planes_as_on_{device}"] = compared
    occupier.stdin.close()
    occupier.wait()
    print(json.dumps({"bench": "nlm_large", "name": "memmap_to_memmap", "device": "cuda:0", "dtype": "float32", "size": [planes, edge, edge], **line,
                      "image_bytes": planes * edge * edge * 4, "device_free_bytes": free, "device_bytes": total,
                      "check_seconds": time.perf_counter() - begun}))


main()
