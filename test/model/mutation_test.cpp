// The fuzzers' entry points of configurations, checkpoints and logs under fixed mutations.
#include "fuzz/data_entry.h"
#include "fuzz/entry.h"
#include "fuzz/model_entry.h"
#include "fuzz/mutate.h"

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

}  // namespace
}  // namespace htfm
