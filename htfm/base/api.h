// The mark of the public face: what a header declares inside `namespace htfm HTFM_PUBLIC { ... }` can be used from
// outside the library; everything else is hidden.
#pragma once

#define HTFM_PUBLIC __attribute__((visibility("default")))
