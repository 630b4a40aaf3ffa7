// What stands behind toml++'s headers, compiled once: the library of the distribution would be one more to load.
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
