#pragma once

/// How long a cache line takes from one core to another [ns]; 0 where only one thread is used. Cores of one last cache
/// are some 25 ns apart, others 100 and more. A guest's cores move, and a sweep in a cache is as fast as they are near.
double core_distance_ns();
