// The fuzzers' entry points under fixed mutations of good files: every input is accepted or refused with an InputError.
// Run under the address sanitizer this also shows that no parser reads outside its bytes.
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>

#include "fuzz/entry.h"
#include "fuzz/mutate.h"
#include "test/io/support.h"

namespace htfm {
namespace {

using fuzz::drive;
using fuzz::Words;

constexpr int64_t kRounds = 30'000;

// The share of accepted inputs only shows that the mutations reach past the first check: some, but not all, must pass.
void expect_some(int64_t accepted) {
  EXPECT_GT(accepted, kRounds / 100);
  EXPECT_LT(accepted, kRounds * 9 / 10);
}

TEST(Mutation, NpyIsAcceptedOrRefused) {
  std::vector<std::string> seeds;
  for (const char* name : {"f4", "f8", "f8_version2", "f8_version3", "cube", "scalar", "vector", "no_rows", "i8", "u1",
                           "fortran", "structured"}) {
    seeds.push_back(test::slurp(test::golden(std::string(name) + ".npy")));
    ASSERT_FALSE(seeds.back().empty()) << name;
  }
  const Words words = {"'descr'", "'shape': (", "(0, 0)", "True", "'<f4'", "'>f8'", "}",
                       "{",       ",",          ")",      "'",    "\"",    "\n",    "\\"};
  expect_some(drive(fuzz::npy, seeds, words, kRounds, Key(1)));
}

TEST(Mutation, CsvIsAcceptedOrRefused) {
  const std::vector<std::string> seeds = {
      "x,y,z\n1,2,3\n4,5,6\n",
      "1.5,-2e3\n0.1,4\n",
      "\xEF\xBB\xBF\"a b\";c\r\n\"1\";2\r\n3;4\r\n\r\n",
      "a\tb\n1\t2\n3\t4\n",
      "7\n8\n9\n",
      "id,x\nanna,1\nbert,2\n",
      "1e308,4.9e-324\n-0,1e-400",
      "\"q\"\"q\",x\n 1 , 2 \n",
  };
  const Words words = {",",   ";",  "\t",    "\n", "\r\n", "\"", "\"\"", "nan",
                       "inf", "NA", "1e999", "-",  "+1",   "x",  " ",    std::string_view("\0", 1)};
  expect_some(drive(fuzz::csv, seeds, words, kRounds, Key(2)));
}

TEST(Mutation, SafetensorsIsAcceptedOrRefused) {
  std::vector<std::string> seeds;
  for (const char* name : {"mixed", "one", "nothing"}) {
    seeds.push_back(test::slurp(test::golden(std::string(name) + ".safetensors")));
    ASSERT_FALSE(seeds.back().empty()) << name;
  }
  StringSink hashed;
  write_safetensors(hashed, {{{"w", at::ones({2, 2})}, {"n", at::arange(4)}}, {{"step", "3"}}});
  seeds.push_back(hashed.bytes());
  const Words words = {"\"F32\"",
                       "\"U8\"",
                       "[0,0]",
                       "[]",
                       "{",
                       "}",
                       "[",
                       "]",
                       ":",
                       ",",
                       "\"",
                       "__metadata__",
                       "\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},",
                       "null",
                       "-1",
                       "1e9",
                       "\\u0000",
                       "\xff"};
  expect_some(drive(fuzz::safetensors, seeds, words, kRounds, Key(3)));
}

// Checksums guard every chunk, so that few mutations pass; those that do end up in what libpng skips or tolerates.
TEST(Mutation, PngIsAcceptedOrRefused) {
  std::vector<std::string> seeds;
  for (const char* name : {"grey", "rgb", "palette", "alpha", "sixteen"}) {
    seeds.push_back(test::slurp(test::golden(std::string(name) + ".png")));
    ASSERT_FALSE(seeds.back().empty()) << name;
  }
  const Words words = {"IHDR", "IDAT", "IEND", "PLTE", "tRNS", "gAMA", std::string_view("\0\0\0\1", 4)};
  EXPECT_GT(drive(fuzz::png, seeds, words, kRounds, Key(4)), 0);
}

}  // namespace
}  // namespace htfm
