"""cuFINUFFT (PyPI: cufinufft) on the problem of `spinloom bench nufft --device cuda`: cufinufft_nufft.py [SPINLOOM].

Prints one JSON line per type and tolerance: both medians (cuFINUFFT's on the GPU's own clock, ours on the wall), both
relative L2 errors against sums in double on a random subset, and the ratio. cuFINUFFT runs the fastest of its methods and
grids whose error is at most twice the tolerance; ours at the loosest tolerance that leaves an error no larger than
cuFINUFFT's. Plans and sorted points are kept by both, as in an iterative reconstruction, and both transform all coils in
one call.
"""
import itertools
import json
import statistics
import subprocess
import sys
import time

try:
    import cufinufft
    import cupy as cp
except (ImportError, OSError) as missing:
    sys.exit(f"skipped: {missing}; install cufinufft and cupy to compare with cuFINUFFT")

SPINLOOM = sys.argv[1] if len(sys.argv) > 1 else "spinloom"
SHAPE, SAMPLES, COILS, ROUNDS, REPETITIONS, CHECKED = (128, 128, 128), 1_000_000, 8, 2, 15, 100
TOLERANCES = (1e-3, 1e-4)
TIGHTER = (1, 0.7, 0.5, 0.35, 0.25)  # shares of a tolerance that ours is tried at
START = time.time()


def say(text):
    print(f"# {time.time() - START:5.1f} s  {text}", file=sys.stderr, flush=True)


class Exact:
    """Sums in double of the last coil at random outputs."""

    def __init__(self, k, given):
        wide = [x.astype(cp.float64) for x in k]
        axes = [cp.arange(n) - n // 2 for n in SHAPE]
        voxels = [cp.random.randint(n, size=CHECKED) for n in SHAPE]
        samples = cp.random.randint(SAMPLES, size=CHECKED)
        y, x = given["type1"][-1].astype(cp.complex128), given["type2"][-1].astype(cp.complex128)
        self.at = {"type1": tuple(voxels), "type2": (samples,)}
        rows = []
        for at in zip(*[v.tolist() for v in voxels]):
            rows.append((y * cp.exp(1j * sum(a[i] * w for a, i, w in zip(axes, at, wide)))).sum())
        waves = [cp.exp(-1j * cp.outer(w[samples], a)) for a, w in zip(axes, wide)]
        part = cp.einsum("zyx,mx->mzy", x, waves[2])
        part = (part * waves[1][:, None, :]).sum(axis=2)
        self.sums = {"type1": cp.array(rows), "type2": (part * waves[0]).sum(axis=1)}

    def error(self, kind, result):
        got, exact = result[-1][self.at[kind]], self.sums[kind]
        return float(cp.linalg.norm(got - exact) / cp.linalg.norm(exact))


def milliseconds(work, repetitions):
    times = []
    for _ in range(repetitions):
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(cp.cuda.get_elapsed_time(begin, end))
    return times


def problem():
    cp.random.seed(1)
    k = [cp.random.uniform(-cp.pi, cp.pi, SAMPLES, dtype=cp.float32) for _ in SHAPE]

    def draw(shape):
        return (cp.random.standard_normal(shape, dtype=cp.float32)
                + 1j * cp.random.standard_normal(shape, dtype=cp.float32)).astype(cp.complex64)

    return k, {"type1": draw((COILS, SAMPLES)), "type2": draw((COILS, *SHAPE))}


def peer_plan(kind, k, asked, method, upsampling):
    plan = cufinufft.Plan(1 if kind == "type1" else 2, SHAPE, n_trans=COILS, eps=asked,
                          isign=1 if kind == "type1" else -1, dtype="complex64", gpu_method=method,
                          upsampfac=upsampling)
    plan.setpts(*k)
    return plan


def best_of_peer(kind, tolerance, k, given, exact):
    """The fastest of every method and grid: (milliseconds, error, description, plan).

    Some miss the tolerance that they are given by far; those are asked for a third of it as well.
    """
    best = None
    for method, upsampling in itertools.product((0, 1, 2, 3, 4), (2.0, 1.25)):
        for asked in (tolerance, tolerance / 3):
            try:
                plan = peer_plan(kind, k, asked, method, upsampling)
                result = plan.execute(given)
                spent = min(milliseconds(lambda: plan.execute(given), 3))
            except RuntimeError as refused:
                say(f"{kind} {tolerance:g} method {method}, upsampling {upsampling:g}: {refused}")
                break
            error = exact.error(kind, result)
            name = f"method {method}, upsampling {upsampling:g}, eps {asked:.1e}"
            say(f"{kind} {tolerance:g} {name}: {spent:.3f} ms, error {error:.2g}")
            if error <= 2 * tolerance:  # what our own figures must keep to as well
                if best is None or spent < best[0]:
                    best = (spent, error, name, plan)
                break
    return best


def ours(tolerances, repetitions):
    run = subprocess.run([SPINLOOM, "bench", "nufft", "--device", "cuda", "--json", "--quiet", "--coils", str(COILS),
                          "--samples", str(SAMPLES), "--matrix", ",".join(map(str, SHAPE)), "--tolerance",
                          ",".join(f"{t:g}" for t in tolerances), "--repetitions", str(repetitions)],
                         check=True, capture_output=True, text=True)
    run = json.loads(run.stdout)
    for figure in run["figures"]:
        say(f"ours: {figure['name']} {figure['tolerance']:g}: {1e3 * figure['seconds']:.3f} ms, "
            f"error {figure['relative_error']:.2g}")
    return run


def main():
    k, given = problem()
    exact = Exact(k, given)
    say("sums in double")
    peers = {(kind, tolerance): best_of_peer(kind, tolerance, k, given[kind], exact)
             for tolerance in TOLERANCES for kind in ("type1", "type2")}
    tried = ours([share * tolerance for tolerance in TOLERANCES for share in TIGHTER], 5)["figures"]
    chosen = {}
    for (kind, tolerance), peer in peers.items():
        if peer is None:
            continue
        good = [f for f in tried if f["name"] == kind and f["tolerance"] <= 1.001 * tolerance
                and f["relative_error"] <= peer[1]]
        if good:
            chosen[kind, tolerance] = min(good, key=lambda f: f["seconds"])["tolerance"]
    times, figures = {}, {}
    for _ in range(ROUNDS):
        run = ours(sorted(set(chosen.values())), REPETITIONS)
        for key, asked in chosen.items():
            figures.setdefault(key, []).extend(
                f for f in run["figures"] if (f["name"], f["tolerance"]) == (key[0], asked))
            plan = peers[key][3]
            times.setdefault(key, []).extend(milliseconds(lambda: plan.execute(given[key[0]]), REPETITIONS))
    for (kind, tolerance), mine in figures.items():
        seconds = statistics.median(f["seconds"] for f in mine)
        peer = statistics.median(times[kind, tolerance]) * 1e-3
        _, error, name, _ = peers[kind, tolerance]
        print(json.dumps({
            "bench": "peers/cufinufft", "device": run["device"],
            "machine": cp.cuda.runtime.getDeviceProperties(0)["name"].decode(), "commit": run["machine"]["commit"],
            "name": kind, "tolerance": tolerance, "asked_tolerance": chosen[kind, tolerance], "seconds": seconds,
            "relative_error": max(f["relative_error"] for f in mine),
            "peer": f"cufinufft {cufinufft.__version__}, {name}", "peer_seconds": peer, "peer_relative_error": error,
            "ratio": peer / seconds, "size": SHAPE, "samples": SAMPLES, "coils": COILS, "dtype": "float32"}))


if __name__ == "__main__":
    main()
