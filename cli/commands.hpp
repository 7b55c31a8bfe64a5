#pragma once
#include "command.hpp"

Command add_info(CLI::App& program);
