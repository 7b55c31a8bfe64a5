"""CuPy (PyPI: cupy-cuda12x, cupy-cuda13x) on the problem of `spinloom bench normal --device cuda`:
cupy_toeplitz.py [SPINLOOM [SIZE]].

Prints one JSON line: both medians, the ratio, and CuPy's relative L2 error against the same convolution in double. CuPy
does what a user would write: images of all coils padded with zeros to twice the size, cupy.fft, times the real spectrum,
back, cropped; its plans are cached, as it does by itself.
"""
import json
import statistics
import subprocess
import sys

try:
    import cupy as cp
except (ImportError, OSError) as missing:
    sys.exit(f"skipped: {missing}; install cupy to compare with it")

SPINLOOM = sys.argv[1] if len(sys.argv) > 1 else "spinloom"
SIZE = int(sys.argv[2]) if len(sys.argv) > 2 else 128
COILS, ROUNDS, REPETITIONS = 8, 2, 10
AXES = (1, 2, 3)


def convolve(images, spectrum):
    grid = cp.fft.fftn(images, s=spectrum.shape, axes=AXES)
    grid *= spectrum
    return cp.fft.ifftn(grid, axes=AXES)[:, :SIZE, :SIZE, :SIZE].copy()


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


def spinloom_run():
    run = subprocess.run([SPINLOOM, "bench", "normal", "--device", "cuda", "--json", "--quiet", "--coils", str(COILS),
                          "--matrix", f"{SIZE},{SIZE},{SIZE}"], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


def main():
    cp.random.seed(1)
    shape = (COILS, SIZE, SIZE, SIZE)
    images = (cp.random.standard_normal(shape, dtype=cp.float32)
              + 1j * cp.random.standard_normal(shape, dtype=cp.float32)).astype(cp.complex64)
    spectrum = cp.random.uniform(0, 1, (2 * SIZE,) * 3, dtype=cp.float32)
    got = convolve(images, spectrum)[-1]
    exact = convolve(images[-1:].astype(cp.complex128), spectrum.astype(cp.float64))[0]
    error = float(cp.linalg.norm((got - exact).ravel()) / cp.linalg.norm(exact.ravel()))
    theirs, ours = [], []
    for _ in range(ROUNDS):
        theirs += milliseconds(lambda: convolve(images, spectrum), REPETITIONS)[1:]
        run = spinloom_run()
        ours += [figure for figure in run["figures"] if figure["name"] == "toeplitz"]
    seconds, peer = statistics.median(f["seconds"] for f in ours), statistics.median(theirs) * 1e-3
    print(json.dumps({
        "bench": "peers/cupy", "device": run["device"],
        "machine": cp.cuda.runtime.getDeviceProperties(0)["name"].decode(), "name": "toeplitz", "seconds": seconds,
        "relative_error": max(f["relative_error"] for f in ours), "peer": f"cupy {cp.__version__}, padded",
        "peer_seconds": peer, "peer_relative_error": error, "ratio": peer / seconds,
        "commit": run["machine"]["commit"], "size": shape[1:], "coils": COILS, "dtype": "float32"}))


if __name__ == "__main__":
    main()
