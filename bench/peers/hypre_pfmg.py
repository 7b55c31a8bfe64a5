"""hypre's PFMG on the problem of `spinloom bench poisson`, in turns with it: hypre_pfmg.py [SPINLOOM [HYPRE_PFMG]].

HYPRE_PFMG is the program that `ninja hypre_pfmg` builds where libhypre and MPI are installed (by default beside
spinloom). As many ranks as spinloom has threads. Prints one JSON line: both medians, their ratio and the answers' gap.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys

SPINLOOM = sys.argv[1] if len(sys.argv) > 1 else "spinloom"
PEER = sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.path.dirname(shutil.which(SPINLOOM) or SPINLOOM), "hypre_pfmg")
SIZE, RANKS, ROUNDS = int(os.environ.get("SIZE", 256)), 2, 2


def main():
    if not os.path.exists(PEER) or not shutil.which("mpirun"):
        sys.exit("skipped: no hypre_pfmg; install libhypre-dev and an MPI, and build the target hypre_pfmg")
    environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    ours, theirs = [], []
    for _ in range(ROUNDS):
        run = subprocess.run(["mpirun", "-np", str(RANKS), PEER, str(SIZE), "1e-8", "1"], env=environment, check=True,
                             capture_output=True, text=True)
        theirs.append(json.loads(run.stdout))
        run = subprocess.run([SPINLOOM, "bench", "poisson", "--json", "--quiet", "--threads", str(RANKS), "--matrix",
                              f"{SIZE},{SIZE},{SIZE}", "--repetitions", "3"], check=True, capture_output=True, text=True)
        ours.append(json.loads(run.stdout)["figures"][0])
    gap = abs(ours[0]["answer"] / theirs[0]["answer"] - 1)
    if gap > 1e-6:
        sys.exit(f"the answers differ: {ours[0]['answer']} and {theirs[0]['answer']}")
    mine, peer = (statistics.median(r["seconds"] for r in runs) for runs in (ours, theirs))
    print(json.dumps({"peer": theirs[0], "ours": {k: ours[0][k] for k in ("cycles", "residual", "sweeps_per_cycle")},
                      "seconds": mine, "peer_seconds": peer, "ratio": peer / mine, "gap": gap}))


main()
