#pragma once
#include "command.hpp"

Command add_info(CLI::App& program);
Command add_simulate(CLI::App& program);
