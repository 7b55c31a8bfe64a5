#pragma once
#include <vector>

#include "runtime/cuda/compiler.hpp"
#include "stencil/halo_rules.hpp"

namespace spinloom::cuda {

/// The rules of a device grid's faces, as HaloRules are those of a host grid.
template <class T>
class DeviceHalo {
 public:
  DeviceHalo(const stencil::GridLayout& layout, const stencil::HaloRules<T>& rules);
  /// Fills every cell outside, but for kept ones.
  void fill(T* origin) const;
  /// The same for those that follow a cell inside.
  void follow(T* origin) const;
  /// What lies outside, kept cells too, from one array to another of the same layout.
  void copy_outside(const T* from, T* to) const;
  bool moves() const { return moving_ != 0; }

 private:
  struct Rule {
    Index source = 0;
    double add = 0;
    int kind = 0;
  };
  /// As in stencil_halo.cu.
  struct Work {
    Rule rules[3][2][stencil::max_radius];
    Index n[3];
    int low[3], high[3];
    Index row, plane;
    int regions;
  };
  Index cells(int regions) const;
  Work with(int regions) const;

  stencil::GridLayout layout_;
  Work work_{};
  int moving_ = 0;  ///< bit per axis
};

/// Points of a dense array on the same GPU to a grid, and back.
template <class T>
void spread(const T* dense, T* origin, const stencil::GridLayout& layout);
template <class T>
void collect(const T* origin, T* dense, const stencil::GridLayout& layout);

std::vector<KernelInstance> halo_kernel_instances();

}  // namespace spinloom::cuda
