// The fuzzers' entry points of configurations, checkpoints and logs under fixed mutations.
#include "fuzz/data_entry.h"
#include "fuzz/entry.h"
#include "fuzz/model_entry.h"
#include "fuzz/mutate.h"
#include "fuzz/schedule_entry.h"
#include "test/io/support.h"

namespace htfm {
namespace {

using fuzz::drive;
using fuzz::Words;

constexpr int64_t kRounds = 300;  // HTFM_FUZZ_ROUNDS sets another number
int64_t rounds() {
  const char* text = std::getenv("HTFM_FUZZ_ROUNDS");
  return text ? std::atoll(text) : kRounds;
}

TEST(Mutation, ConfigurationsAreAcceptedOrRefused) {
  RunConfig stable;
  stable.clock = {"stable", {{"alpha", 1.7}}, 20};
  const std::vector<std::string> seeds = {
      "seed = 3\n[clock]\nfamily = \"stable\"\nalpha = 1.7\ngrid = 20\n[train]\nlr = 1e-3\nbatch = 64\n",
      "[path]\nschedule = \"near-linear\"\nb = \"ct: 0.1\"\n[coupling]\nkind = \"pool\"\n[feature]\norder = 3\n",
      "[source]\nskew = \"0.5,-0.2\"\n[data]\npath = \"x.csv\"\nnormalise = \"table\"\n"};
  const Words words = {"[",   "]",    "\"", "'''", "=",    ".",      "\n",    "nan", "inf", "-1",
                       "1e9", "true", "{",  "}",   "auto", "fitted", "a.b.c", "#",   "\\u", "1979-05-27"};
  EXPECT_GT(drive(fuzz::toml, seeds, words, rounds(), Key(11)), 0);
  drive(fuzz::toml_options, seeds, words, rounds(), Key(12));
  drive(fuzz::settings, {"clock.family=stable\nclock.alpha=1.7", "net.kind=mlp\ntrain.lr=0.1", "precondition=off"},
        {"=", ".", "clock", "1e999", "nan", "-", ",", "\n"}, rounds(), Key(13));
  drive(fuzz::schedule, {"ct: -0.3", "0.1", "ct: 0.2, c: 0.1", "t: 1"},
        {":", ",", "ct", "c", "-", "1e308", "nan", ".", "inf", " "}, rounds(), Key(14));
  const std::vector<std::string> conditions = {"loss > 5e6 and not (region_a < 0 or abs(b) >= 2)",
                                               "max(loss, -b, 1.5) / (2 * column(3)) - [b] + size"};
  EXPECT_GT(drive(fuzz::expression, conditions,
                  {"(", ")", "and", "not", "[", "'", "<", "==", ",", "-", "1e999", "\xff"}, rounds(), Key(19)),
            0);
}

TEST(Mutation, CheckpointsThatMeanNothingAreRefused) {
  const std::vector<std::string> seeds = {
      "{\"step\":3,\"dim\":2,\"columns\":[\"x\",\"y\"]}",
      "{\"clock\":{\"family\":\"stable\",\"parameters\":{\"alpha\":1.5},\"grid\":10},\"clock_explanation\":\"\"}",
      "{\"image\":[1,1,2],\"best_step\":0}\n[extra]\na = 1\n",
      "{\"field\":{\"kind\":\"log1p\",\"unit\":1,\"mean\":[0],\"deviation\":[1],\"threshold\":0}}"};
  const Words words = {"null", "-1",  "1e99", "[",     "]",    "{",       "}",     "\"",
                       ",",    "9e9", "true", "\"a\"", "grid", "columns", "image", "4611686018427387904"};
  EXPECT_GT(drive(fuzz::checkpoint, seeds, words, rounds(), Key(15)), 0);
  // Sizes of an image whose product is the number of columns, or overflows.
  EXPECT_TRUE(fuzz::checkpoint("{\"image\":[1,1,2]}"));
  EXPECT_FALSE(fuzz::checkpoint("{\"image\":[-1,-1,2]}"));
  EXPECT_FALSE(fuzz::checkpoint("{\"image\":[4611686018427387904,4,1]}"));
  // Numbers that are not whole, or not of 64 bits.
  EXPECT_TRUE(fuzz::checkpoint("{\"step\":3}"));
  for (const char* number : {"1.5", "1e300", "18446744073709551615", "true", "\"3\""})
    EXPECT_FALSE(fuzz::checkpoint(fmt::format("{{\"step\":{}}}", number))) << number;
  const auto grid = [](const char* steps) {
    return fmt::format(
        "{{\"clock\":{{\"family\":\"deterministic\",\"parameters\":{{}},\"grid\":{}}},\"clock_explanation\":\"\"}}",
        steps);
  };
  EXPECT_TRUE(fuzz::checkpoint(grid("4")));
  EXPECT_FALSE(fuzz::checkpoint(grid("4294967300")));  // 4 in 32 bits
}

TEST(Mutation, LogsSetsAndBatchesAreAcceptedOrRefused) {
  const Words words = {"{", "}", "\n", "[", "\"", "null", "1e999", std::string_view("\0", 1), "\xff"};
  EXPECT_GT(
      drive(fuzz::json_lines, {"{\"step\":1}\n{\"step\":2}\n", "{\"a\":[1,{\"b\":2}]}\n5\n"}, words, rounds(), Key(16)),
      0);
  std::string record(3073, 'x');
  record[0] = 3;
  EXPECT_GT(drive(fuzz::cifar, {record + record, record}, words, rounds(), Key(17)), 0);
  drive(fuzz::field_set, {"", std::string(8, '\0') + "{}"}, words, rounds(), Key(18));
}

// The bytes of numbers, as a checkpoint has them.
std::string bytes_of(const std::vector<double>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double)};
}

TEST(Mutation, NumbersOfACheckpointAreLawsOrRefused) {
  const std::vector<double> trend{1, 0.5, -1, 2, 2, -1, 2, 0.1, 0.3, 0, 0.2}, field{1, 2, 2, 0, 1, 1, 0, 1, -3, 3, 0};
  EXPECT_NO_THROW(ConditionTrend::from_numbers(trend));
  EXPECT_NO_THROW(FieldEncoding::from_numbers(field));
  // A column that no 64-bit number counts, which was taken for one before the first.
  for (const double column : {-1.0, 1e300, std::nan("")}) {
    std::vector<double> bad = trend;
    bad[0] = column;
    EXPECT_THROW(ConditionTrend::from_numbers(bad), InputError) << column;
  }
  // Sizes whose product overflows.
  std::vector<double> large = field;
  large[1] = large[2] = 1 << 20;
  EXPECT_THROW(FieldEncoding::from_numbers(large), InputError);
  const std::vector<double> margin{0.05, 1, 0.5, 0.2, 20, 0.05, 2, 0.5, 0.2, 20, 0, 0, 0, 0, 0.05, 0.5, 0.95, -1, 0, 2};
  EXPECT_NO_THROW(Margin::from_numbers(margin));
  for (const auto& [place, value] : {std::pair<size_t, double>{4, 1e300}, {1, std::nan("")}, {14, 0.7}, {18, 9}}) {
    std::vector<double> bad = margin;
    bad[place] = value;
    EXPECT_THROW(Margin::from_numbers(bad), InputError) << place;
  }
  // Values far beyond all others, of the upper side: their share, the centre, how many, a distance and a width.
  std::vector<double> strays = margin;
  strays.insert(strays.end(), {0, 0, 0, 1e-4, 0, 1, 3, 0.1, 8});
  EXPECT_NO_THROW(Margin::from_numbers(strays));
  const std::vector<double> falling{1, 1, 2, 0, -2, -2.1, 0, 1.9};
  EXPECT_THROW(ScoreCalibration::from_numbers(falling), InputError);
  // A message says what was found.
  const auto told = [](auto read, const std::vector<double>& numbers) {
    return test::input_error([&] { read(numbers); });
  };
  EXPECT_MENTIONS(told(ScoreCalibration::from_numbers, falling),
                  "got scores that fall from 2 to 0 and meant ones from");
  EXPECT_MENTIONS(told(FieldEncoding::from_numbers, large), "got 11 numbers that begin with 1, 1048576, 1048576");
  EXPECT_MENTIONS(told(ConditionTrend::from_numbers, {-1, 0.5}), "got 2 numbers that begin with -1, 0.5");
  std::vector<double> no_scale = margin;
  no_scale[2] = -1;
  EXPECT_MENTIONS(told(Margin::from_numbers, no_scale), "got 0.05, -1 and 20");
  const Words words = {std::string_view("\0\0\0\0\0\0\xf0\x7f", 8), std::string_view("\0\0\0\0\0\0\xf0\x3f", 8),
                       "\xff"};
  const std::vector<std::string> seeds{bytes_of(trend), bytes_of(field), bytes_of(margin), bytes_of(strays),
                                       bytes_of({2, 0, 2, 1, 3})};
  EXPECT_GT(drive(fuzz::laws, seeds, words, rounds(), Key(19)), 0);
}

TEST(Mutation, PortfoliosAreAcceptedOrRefused) {
  EXPECT_GT(drive(fuzz::portfolio, {"column,weight\na,0.5\n", "\"a\";1\nb\t-2\n"}, {",", "\n", "\"", "1e999", "a"},
                  rounds(), Key(20)),
            0);
}

}  // namespace
}  // namespace htfm
