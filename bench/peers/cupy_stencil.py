"""CuPy (PyPI: cupy-cuda12x, cupy-cuda13x) on the 7-point problem of `spinloom bench stencil --device cuda`, in turns:
cupy_stencil.py [SPINLOOM].

Four ways that a user has: sums of slices, the same in `cupy.fuse`, `cupyx.scipy.ndimage.convolve`, and an
`ElementwiseKernel` that reads its neighbours by itself, which is CuPy's best. Each one's answer is checked on a small grid
first. One JSON line for each type and way, with the ratios of our one step at a time and of several steps in a pass.
"""
import functools
import json
import statistics
import subprocess
import sys

import numpy as np

try:
    import cupy as cp
    import cupyx.scipy.ndimage
except (ImportError, OSError) as missing:
    sys.exit(f"skipped: {missing}; install cupy to compare with it")

SPINLOOM = sys.argv[1] if len(sys.argv) > 1 else "spinloom"
CENTRE, SIDE, ROUNDS, REPETITIONS = 0.4, 0.1, 3, 4
SIZES = {"float32": 1024, "float64": 768}


def pieces(u):
    """The points within the rim, and their six neighbours."""
    inner = slice(1, -1)
    neighbours = [(b, inner, inner) for b in (slice(None, -2), slice(2, None))]
    neighbours += [(inner, b, inner) for b in (slice(None, -2), slice(2, None))]
    neighbours += [(inner, inner, b) for b in (slice(None, -2), slice(2, None))]
    return u[inner, inner, inner], [u[n] for n in neighbours]


def slices(u, v):
    centre, n = pieces(u)
    v[1:-1, 1:-1, 1:-1] = CENTRE * centre + SIDE * (n[0] + n[1] + n[2] + n[3] + n[4] + n[5])


@cp.fuse()
def combined(centre, a, b, c, d, e, f):
    return CENTRE * centre + SIDE * (a + b + c + d + e + f)


def fused(u, v):
    centre, n = pieces(u)
    v[1:-1, 1:-1, 1:-1] = combined(centre, *n)


def convolve(u, v):
    weights = np.zeros((3, 3, 3), u.dtype)
    weights[1, 1] = weights[1, :, 1] = weights[:, 1, 1] = SIDE
    weights[1, 1, 1] = CENTRE
    cupyx.scipy.ndimage.convolve(u, cp.asarray(weights), output=v, mode="constant")


@functools.cache
def kernel():
    return cp.ElementwiseKernel(
        "raw T u, int32 n, int32 m", "T v",
        """const int x = i % n; const int y = i / n % n; const int z = i / n / n;
           if (x > 0 && y > 0 && z > 0 && x < m && y < m && z < m)
             v = T(0.4) * u[i] + T(0.1) * (u[i - 1] + u[i + 1] + u[i - n] + u[i + n] + u[i - n * n] + u[i + n * n]);""",
        "seven_points")


def elementwise(u, v):
    kernel()(u, np.int32(u.shape[0]), np.int32(u.shape[0] - 1), v)


WAYS = {"slices": slices, "fuse": fused, "ndimage.convolve": convolve, "ElementwiseKernel": elementwise}


def error_of(way, dtype):
    u = np.random.default_rng(1).standard_normal((34, 34, 34))
    centre, n = pieces(u)
    wanted = CENTRE * centre + SIDE * sum(n)
    v = cp.zeros(u.shape, dtype)
    way(cp.asarray(u.astype(dtype)), v)
    return float(np.abs(cp.asnumpy(v)[1:-1, 1:-1, 1:-1] - wanted).max() / np.abs(wanted).max())


def seconds(way, u, v):
    times = []
    for _ in range(REPETITIONS):
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        begin.record()
        way(u, v)
        end.record()
        end.synchronize()
        times.append(cp.cuda.get_elapsed_time(begin, end) * 1e-3)
    return statistics.median(times[1:])


def ours(size):
    run = subprocess.run([SPINLOOM, "bench", "stencil", "--device", "cuda", "--json", "--quiet",
                          "--matrix", f"{size},{size},{size}"], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


def main():
    for name, size in SIZES.items():
        errors = {way: error_of(WAYS[way], name) for way in WAYS}
        theirs, mine, schedules = {way: [] for way in WAYS}, {"spatial": [], "overlapped": []}, {}
        for _ in range(ROUNDS):
            run = ours(size)
            for figure in run["figures"]:
                if figure["dtype"] == name and figure["name"] in mine:
                    mine[figure["name"]].append(figure["seconds"])
                    schedules[figure["name"]] = figure["schedule"]
            u, v = cp.random.random((size,) * 3).astype(name), cp.zeros((size,) * 3, name)
            for way in WAYS:
                theirs[way].append(seconds(WAYS[way], u, v))
            del u, v
            cp.get_default_memory_pool().free_all_blocks()
        for way, times in theirs.items():
            print(json.dumps({
                "bench": "peers/cupy_stencil", "device": "cuda:0",
                "machine": cp.cuda.runtime.getDeviceProperties(0)["name"].decode(), "name": "7-point",
                "peer": f"cupy {cp.__version__}, {way}", "dtype": name, "size": [size] * 3,
                "peer_glups": size**3 / statistics.median(times) * 1e-9, "peer_relative_error": errors[way],
                "rounds": ROUNDS, "schedules": schedules,
                **{f"glups_{kind}": size**3 / statistics.median(s) * 1e-9 for kind, s in mine.items()},
                **{f"ratio_{kind}": statistics.median(b / a for a, b in zip(s, times)) for kind, s in mine.items()},
                "commit": run["machine"]["commit"]}), flush=True)


if __name__ == "__main__":
    main()
