// A short Python program that reads a file with a package of the user's and hands it over as text.
#pragma once

#include <string>

namespace htfm {

/// What a program gave back.
struct PythonAnswer {
  int code = 0;                          ///< its exit status; -1 where it was ended by a signal
  std::string out = {}, last_line = {};  ///< what it wrote, and the last line of its messages, safe to show
};

/// Runs `script` isolated (-I: nothing of the working folder and of PYTHONPATH is imported) with the file as its
/// argument. `python`: a path or a name on PATH; `what`: "Parquet", for messages. InputError where it cannot be
/// started.
PythonAnswer run_python(const std::string& python, const char* script, const std::string& path,
                        const std::string& what);

}  // namespace htfm
