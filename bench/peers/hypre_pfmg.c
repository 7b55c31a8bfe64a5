/* hypre's PFMG on the problem of `spinloom bench poisson`, dirichlet: mpirun -np 2 hypre_pfmg N TOLERANCE ROUNDS
 *
 * A is what spinloom solves: cells with h = 1, u = 0 on faces half a cell outside. Tries red-black relaxations and both
 * coarse operators (or the pair RELAX RAP, given as two numbers more), and prints the fastest that converges as one JSON line: median seconds of the solution alone, those
 * of the setup, cycles, residual, and sum u f, by which the answers are compared. */
#include <HYPRE.h>
#include <HYPRE_struct_ls.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static double right_side(int64_t i) {
  return (double)(((uint64_t)i * 2654435761u >> 8) & 0xffff) / 65536 - 0.5;
}
static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  HYPRE_Init();
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int n = argc > 1 ? atoi(argv[1]) : 256, rounds = argc > 3 ? atoi(argv[3]) : 3;
  const double tolerance = argc > 2 ? atof(argv[2]) : 1e-8;
  int low[3] = {0, 0, (int)((int64_t)n * rank / ranks)}, high[3] = {n - 1, n - 1, (int)((int64_t)n * (rank + 1) / ranks) - 1};
  const int64_t cells = (int64_t)n * n * (high[2] - low[2] + 1), first = (int64_t)n * n * low[2];

  HYPRE_StructGrid grid;
  HYPRE_StructGridCreate(MPI_COMM_WORLD, 3, &grid);
  HYPRE_StructGridSetExtents(grid, low, high);
  HYPRE_StructGridAssemble(grid);
  HYPRE_StructStencil stencil;
  HYPRE_StructStencilCreate(3, 4, &stencil);
  int offsets[4][3] = {{0, 0, 0}, {-1, 0, 0}, {0, -1, 0}, {0, 0, -1}};
  for (int s = 0; s < 4; ++s) HYPRE_StructStencilSetElement(stencil, s, offsets[s]);
  HYPRE_StructMatrix a;
  HYPRE_StructMatrixCreate(MPI_COMM_WORLD, grid, stencil, &a);
  HYPRE_StructMatrixSetSymmetric(a, 1);
  HYPRE_StructMatrixInitialize(a);
  double* values = malloc(sizeof(double) * 4 * (size_t)cells);
  double* f = malloc(sizeof(double) * (size_t)cells);
  double* u = calloc((size_t)cells, sizeof(double));
  for (int64_t i = 0; i < cells; ++i) {
    const int64_t at = first + i;
    const int x = (int)(at % n), y = (int)(at / n % n), z = (int)(at / n / n);
    const int walls = (x == 0) + (x == n - 1) + (y == 0) + (y == n - 1) + (z == 0) + (z == n - 1);
    values[4 * i] = 6 + walls;
    values[4 * i + 1] = x == 0 ? 0 : -1;
    values[4 * i + 2] = y == 0 ? 0 : -1;
    values[4 * i + 3] = z == 0 ? 0 : -1;
    f[i] = right_side(at);
  }
  int entries[4] = {0, 1, 2, 3};
  HYPRE_StructMatrixSetBoxValues(a, low, high, 4, entries, values);
  HYPRE_StructMatrixAssemble(a);
  free(values);
  HYPRE_StructVector right, left;
  HYPRE_StructVectorCreate(MPI_COMM_WORLD, grid, &right);
  HYPRE_StructVectorInitialize(right);
  HYPRE_StructVectorSetBoxValues(right, low, high, f);
  HYPRE_StructVectorAssemble(right);
  HYPRE_StructVectorCreate(MPI_COMM_WORLD, grid, &left);
  HYPRE_StructVectorInitialize(left);
  HYPRE_StructVectorAssemble(left);

  double best = INFINITY;
  char line[512] = "{\"name\": \"hypre PFMG\", \"error\": \"nothing converged\"}";
  for (int relax = 2; relax <= 3; ++relax)
    for (int coarse = 0; coarse <= 1; ++coarse) {
      if (argc > 5 && (relax != atoi(argv[4]) || coarse != atoi(argv[5]))) continue;
      HYPRE_StructSolver solver;
      HYPRE_StructPFMGCreate(MPI_COMM_WORLD, &solver);
      HYPRE_StructPFMGSetMaxIter(solver, 100);
      HYPRE_StructPFMGSetTol(solver, tolerance);
      HYPRE_StructPFMGSetLogging(solver, 1); /* keeps the residual */
      HYPRE_StructPFMGSetRelaxType(solver, relax);
      HYPRE_StructPFMGSetRAPType(solver, coarse);
      HYPRE_StructPFMGSetSkipRelax(solver, 1);
      double start = MPI_Wtime();
      HYPRE_StructPFMGSetup(solver, a, right, left);
      const double setup = MPI_Wtime() - start;
      double times[64];
      const int runs = rounds > 64 ? 64 : rounds;
      for (int r = -1; r < runs; ++r) {
        HYPRE_StructVectorSetConstantValues(left, 0);
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        HYPRE_StructPFMGSolve(solver, a, right, left);
        MPI_Barrier(MPI_COMM_WORLD);
        if (r >= 0) times[r] = MPI_Wtime() - start;
      }
      qsort(times, (size_t)runs, sizeof(double), compare);
      int cycles;
      double residual, part = 0, answer;
      HYPRE_StructPFMGGetNumIterations(solver, &cycles);
      HYPRE_StructPFMGGetFinalRelativeResidualNorm(solver, &residual);
      HYPRE_StructVectorGetBoxValues(left, low, high, u);
      for (int64_t i = 0; i < cells; ++i) part += u[i] * f[i];
      MPI_Allreduce(&part, &answer, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      if (residual <= tolerance && times[runs / 2] < best) {
        best = times[runs / 2];
        snprintf(line, sizeof line,
                 "{\"name\": \"hypre PFMG\", \"relax\": %d, \"rap\": %d, \"size\": %d, \"ranks\": %d, \"seconds\": %.6g, "
                 "\"setup_seconds\": %.6g, \"cycles\": %d, \"residual\": %.3g, \"answer\": %.12g}",
                 relax, coarse, n, ranks, best, setup, cycles, residual, answer);
      }
      HYPRE_ClearAllErrors();
      HYPRE_StructPFMGDestroy(solver);
    }
  if (rank == 0) printf("%s\n", line);
  HYPRE_Finalize();
  MPI_Finalize();
  return 0;
}
