#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "spinloom/core/view.hpp"
#include "spinloom/ops/linear_operator.hpp"
#include "spinloom/stencil/boundary.hpp"

namespace spinloom::stencil {

/// The Poisson and the screened Poisson equation on a grid of cells, in 2D or 3D:
///
///   A u = -div(w grad u) + s u = f,   (A u)[n] = sum over faces of cell n: w / h^2 (u[n] - u[neighbour]) + s u[n]
///
/// Unknowns sit at the centres of cells, faces of the grid half a cell outside of the outermost ones.
template <class Real>
struct PoissonProblem {
  Shape shape;                  ///< [z, y, x] or [y, x]
  std::vector<double> spacing;  ///< h per axis [any unit]; empty: 1
  double screening = 0;         ///< s >= 0 [1 / unit^2]
  /// Faces of the grid, one per axis of the shape; empty: neumann(0) all round. dirichlet(v): u is v on the face;
  /// neumann(g): u rises by g per unit of length outwards; periodic on both faces of an axis.
  std::vector<Boundary> low, high;
  /// Of `shape`; empty: all cells. A cell with 0 takes no part: nothing flows into it, f there is not looked at,
  /// and u there becomes 0.
  std::vector<unsigned char> mask;
  /// [axes, shape..], empty: 1. Entry n along axis a is w between the cells n and n + e_a, >= 0; the last one along a
  /// periodic axis leads to the first cell, that of another axis is not looked at (the grid's own faces weigh 1).
  std::vector<Real> weights;
};

enum class PoissonStop { converged, stagnated, cycle_limit, observer };

struct PoissonResult {
  int cycles = 0;       ///< V-cycles done
  double residual = 0;  ///< |f - A u| / |f| of the u that is returned, computed from it afresh
  bool converged = false;
  PoissonStop stop = PoissonStop::converged;
  std::string reason;           ///< why it stopped, in words
  std::vector<double> history;  ///< relative residual at the start and after every cycle
  /// |part of f that no u can meet| / |f|: where s = 0 and a connected part of the grid touches no Dirichlet face,
  /// the mean of f over that part. It was taken away first; the relative residual is that of the rest.
  double removed = 0;
  Index singular_parts = 0;  ///< connected parts whose mean of u is free, and was made 0
};

struct PoissonOptions {
  int cycles = 100;  ///< limit, >= 0
  double tolerance =
      1e-8;           ///< stops at |f - A u| <= tolerance |f|; in [0, 1), 0 runs until rounding stops it
  int smoothing = 2;  ///< red-black sweeps before and after each coarse solution, 1 to 8
  /// Cycles one after the other, or as the preconditioner of conjugate gradients. `automatic` takes the second for
  /// masks and weights, whose narrow places coarse grids cannot see.
  enum class Method { automatic, cycles, conjugate_gradients } method = Method::automatic;
  /// Told of the start and of every cycle with its relative residual; returns false to stop.
  std::function<bool(int cycle, double residual)> observe;
};

/// Grids of halved resolution below a problem, ready to solve it for many right sides.
///
/// Source   cells are put together by twos (an axis left out while it couples four times weaker than another); a
///          face between coarse cells is the sum of the faces that it consists of, shortened by the distances; the red-
///          black relaxation is over-relaxed (Yavneh 1996, SIAM J. Sci. Comput. 17(1):180); residuals are summed,
///          corrections interpolated (Mohr & Wienands 2004, Comput. Vis. Sci. 7:129)
/// Devices  solve() and the operators work where their arrays lie: on the host, or on a GPU, with the same bits. What a
///          problem needs there is sent at first use
/// Errors   ShapeError and ArgumentError for a problem that is none: axes other than 2 or 3, a spacing or screening
///          out of range, one periodic face, a mask or weights of another size, negative or not finite weights
/// Threads  immutable, may be shared; scratch memory belongs to the call. Same bits for any number of threads.
template <class Real>
class Multigrid {
 public:
  explicit Multigrid(PoissonProblem<Real> problem);

  /// Solves A u = f from the u passed in; zeros are a good start. Errors: ShapeError; ArgumentError for options out of
  /// range, values that are not finite, arrays on two devices; Interrupted between passes.
  PoissonResult solve(View<const Real> f, const PoissonOptions& options, View<Real> u) const;
  /// Real and imaginary part one after the other; boundary values belong to the real one. The result is that of the
  /// part that did worse.
  PoissonResult solve(View<const std::complex<Real>> f, const PoissonOptions& options,
                      View<std::complex<Real>> u) const;

  /// A itself with boundary values 0, as an operator on arrays of the problem's shape; 0 outside of a mask. Symmetric.
  OperatorPtr<Real> operator_a() const;
  /// One V-cycle from zero with `smoothing` sweeps on either side, symmetric and positive on the cells that take part:
  /// a preconditioner for A, or for A with something small added. Where A is singular it takes means away.
  OperatorPtr<Real> preconditioner(int smoothing = 2) const;

  const Shape& shape() const;
  /// Extents of the grids from fine to coarse, for reports.
  std::vector<Shape> levels() const;

  struct State;

 private:
  std::shared_ptr<const State> state_;
};

/// Multigrid(problem).solve(f, options, u).
template <class Real>
PoissonResult solve_poisson(PoissonProblem<Real> problem, std::type_identity_t<View<const Real>> f,
                            const PoissonOptions& options, std::type_identity_t<View<Real>> u);

/// Weights for weighted phase unwrapping and the like, from one quality per cell: the face between two cells gets
/// the smaller of their squares (Ghiglia & Romero 1994, J. Opt. Soc. Am. A 11(1):107). Result as in
/// PoissonProblem::weights.
template <class Real>
std::vector<Real> face_weights(const Shape& shape, View<const Real> quality);

}  // namespace spinloom::stencil
