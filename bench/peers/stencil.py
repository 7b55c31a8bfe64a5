#!/usr/bin/env python3
"""Times the 7-point stencil of Devito, pystencils and Halide in turns with ours, one JSON line each.

Run by hand:  SPINLOOM=build/release/spinloom python3 bench/peers/stencil.py --settings /tmp/chosen.json
What is not installed is skipped, in words; Halide's header and library are looked for under HALIDE_PREFIX, else /usr.
Every peer's answer is checked on a small grid. Each one's settings are tried first, and the fastest is timed;
a file named by --settings keeps them, so that a second run has only to time.
Ours are the two schedules that `spinloom bench stencil` times: one step per pass, and several.
"""
import argparse
import glob
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

SPINLOOM = os.environ.get("SPINLOOM", "spinloom")
parser = argparse.ArgumentParser(description="7-point stencils of others, in turns with ours")
parser.add_argument("--size", type=int, default=512, help="points along each axis")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--types", nargs="+", choices=["float", "double"], default=["float", "double"])
parser.add_argument("--settings", help="JSON file of the settings that were found best; written where they are not known")
parser.add_argument("--search-size", type=int, help="points along each axis where settings are tried; as --size")
parser.add_argument("--search-only", action="store_true", help="find the settings and time nothing")
asked = parser.parse_args()
SIZE, ROUNDS, TYPES = asked.size, asked.rounds, asked.types
SEARCHED = asked.search_size or SIZE
CENTRE, SIDE = 0.4, 0.1
STEPS = 12


def start(n):
    k, j, i = np.ogrid[:n, :n, :n]
    return 1 + 0.01 * ((7 * k + 3 * j + i) % 101)


def expected(n, steps):
    u = np.pad(start(n), 1)
    for _ in range(steps):
        sides = u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1]
        u[1:-1, 1:-1, 1:-1] = CENTRE * u[1:-1, 1:-1, 1:-1] + SIDE * (sides + u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:])
    return u[1:-1, 1:-1, 1:-1]


class Devito:
    """Loop blocks by its own search ('aggressive'), OpenMP, the compiler's vectors."""

    def __init__(self):
        os.environ.setdefault("DEVITO_LOGGING", "ERROR")
        import devito

        self.devito, self.version = devito, f"devito {devito.__version__}"
        devito.configuration["language"] = "openmp"
        devito.configuration["log-level"] = "ERROR"

    def settings(self):
        return [{"opt": "advanced"}, {"opt": "advanced", "autotune": "aggressive"}]

    def prepare(self, n, dtype, setting):
        d = self.devito
        grid = d.Grid(shape=(n, n, n), dtype=dtype)
        u = d.TimeFunction(name="u", grid=grid, space_order=2, time_order=1)
        t, (x, y, z) = grid.stepping_dim, grid.dimensions
        sides = u[t, x, y, z - 1] + u[t, x, y, z + 1] + u[t, x, y - 1, z] + u[t, x, y + 1, z]
        sum6 = sides + u[t, x - 1, y, z] + u[t, x + 1, y, z]
        operator = d.Operator([d.Eq(u[t + 1, x, y, z], CENTRE * u[t, x, y, z] + SIDE * sum6)], opt=setting["opt"])
        u.data[0] = start(n)
        self.u, options = u, {k: v for k, v in setting.items() if k != "opt"}
        if options:
            operator.apply(time_m=0, time_M=1, **options)  # the search; its blocks are kept
            u.data[0] = start(n)
        return lambda steps: operator.apply(time_m=0, time_M=steps - 1)

    def result(self, steps):
        return np.array(self.u.data[steps % 2])


class Pystencils:
    """Its own vectors for each instruction set, with and without stores past the caches, blocked or not."""

    def __init__(self):
        import pystencils

        self.ps, self.version = pystencils, f"pystencils {pystencils.__version__}"

    def settings(self):
        targets = [t for t in ("X86_AVX512", "X86_AVX") if hasattr(self.ps.Target, t)]
        return [{"target": t, "nontemporal": nt, "blocks": b} for t in targets for nt in (False, True) for b in (None, [8, 32, 4096])]

    def prepare(self, n, dtype, setting):
        ps = self.ps
        # Rows begin on a vector, as stores past the caches need.
        row = (n + 2 + 31) // 32 * 32

        def grid():
            memory = np.zeros((n + 2) * (n + 2) * row + 64, dtype)
            first = (64 - memory.ctypes.data % 64) // memory.itemsize % 64 + 64 // memory.itemsize - 1
            return memory[first : first + (n + 2) * (n + 2) * row].reshape(n + 2, n + 2, row)[:, :, : n + 2]

        self.arrays = [grid(), grid()]
        a, b = (ps.Field.create_from_numpy_array(name, u) for name, u in zip(("a", "b"), self.arrays))
        sides = a[0, 0, -1] + a[0, 0, 1] + a[0, -1, 0] + a[0, 1, 0] + a[-1, 0, 0] + a[1, 0, 0]
        config = ps.CreateKernelConfig(target=getattr(ps.Target, setting["target"]))
        config.cpu.openmp.enable = True
        config.cpu.vectorize.enable = True
        config.cpu.vectorize.assume_inner_stride_one = True
        if setting["nontemporal"]:
            config.cpu.vectorize.assume_aligned = True
            config.cpu.vectorize.use_nontemporal_stores = True
        if setting["blocks"]:
            config.cpu.loop_blocking = tuple(setting["blocks"])
        typed = ps.Assignment(b[0, 0, 0], CENTRE * a[0, 0, 0] + SIDE * sides)
        kernel = ps.create_kernel(typed, config).compile()
        self.arrays[0][1:-1, 1:-1, 1:-1] = start(n)

        def run(steps):
            for step in range(steps):
                kernel(a=self.arrays[step % 2], b=self.arrays[1 - step % 2])

        return run

    def result(self, steps):
        return np.array(self.arrays[steps % 2][1:-1, 1:-1, 1:-1])


class Halide:
    """Parallel blocks in vectors, one to four steps fused in sliding windows."""

    def __init__(self):
        prefix = pathlib.Path(os.environ.get("HALIDE_PREFIX", "/usr"))
        # Not by "**", which follows the links of /usr/lib in circles.
        headers = [h for at in ("include", "include/*") for h in glob.glob(str(prefix / at / "Halide.h"))]
        libraries = [h for at in ("lib", "lib/*") for h in glob.glob(str(prefix / at / "libHalide*.so*"))]
        if not headers or not libraries or not shutil.which("g++"):
            raise ImportError("Halide")
        self.version = "Halide 14"
        folder = os.path.dirname(libraries[0])
        self.program = os.path.join(tempfile.mkdtemp(), "stencil_halide")
        source = pathlib.Path(__file__).with_name("stencil_halide.cpp")
        subprocess.run(["g++", "-std=c++17", "-O2", "-w", f"-I{os.path.dirname(headers[0])}", str(source), "-o", self.program,
                        libraries[0], f"-Wl,-rpath,{folder}", f"-Wl,-rpath-link,{folder}", "-lpthread", "-ldl"], check=True)
        self.environment = {**os.environ, "LD_LIBRARY_PATH": folder}

    def settings(self):
        return [{"rows": r, "planes": p, "fused": f} for r, p, f in
                ((32, 64, 1), (64, 128, 1), (64, 128, 2), (32, 128, 3), (64, 256, 3), (64, 256, 4), (128, 256, 6))]

    def command(self, n, dtype, setting, steps, *more):
        sizes = [min(setting["rows"], n), min(setting["planes"], n), setting["fused"]]
        steps = -(-steps // setting["fused"]) * setting["fused"]
        name = "float" if dtype == np.float32 else "double"
        return subprocess.run([self.program, *map(str, (n, name, steps, *sizes)), *more], check=True, capture_output=True,
                              text=True, env=self.environment).stdout

    def prepare(self, n, dtype, setting):
        self.at = (n, dtype, setting)
        return lambda steps: float(self.command(n, dtype, setting, steps))

    def result(self, steps):
        with tempfile.NamedTemporaryFile() as file:
            n, dtype, setting = self.at
            self.command(n, dtype, setting, steps, file.name)
            return np.fromfile(file.name, dtype).reshape(n, n, n)


def seconds(run, steps):
    """Per step. A peer that times itself returns its own."""
    begin = time.perf_counter()
    own = run(steps)
    return own if isinstance(own, float) else (time.perf_counter() - begin) / steps


def checked(peer, dtype, setting):
    """The largest relative error on a small grid."""
    run = peer.prepare(48, dtype, setting)
    if not isinstance(peer, Halide):
        run(STEPS)
    wanted = expected(48, STEPS)
    return float(np.abs(peer.result(STEPS) - wanted).max() / np.abs(wanted).max())


def best(peer, dtype, known):
    """The fastest setting and its error; those that the peer refuses are left out."""
    key, tried = f"{peer.version} {np.dtype(dtype).name}", []
    settings = [known[key]] if key in known else peer.settings()
    for setting in settings:
        try:
            error = checked(peer, dtype, setting)
            if error > (1e-5 if dtype == np.float32 else 1e-13):
                print(f"{peer.version} {setting}: wrong by {error:.1e}, left out", file=sys.stderr)
                continue
            if len(settings) == 1:
                tried.append((0, setting, error))
                continue
            run = peer.prepare(SEARCHED, dtype, setting)
            seconds(run, 2)
            tried.append((min(seconds(run, STEPS // 2) for _ in range(2)), setting, error))
            print(f"{peer.version} {setting}: {SEARCHED**3 / tried[-1][0] * 1e-9:.2f} GLUP/s", file=sys.stderr)
        except Exception as reason:  # noqa: BLE001
            print(f"{peer.version} {setting}: {str(reason).splitlines()[0] if str(reason) else reason!r}", file=sys.stderr)
    if not tried:
        return None
    _, setting, error = min(tried, key=lambda t: t[0])
    known[key] = setting
    return setting, error


def command(*words):
    return json.loads(subprocess.run([SPINLOOM, *words, "--json", "--quiet"], check=True, capture_output=True, text=True).stdout)


def main():
    peers = []
    for kind in (Devito, Pystencils, Halide):
        try:
            peers.append(kind())
        except ImportError:
            print(f"{kind.__name__} is not installed, skipped", file=sys.stderr)
    known = {}
    if asked.settings and pathlib.Path(asked.settings).exists():
        known = json.loads(pathlib.Path(asked.settings).read_text())
    small = command("bench", "stencil", "--stencil", "7-point", "--matrix", "64,64,64", "--repetitions", "1")
    for name in TYPES:
        dtype = np.float32 if name == "float" else np.float64
        schedules = {}
        rivals = [(p, *found) for p in peers if (found := best(p, dtype, known))]
        if asked.settings:
            pathlib.Path(asked.settings).write_text(json.dumps(known, indent=1))
        if asked.search_only:
            continue
        rivals = [(p, p.prepare(SIZE, dtype, setting), setting, error) for p, setting, error in rivals]
        for _, run, _, _ in rivals:
            seconds(run, STEPS)
        ours, theirs = {"spatial": [], "temporal": []}, {p.version: [] for p, *_ in rivals}
        for _ in range(ROUNDS):
            figures = command("bench", "stencil", "--stencil", "7-point", "--matrix", ",".join([str(SIZE)] * 3),
                              "--repetitions", "1")["figures"]
            for figure in figures:
                if figure["dtype"] == np.dtype(dtype).name and figure["name"] in ours:
                    ours[figure["name"]].append(figure["seconds"])
                    schedules[figure["name"]] = figure["schedule"]
            for peer, run, _, _ in rivals:
                theirs[peer.version].append(seconds(run, STEPS))
        for peer, _, setting, error in rivals:
            mine = theirs[peer.version]
            print(json.dumps({
                "bench": "peers/stencil", "name": "7-point", "peer": peer.version, "peer_settings": setting,
                "dtype": np.dtype(dtype).name, "size": [SIZE] * 3, "peer_glups": SIZE**3 / statistics.median(mine) * 1e-9,
                "peer_relative_error": error, "rounds": ROUNDS,
                "schedules": schedules,
                **{f"glups_{kind}": SIZE**3 / statistics.median(s) * 1e-9 for kind, s in ours.items()},
                **{f"ratio_{kind}": statistics.median(b / a for a, b in zip(s, mine)) for kind, s in ours.items()},
                "threads": small["machine"]["threads"], "commit": small["machine"]["commit"]}), flush=True)


if __name__ == "__main__":
    main()
