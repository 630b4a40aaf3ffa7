#include "htfm/base/module_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace htfm {
namespace {

namespace fs = std::filesystem;

void add_folders(std::vector<std::string>& folders, const fs::path& file) {
  if (file.empty()) return;
  for (const fs::path& folder : {file.parent_path(), file.parent_path().parent_path() / "lib" / "htfm"})
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
}

// The file, program or shared library, that holds this code.
fs::path own_file() {
  Dl_info info{};
  std::error_code unknown;
  const bool found = ::dladdr(reinterpret_cast<void*>(&own_file), &info) != 0 && info.dli_fname;
  return found ? fs::canonical(info.dli_fname, unknown) : fs::path();
}

std::vector<std::string> module_folders() {
  std::error_code unknown;
  std::vector<std::string> folders;
  add_folders(folders, fs::read_symlink("/proc/self/exe", unknown));
  add_folders(folders, own_file());
  return folders;
}

}  // namespace

ModuleLibrary::ModuleLibrary(const std::string& name, Symbols symbols) : name_("lib" + name + ".so") {
  const char* chosen = std::getenv("HTFM_MODULE_PATH");
  const bool is_chosen = chosen && *chosen;
  const std::vector<std::string> folders =
      is_chosen ? std::vector<std::string>{fs::absolute(chosen)} : module_folders();
  std::error_code absent;
  std::string path = is_chosen ? "" : name_;  // a bare name: wherever the loader looks
  for (const std::string& folder : folders)
    if (fs::exists(folder + "/" + name_, absent)) {
      path = folder + "/" + name_;
      break;
    }
  if (!path.empty()) {
    handle_ = ::dlopen(path.c_str(), RTLD_NOW | (symbols == Symbols::kShared ? RTLD_GLOBAL : RTLD_LOCAL));
    if (handle_) return;
    const char* why = ::dlerror();
    reason_ = why ? why : path + " does not load";
  }
  // Of a file that is nowhere the loader knows less than we do.
  if (path.empty() || reason_.starts_with(name_ + ": cannot open shared object file"))
    reason_ = fmt::format("no {} in {}{}", name_, fmt::join(folders, ", "),
                          is_chosen ? ", which HTFM_MODULE_PATH names" : ", or where the loader looks");
}

ModuleLibrary::Object ModuleLibrary::object(const char* entry) const {
  using Entry = const void* (*)(const char** reason);
  const auto call = reinterpret_cast<Entry>(::dlsym(handle_, entry));
  const char* reason = nullptr;
  const void* address = call ? call(&reason) : nullptr;
  if (address) return {.address = address};
  return {.reason = reason ? reason : fmt::format("an older {}", name_)};
}

}  // namespace htfm
