// What stands behind toml++'s headers, compiled once: the library of the distribution would be one more to load.
// Its assertions are about the text that it reads ("[&]" breaks one), and clang's optimiser would take them for facts;
// what they say is an error of the text is told as one right after. Without NDEBUG, an assertion is TOML_ASSERT and
// nothing else.
#undef NDEBUG
#define TOML_ASSERT(expression) static_assert(true)
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
