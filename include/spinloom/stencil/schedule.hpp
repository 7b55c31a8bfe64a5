#pragma once
#include <optional>
#include <string>
#include <vector>

#include "spinloom/stencil/definition.hpp"
#include "spinloom/stencil/grid.hpp"

namespace spinloom::stencil {

/// How a stencil's steps are carried out. No schedule changes a bit of the result.
///
///   naive       plane by plane, whole rows
///   sweep       one step after the other; `rows` x `columns` blocks go through all planes, so that a block's
///               layers stay in a cache
///   overlapped  `steps` at once per block of `rows` x `columns` with a rim computed twice; intermediate steps live
///               in small rings of planes
///   wavefront   `steps` at once, each `rows` block skewed against the last, its planes and steps in parallel
///   diamond     blocks of `width` rows in the plane of y and time, without redundancy, going through the planes as a
///               wavefront; a block advances width / (2 radius) steps, `rows` of a wave through all of them at a time
///
/// On a GPU (grids made with a device):
///
///   cuda        the fastest of these that can run it
///   gather      a thread for each point, all values from global memory: any stencil, any grid
///   march       threads with `points` x `rows` points each go through `depth` planes: values along z stay in registers,
///               planes to come are fetched `ahead` of their use
///   ring        the same from a ring of planes in shared memory, which bulk copies fill: compute capability 9.0
///   tile        threads compute `points` x `rows` x `depth` points at once, and blocks follow one another as memory lies,
///               `band` rows of a plane at a time
///   cuda overlapped  `steps` in one pass: tiles of `block` columns x rows go through the planes, with the planes of all
///               steps in registers, and compute their rims twice; in 2D strips of `block`=256x1 columns
///
/// Text form: the kind, then what differs from the default: "sweep rows=64 planes=2 stream prefetch", "diamond width=32
/// planes=4", "cuda march block=32x8 rows=2 depth=128".
struct Schedule {
  enum class Kind { naive, sweep, overlapped, wavefront, diamond, cuda, gather, march, ring, tile, layered };
  Kind kind = Kind::naive;
  Index rows =
      0;  ///< rows of a block (diamond: of a wave), 0: all; march: of a thread, 0: the library's choice
  Index columns = 0;      ///< columns of a block, 0: all; rounded up to whole cache lines
  Index width = 0;        ///< of a diamond [rows]
  int steps = 1;          ///< advanced by one pass: overlapped and wavefront, cuda overlapped
  int planes = 1;         ///< computed at once: 1, 2, 4 or 8
  bool stream = false;    ///< results go past the caches: sweep, and the last step of overlapped
  bool prefetch = false;  ///< planes to come are fetched into the level 2 cache
  int depth = 0, points = 0, ahead = -1, unroll = 0;  ///< of march; what is not given is the library's choice
  bool shuffle = false;  ///< of march, ring, tile: neighbours along x come from other lanes, not from a cache
  int band = 0;          ///< of tile: rows of a plane that are worked on together; 0: all
  int blocks =
      0;  ///< of march, ring, tile: those that a multiprocessor holds at least; bounds a thread's registers
  int block_x = 0, block_y = 0;  ///< GPU: threads of a block along x, and along y; 0: the library's choice
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// Whether it is for grids on a GPU.
bool is_for_gpu(const Schedule& schedule);

std::string to_string(const Schedule& schedule);
/// Throws ArgumentError that names the word it cannot read.
Schedule parse_schedule(const std::string& text);

/// Why this schedule cannot run that chain of stencils on such grids, in one sentence; nothing when it can.
std::optional<std::string> why_illegal(const std::vector<Definition>& chain, const GridLayout& layout,
                                       const std::vector<Boundaries>& fields, const Schedule& schedule);

}  // namespace spinloom::stencil
