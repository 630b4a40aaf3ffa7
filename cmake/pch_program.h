// What nearly every file of the programs includes.
#pragma once
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cmake/pch.h"
