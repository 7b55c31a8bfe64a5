"""CG-SENSE written out: simulate a noisy scan, make the encoding operator, solve the normal equations.

    python examples/03_sense_by_hand.py

Prints the convergence, and the error of the plain adjoint, of gridding and of the iterative image.
"""

import numpy as np
import spinloom

matrix = (96, 96)
trajectory = spinloom.trajectories.radial2d(matrix, spokes=60, golden=True)
scan = spinloom.simulate("shepp-logan", trajectory, matrix, coils=8, snr_db=30)
truth = scan.truth.astype("complex64")

# E is unitary-scaled: y = F s x / sqrt(voxels). The scan is not, so that y(0) is the sum of the voxels.
E = spinloom.Encoding(trajectory, scan.maps)
y = scan.kspace / np.float32(np.sqrt(truth.size))

# minimise |E x - y|^2 + lam |x|^2, lam relative to the largest eigenvalue of E^H E
lam = 2e-3 * spinloom.largest_eigenvalue(E.N)
x, info = spinloom.cg(E.N + lam * spinloom.Identity(E.domain), E.adjoint(y), tolerance=1e-3)
print(f"{info.iterations} iterations, residual {info.residual:.1e}: {info.reason}")

weights = spinloom.density_compensation(trajectory, matrix)
gridding = E.adjoint(y * weights.astype("float32"))
images = {"adjoint": E.adjoint(y), "gridding": gridding, "CG-SENSE": x}
error = {name: spinloom.compare(image, truth, scale=True).nrmse for name, image in images.items()}
for name, value in error.items():
    print(f"{name:10} NRMSE {value:.3f}")
assert info.converged and error["CG-SENSE"] < error["gridding"] < error["adjoint"]
