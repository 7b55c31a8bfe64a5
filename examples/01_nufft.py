"""A non-uniform Fourier transform, checked against the exact sum.

    python examples/01_nufft.py

Prints the relative error for each tolerance asked for, and how far <A x, y> is from <x, A^H y>.
"""

import numpy as np
import spinloom

matrix = (64, 64)
trajectory = spinloom.trajectories.radial2d(matrix, spokes=101)  # [101, 128, 2], cycles per field of view
rng = np.random.default_rng(1)
image = rng.standard_normal(matrix) + 1j * rng.standard_normal(matrix)

exact = spinloom.nufft.forward(image, trajectory, exact=True)
for tolerance in (1e-3, 1e-6, 1e-9):
    fast = spinloom.nufft.forward(image, trajectory, tolerance=tolerance)
    error = np.linalg.norm(fast - exact) / np.linalg.norm(exact)
    print(f"asked for {tolerance:.0e}, relative error {error:.1e}")
    assert error < 2 * tolerance

# An operator is planned once and applied often; A.H is its exact conjugate transpose.
A = spinloom.Nufft(trajectory, matrix, tolerance=1e-6, dtype="complex128")
y = rng.standard_normal(A.range) + 1j * rng.standard_normal(A.range)
gap = abs(np.vdot(y, A @ image) - np.vdot(A.H @ y, image)) / (np.linalg.norm(A @ image) * np.linalg.norm(y))
print(f"adjoint gap {gap:.1e}")
assert gap < 1e-12
