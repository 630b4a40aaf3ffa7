// Scripts of bench/peers: run, and read line by line.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/common.h"

namespace htfm::app {

/// The JSON objects that a script prints, one a line; `each` is called as they come. Nothing where there is no Python
/// or no script.
std::vector<Json> run_peer_script(const std::string& python, const std::string& path,
                                  const std::vector<std::string>& arguments,
                                  const std::function<void(const Json&)>& each = {});

}  // namespace htfm::app
