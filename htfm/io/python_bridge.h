// A short Python program that reads a file with a package of the user's and hands it over as text.
#pragma once

#include <string>

namespace htfm {

/// What a program gave back.
struct PythonAnswer {
  int code = 0;                          ///< its exit status; -1 where it was ended by a signal
  std::string out = {}, last_line = {};  ///< what it wrote, and the last line of its messages, safe to show
};

/// The last line of a program's messages, safe to show.
std::string last_line_of(const std::string& messages);

/// What a script reads, and with which package: "parquet", "pyarrow", "a Parquet file".
struct PythonFile {
  std::string tag, package, kind;
};

/// Exit statuses of the scripts, beside 0.
inline constexpr int kNoPackage = 3, kNotSuchAFile = 4;

/// The text that a script handed over; InputError where it did not end well. `python`: which interpreter it was.
std::string text_of_answer(PythonAnswer answer, const PythonFile& file, const std::string& path,
                           const std::string& python);

/// Runs `script` isolated (-I: nothing of the working folder and of PYTHONPATH is imported) with the file as its
/// argument, and gives the text that it hands over. `python`: a path or a name on PATH. Its memory and what it hands
/// over are limited to the memory of the machine. InputError where it cannot be started or does not end well.
std::string run_python(const std::string& python, const char* script, const std::string& path, const PythonFile& file);

}  // namespace htfm
