// htfm sample --beyond and --where as a user meets them.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "htfm/io/csv.h"
#include "htfm/io/npy.h"
#include "test/app/support.h"

namespace htfm {
namespace {

// One line that says what is wrong, exit code 2, and no file.
void expect_refused_line(const Workplace& w, const std::string& arguments, const std::string& part) {
  const Outcome o = w.run(arguments);
  EXPECT_EQ(o.code, 2) << arguments << "\n" << o.err;
  EXPECT_NE(o.err.find(part), std::string::npos) << arguments << "\nexpected '" << part << "' in: " << o.err;
  EXPECT_FALSE(std::filesystem::exists(w / "no.npy"));
}

TEST(SampleRare, DrawsOnlyWhatIsAskedForWithWeights) {
  const Workplace w;
  std::string rows = "loss,region_a\n";
  for (int i = 0; i < 400; ++i) rows += fmt::format("{},{}\n", std::tan(0.0035 * (i - 200)), std::sin(i) * 2);
  w.write("x.csv", rows);
  ASSERT_EQ(
      w.run("train --set data.path=x.csv --set train.epochs=2 --set sample.solver=euler --set sample.nfe=2 -o run")
          .code,
      0);
  const auto drawn = nlohmann::json::parse(
      w.run("sample run --where 'loss > 2.5 and region_a > 0' -n 200 -o s.npy --weights w.npy --json").out);
  const at::Tensor s = read_npy(w / "s.npy"), weights = read_npy(w / "w.npy");
  EXPECT_EQ(s.sizes(), (at::IntArrayRef{200, 2}));
  EXPECT_TRUE(s.select(1, 0).gt(2.5).logical_and(s.select(1, 1).gt(0)).all().item<bool>());
  EXPECT_NEAR(weights.mean().item<double>() / drawn["probability"].get<double>(), 1, 1e-9);
  EXPECT_LT(drawn["lower"], drawn["probability"]);
  EXPECT_EQ(drawn["samples"], 200);

  // The same condition's probability without samples: another estimate of the same number.
  const auto alone = nlohmann::json::parse(w.run("sample run --where 'loss > 2.5 and region_a > 0' --json").out);
  const double error = std::hypot(alone["standard_error"].get<double>(), drawn["standard_error"].get<double>());
  EXPECT_NEAR(alone["probability"].get<double>(), drawn["probability"].get<double>(), 4 * error);

  ASSERT_EQ(w.run("sample run --beyond loss:0.999 -n 50 -o s.csv").code, 0);
  const Table table = read_csv(w / "s.csv");
  EXPECT_EQ(table.names, (std::vector<std::string>{"loss", "region_a", "weight"}));
  const auto quantile = nlohmann::json::parse(w.run("sample run --beyond 0.9999 --json").out);
  EXPECT_GT(quantile["threshold"], 0);
  EXPECT_LE(quantile["threshold_lower"], quantile["threshold"]);

  expect_refused_line(w, "sample run --where 'loss > ' -n 10 -o no.npy", "at character 8");
  expect_refused_line(w, "sample run --where 'los > 1' -n 10 -o no.npy", "did you mean loss?");
  expect_refused_line(w, "sample run --where 'loss > 1e9' -n 10 -o no.npy", "expected an event that happens");
  expect_refused_line(w, "sample run --beyond 0.99 --where 'loss > 1' -n 10 -o no.npy", "--where");
  expect_refused_line(w, "sample run -n 10", "-o");
  expect_refused_line(w, "sample run -n 10 -o no.npy --weights w2.npy", "--weights");
  const Outcome never = w.run("sample run --where 'loss > 1e9' --json");
  EXPECT_EQ(never.code, 0);
  EXPECT_FALSE(nlohmann::json::parse(never.out)["reached"]);
  EXPECT_NE(never.err.find("never happens"), std::string::npos);
}

}  // namespace
}  // namespace htfm
