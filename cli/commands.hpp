#pragma once
#include "command.hpp"

Command add_bench(CLI::App& program);
Command add_info(CLI::App& program);
