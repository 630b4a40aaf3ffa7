// The fuzzers' entry points under fixed mutations of good files: every input is accepted or refused with an InputError.
// Run under the address sanitizer this also shows that no parser reads outside its bytes.
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>

#include "fuzz/entry.h"
#include "htfm/base/random.h"
#include "test/io/support.h"

namespace htfm {
namespace {

using Words = std::vector<std::string_view>;

/// A stream of choices, the same in every run.
class Choices {
 public:
  explicit Choices(Key key) : key_(key) {}
  size_t below(size_t bound) { return bound == 0 ? 0 : key_.below(bound, index_++); }
  template <class List>
  const auto& among(const List& list) {
    return list[below(std::size(list))];
  }

 private:
  Key key_;
  uint64_t index_ = 0;
};

void mutate(std::string& bytes, const std::vector<std::string>& seeds, const Words& words, Choices& choices) {
  const size_t at = choices.below(bytes.size() + 1);
  const size_t size = std::min(choices.below(1 + choices.below(64)), bytes.size() - at);
  switch (choices.below(8)) {
    case 0:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << choices.below(8)));
      break;
    case 1:
      if (at < bytes.size()) bytes[at] = static_cast<char>(choices.below(256));
      break;
    case 2: bytes.erase(at, size); break;
    case 3: bytes.insert(at, bytes.substr(at, size)); break;
    case 4: bytes.resize(at); break;
    case 5: bytes.replace(at, size, choices.among(words)); break;
    case 6: {  // a part of another file
      const std::string& other = choices.among(seeds);
      const size_t from = choices.below(other.size() + 1);
      bytes.replace(at, size, other.substr(from, choices.below(64)));
      break;
    }
    default: {  // another number where a number stands
      const size_t digit = bytes.find_first_of("0123456789", at);
      if (digit == std::string::npos) break;
      const size_t end = std::min(bytes.find_first_not_of("0123456789", digit), bytes.size());
      constexpr const char* kNumbers[] = {
          "0", "1", "2", "7", "-1", "255", "65536", "4294967296", "9223372036854775807", "18446744073709551616"};
      bytes.replace(digit, end - digit, choices.among(kNumbers));
    }
  }
}

/// Feeds `rounds` mutated inputs, and every seed as it is; returns how many mutated ones were accepted.
int64_t drive(bool (*entry)(std::string_view), const std::vector<std::string>& seeds, const Words& words,
              int64_t rounds, Key key) {
  for (const std::string& seed : seeds) entry(seed);
  int64_t accepted = 0;
  for (int64_t round = 0; round < rounds; ++round) {
    Choices choices(key.child(static_cast<uint64_t>(round)));
    std::string bytes = choices.among(seeds);
    for (size_t left = 1 + choices.below(4); left > 0; --left) mutate(bytes, seeds, words, choices);
    // A copy of its own size, so that the sanitizer sees a read beyond the end.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    try {
      accepted += entry({exact.data(), exact.size()});
    } catch (const std::exception& error) {
      ADD_FAILURE() << "round " << round << ": expected InputError, got " << error.what();
    }
  }
  return accepted;
}

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
