#include "app/common.h"
namespace htfm::app { void add_demo(CLI::App&) {} }
