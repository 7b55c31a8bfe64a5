"""FINUFFT (PyPI: finufft) on the problem of `spinloom bench nufft`, in turns with it: finufft_nufft.py [SPINLOOM].

Prints one JSON line per type and tolerance: both medians, the ratio, FINUFFT's own relative L2 error against a sum in
double on a random subset. Plans and sorted points are kept by both, as in an iterative reconstruction.
"""
import json
import statistics
import subprocess
import sys
import time

try:
    import finufft
    import numpy as np
except ImportError as missing:
    sys.exit(f"skipped: {missing}; install finufft and numpy to compare with FINUFFT")

SPINLOOM = sys.argv[1] if len(sys.argv) > 1 else "spinloom"
SHAPE, SAMPLES, ROUNDS, REPETITIONS = (128, 128, 128), 1_000_000, 3, 3


def relative_error(kind, k, given, result, random):
    """Against the sum in double at 50 random outputs."""
    axes = [np.arange(n) - n // 2 for n in SHAPE]
    if kind == "type1":
        chosen = [random.integers(n, size=50) for n in SHAPE]
        exact = [given.astype(complex) @ np.exp(1j * sum(a[i] * x for a, i, x in zip(axes, at, k)))
                 for at in zip(*chosen)]
        got = result[tuple(chosen)]
    else:
        chosen = random.integers(SAMPLES, size=50)
        waves = [[np.exp(-1j * a * x[m]) for a, x in zip(axes, k)] for m in chosen]
        exact = [np.einsum("zyx,z,y,x", given.astype(complex), *w, optimize=True) for w in waves]
        got = result[chosen]
    return float(np.linalg.norm(got - exact) / np.linalg.norm(exact))


def main():
    random = np.random.default_rng()
    k = [random.uniform(-np.pi, np.pi, SAMPLES).astype(np.float32) for _ in SHAPE]
    samples = (random.normal(size=SAMPLES) + 1j * random.normal(size=SAMPLES)).astype(np.complex64)
    image = (random.normal(size=SHAPE) + 1j * random.normal(size=SHAPE)).astype(np.complex64)
    peers, times, ours = {}, {}, {}
    for tolerance in (1e-3, 1e-4, 1e-5):
        for kind, sign, given in (("type1", 1, samples), ("type2", -1, image)):
            plan = finufft.Plan(1 if kind == "type1" else 2, SHAPE, eps=tolerance, isign=sign, dtype="complex64")
            plan.setpts(*k)
            error = relative_error(kind, k, given, plan.execute(given), random)
            peers[kind, tolerance] = (plan, given, error)
    for _ in range(ROUNDS):
        run = subprocess.run([SPINLOOM, "bench", "nufft", "--device", "cpu", "--json", "--quiet", "--repetitions", str(REPETITIONS)],
                             check=True, capture_output=True, text=True)
        run = json.loads(run.stdout)
        for figure in run["figures"]:
            ours.setdefault((figure["name"], figure["tolerance"]), []).append(figure)
        for key, (plan, given, _) in peers.items():
            for _ in range(REPETITIONS):
                start = time.perf_counter()
                plan.execute(given)
                times.setdefault(key, []).append(time.perf_counter() - start)
    for (kind, tolerance), figures in ours.items():
        seconds = statistics.median(f["seconds"] for f in figures)
        peer = statistics.median(times[kind, tolerance])
        print(json.dumps({
            "bench": "peers/finufft", "name": kind, "tolerance": tolerance, "seconds": seconds,
            "relative_error": max(f["relative_error"] for f in figures), "peer": f"finufft {finufft.__version__}",
            "peer_seconds": peer, "peer_relative_error": peers[kind, tolerance][2], "ratio": peer / seconds,
            "threads": run["machine"]["threads"], "commit": run["machine"]["commit"],
            "size": SHAPE, "samples": SAMPLES, "dtype": "float32"}))


if __name__ == "__main__":
    main()
