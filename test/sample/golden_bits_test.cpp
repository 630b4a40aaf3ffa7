// Small models of every kind come out with the bits that test/golden/bits.txt holds: weights and samples are results
// that must not change unless somebody means it. A line that has to change is one that CHANGELOG.md explains.
#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "htfm/base/dispatch.h"
#include "htfm/base/error.h"
#include "htfm/base/split.h"
#include "htfm/io/hash.h"
#include "htfm/io/npy.h"
#include "htfm/sample/sampler.h"
#include "htfm/train/trainer.h"
#include "test/data.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

// Builds for a debugger or under a sanitizer are optimised otherwise and round otherwise: there every model runs, and
// the bits are not compared.
#ifdef NDEBUG
constexpr bool kCompare = true;
#else
constexpr bool kCompare = false;
#endif

struct Case {
  std::string name, settings, weights, samples;
};

Case parse_case(const std::string& line) {
  const std::vector<std::string> parts = split(line, '|');
  if (parts.size() != 4) throw Error("test/golden/bits.txt: expected 4 parts, got '{}'", line);
  const auto part = [&](size_t k) { return std::string(trimmed(parts[k])); };
  return {part(0), part(1), part(2), part(3)};
}

RunConfig config_of(const Case& c) {
  std::vector<std::string> settings{"data.n=2000", "train.batch=512", "train.epochs=3", "sample.nfe=8"};
  for (const std::string& s : split(c.settings, ' ')) settings.push_back(s);
  return parse_config("", "test", settings);
}

// The first digits of the SHA-256 of 300 samples as a file.
std::string samples_hash(const Model& model, const std::string& path) {
  SampleOptions options = sample_options(model.config());
  options.n = 300, options.seed = 7;
  if (options.solver == "dopri5") options.solve.nfe = 2000;  // as `htfm sample` has it
  write_npy(path, sample(model, options).samples);
  return sha256_file(path).substr(0, 16);
}

// Fitting the default solver takes longer than everything else: `all` draws the samples of every model that has it,
// otherwise of the first.
void expect_golden_bits(bool all) {
  if (isa() != Isa::v3)
    GTEST_SKIP() << "the bits are those of AVX2: set HTFM_ISA=v3 on a machine that has it; in use is " << isa_name();
  std::ifstream file(test::golden_file("bits.txt"));
  std::string line;
  ASSERT_TRUE(std::getline(file, line) && line.starts_with("# glibc ")) << "no golden file";
  if (const std::string made_with = line.substr(8); made_with != gnu_get_libc_version())
    GTEST_SKIP() << "exp and log may round differently: the bits are those of glibc " << made_with << ", this is "
                 << gnu_get_libc_version();
  const test::TemporaryFolder folder;
  bool fitted = false;
  while (std::getline(file, line)) {
    if (line.empty() || line.starts_with('#')) continue;
    const Case c = parse_case(line);
    const Model model = train(config_of(c));
    EXPECT_TRUE(!kCompare || model.weights_hash() == c.weights)
        << model.weights_hash() << ", " << c.name << ": " << c.settings;
    const bool fits = sample_options(model.config()).solver == "fitted" && model.config().method == "htfm";
    if (c.samples == "-" || (!all && fits && fitted)) continue;
    fitted = fitted || fits;
    const std::string samples = samples_hash(model, folder / "samples.npy");
    EXPECT_TRUE(!kCompare || samples == c.samples) << samples << ", " << c.name << ": " << c.settings;
  }
}

TEST(GoldenBits, EveryKindOfModel) { expect_golden_bits(false); }
TEST(GoldenBitsSlow, EveryKindOfModelAndItsFittedSolver) { expect_golden_bits(true); }

}  // namespace
}  // namespace htfm
