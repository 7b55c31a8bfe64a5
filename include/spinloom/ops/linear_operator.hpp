#pragma once
#include <complex>
#include <memory>
#include <string>

#include "spinloom/core/view.hpp"

namespace spinloom {

template <class Real>
class LinearOperator;

template <class Real>
using OperatorPtr = std::shared_ptr<const LinearOperator<Real>>;

/// A linear map A between complex arrays of fixed shape, in single (Real = float) or double precision.
///
/// Errors   ShapeError when input or output has another shape, ArgumentError when one lies on a device that the
///          operator does not take; the message names both
/// Threads  immutable: one instance may be applied by many threads; scratch memory belongs to the call
template <class Real>
class LinearOperator {
 public:
  using Complex = std::complex<Real>;

  virtual ~LinearOperator() = default;
  virtual std::string name() const = 0;
  virtual Shape domain() const = 0;  ///< shape of x
  virtual Shape range() const = 0;   ///< shape of y

  /// Where its arrays lie: in the host's memory, as here, or on a GPU.
  virtual Device device() const { return {}; }
  /// Whether it takes an x (of the domain) and a y (of the range) that lie there; only where device() says, as here.
  virtual bool takes(Device x, Device y) const {
    return share_memory(x, device()) && share_memory(y, device());
  }

  /// y = A x. Every element of y is written.
  void forward(View<const Complex> x, View<Complex> y) const {
    check_forward(x, y);
    do_forward(x, y);
  }
  /// x = A^H y. Every element of x is written.
  void adjoint(View<const Complex> y, View<Complex> x) const {
    require_shape(name() + " adjoint", "input", y.shape, range());
    require_shape(name() + " adjoint", "output", x.shape, domain());
    if (!takes(x.device, y.device)) refuse_devices("adjoint", y.device, x.device);
    do_adjoint(y, x);
  }

  /// y = y + alpha A x.
  void add_forward(Real alpha, View<const Complex> x, View<Complex> y) const {
    check_forward(x, y);
    do_add_forward(alpha, x, y, false);
  }
  /// The same, and the real part of sum conj(x) y of the new y, for operators whose domain is their range.
  double add_forward_with_dot(Real alpha, View<const Complex> x, View<Complex> y) const {
    require_shape(name(), "range", range(), domain());
    check_forward(x, y);
    return do_add_forward(alpha, x, y, true);
  }
  /// y = A x and the real part of sum conj(x) y, for operators whose domain is their range.
  double forward_with_dot(View<const Complex> x, View<Complex> y) const {
    require_shape(name(), "range", range(), domain());
    check_forward(x, y);
    return do_forward_with_dot(x, y);
  }

  /// A^H A in a cheaper form than adjoint(forward(x)), or null when there is none; call normal(A).
  virtual OperatorPtr<Real> make_normal() const { return nullptr; }

 protected:
  // In one pass over the arrays where an operator can; as here in several. What is returned is the dot product, or
  // anything where none was asked for.
  virtual double do_forward_with_dot(View<const Complex> x, View<Complex> y) const;
  virtual double do_add_forward(Real alpha, View<const Complex> x, View<Complex> y, bool with_dot) const;

 private:
  void check_forward(View<const Complex> x, View<Complex> y) const {
    require_shape(name() + " forward", "input", x.shape, domain());
    require_shape(name() + " forward", "output", y.shape, range());
    if (!takes(x.device, y.device)) refuse_devices("forward", x.device, y.device);
  }
  [[noreturn]] void refuse_devices(const char* direction, Device in, Device out) const;
  virtual void do_forward(View<const Complex> x, View<Complex> y) const = 0;
  virtual void do_adjoint(View<const Complex> y, View<Complex> x) const = 0;
};

/// A^H A: the operator's own cheaper form where it has one, else adjoint after forward. Self-adjoint.
template <class Real>
OperatorPtr<Real> normal(OperatorPtr<Real> a);

/// sum_i scale_i A_i of operators of equal shapes (at least one): A^H A + lambda I is
/// sum({normal, identity}, {1, lambda}).
template <class Real>
OperatorPtr<Real> sum(std::vector<OperatorPtr<Real>> terms, std::vector<Real> scales);

/// x -> x on arrays of `shape`, wherever they lie.
template <class Real>
OperatorPtr<Real> identity(Shape shape);

/// A^H as an operator of its own: forward is A's adjoint and the other way round.
template <class Real>
OperatorPtr<Real> conjugate_transpose(OperatorPtr<Real> a);

/// |<A x, y> - <x, A^H y>| / (|A x| |y| / sqrt(size of y)) for random x and y: the size of <A x, y> that random y
/// gives, which cannot cancel to zero. 0 when either side is empty. x and y lie on the operator's device.
template <class Real>
double adjoint_mismatch(const LinearOperator<Real>& a, unsigned seed = 1);

}  // namespace spinloom
