#pragma once
#include "command.hpp"

Command add_bench(CLI::App& program);
Command add_denoise(CLI::App& program);
Command add_info(CLI::App& program);
Command add_nufft(CLI::App& program);
Command add_poisson(CLI::App& program);
Command add_recon(CLI::App& program);
Command add_compare(CLI::App& program);
Command add_view(CLI::App& program);
Command add_convert(CLI::App& program);
Command add_stencil(CLI::App& program);
Command add_simulate(CLI::App& program);
