// Multigrid for Poisson's equation: what src/stencil/multigrid/passes.cpp does, to the bit. Fields lie as there: the even
// points of a row in one run of memory, the odd ones in another, a cell of zeros (or the other end of a periodic axis) all
// round. REAL is float or double.

#include "multigrid_points.cuh"
#include "multigrid_steps.cuh"
#include "multigrid_sums.cuh"
#include "multigrid_team.cuh"
