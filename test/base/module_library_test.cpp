// Libraries that are loaded when they are needed: where they are looked for, and what is said where there is none.
#include "htfm/base/module_library.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "test/temporary_folder.h"

namespace htfm {
namespace {

namespace fs = std::filesystem;

// The variable of the environment, for a scope.
class Variable {
 public:
  explicit Variable(const std::string& value) { ::setenv("HTFM_MODULE_PATH", value.c_str(), 1); }
  ~Variable() { ::unsetenv("HTFM_MODULE_PATH"); }
};

TEST(ModuleLibrary, SaysWhereItLooked) {
  const ModuleLibrary library("htfm_absent");
  EXPECT_FALSE(library.loaded());
  const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
  EXPECT_TRUE(library.reason().starts_with("no libhtfm_absent.so in " + own.string() + ", " +
                                           (own.parent_path() / "lib/htfm").string()))
      << library.reason();
  EXPECT_TRUE(library.reason().ends_with(", or where the loader looks")) << library.reason();
}

TEST(ModuleLibrary, LooksInTheChosenFolderAlone) {
  const test::TemporaryFolder folder;
  const Variable variable(folder.path());
  EXPECT_EQ(ModuleLibrary("htfm_absent").reason(),
            "no libhtfm_absent.so in " + folder.path() + ", which HTFM_MODULE_PATH names");
  // One that is there decides, also where it does not load.
  test::spill(folder / "libhtfm_absent.so", "not a library");
  const ModuleLibrary damaged("htfm_absent");
  EXPECT_FALSE(damaged.loaded());
  EXPECT_TRUE(damaged.reason().starts_with(folder / "libhtfm_absent.so: ")) << damaged.reason();
}

// Any library of the loader's will do.
TEST(ModuleLibrary, WithoutTheEntryPointIsAnOlderOne) {
  const ModuleLibrary library("torch_cpu");
  ASSERT_TRUE(library.loaded()) << library.reason();
  const ModuleLibrary::Object object = library.object("htfm_absent");
  EXPECT_EQ(object.address, nullptr);
  EXPECT_EQ(object.reason, "an older libtorch_cpu.so");
}

}  // namespace
}  // namespace htfm
