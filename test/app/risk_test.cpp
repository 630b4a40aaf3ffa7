// htfm risk as a user meets it.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "test/app/support.h"

namespace htfm {
namespace {

// Two columns of returns and a run of few steps.
void make_run(const Workplace& w) {
  ASSERT_EQ(w.run("source --family inverse-gamma --nu 4 --dim 2 -n 800 -o x.csv").code, 0);
  w.write("t.csv", "a,b\n" + slurp(w / "x.csv"));
  const Outcome fit = w.run(
      "fit t.csv --no-compare --samples 100 --set data.normalise=scores --set train.epochs=2 --set net.width=16 --set "
      "net.blocks=1 --set sample.solver=euler "
      "--set sample.nfe=2 -o run");
  ASSERT_EQ(fit.code, 0) << fit.err;
}

TEST(RiskCommand, MeasuresColumnsAndAPortfolio) {
  const Workplace w;
  make_run(w);
  EXPECT_NE(slurp(w / "run/report.html").find(">Risk<"), std::string::npos) << "a section of the report";
  w.write("w.csv", "column,weight\na,0.5\nb,-1\n");
  const Outcome text = w.run("risk run --portfolio w.csv --losses low,b=high -n 20000 --rounds 20 -o risk");
  ASSERT_EQ(text.code, 0) << text.err;
  for (const char* part : {"a (low)", "portfolio (low)", "value at risk", "expected shortfall", "P(both beyond)",
                           "training rows drawn with replacement", "risk/scenarios_portfolio.csv"})
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  for (const char* file :
       {"measures.csv", "joint.csv", "stress.csv", "scenarios_portfolio.csv", "risk.html", "risk.json"})
    EXPECT_TRUE(std::filesystem::exists(w / ("risk/" + std::string(file)))) << file;
  const auto j =
      nlohmann::json::parse(w.run("risk run --portfolio w.csv --losses low,b=high -n 20000 --rounds 20 --json").out);
  EXPECT_EQ(j["uncertainty"], "tail fit");
  EXPECT_EQ(j["training_rows"], 800);
  EXPECT_EQ(j["losses"]["b"]["side"], "high");
  for (const char* loss : {"a", "b", "portfolio"})
    for (const auto& m : j["losses"][loss]["measures"]) {
      const double sign = loss == std::string("b") ? 1 : -1;
      EXPECT_GT(sign * m["sfall"]["value"].get<double>(), sign * m["quantile"]["value"].get<double>());
      EXPECT_LE(m["quantile"]["interval"][0].get<double>(), m["quantile"]["value"].get<double>());
      EXPECT_GE(m["quantile"]["interval"][1].get<double>(), m["quantile"]["value"].get<double>());
    }
  // The same numbers from a second run, and in the file.
  EXPECT_EQ(nlohmann::json::parse(slurp(w / "risk/risk.json"))["losses"], j["losses"]);
}

TEST(RiskCommandSlow, SaysWhatIsMissing) {
  const Workplace w;
  make_run(w);
  const auto refused = [&](const std::string& arguments, const char* words) {
    const Outcome o = w.run("risk " + arguments);
    EXPECT_EQ(o.code, 2) << arguments;
    EXPECT_NE(o.err.find(words), std::string::npos) << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  };
  w.write("w.csv", "aa,1\n");
  w.write("bad.csv", "a,much\n");
  refused("run --portfolio w.csv", "did you mean a?");
  refused("run --portfolio bad.csv", "bad.csv: line 1: expected a number");
  refused("run --losses sideways", "expected high, low");
  refused("run --levels 0.2", "expected levels from 0.5");
  refused("run --refits 1", "at least 2");
  refused("nothing", "expected a run folder");
  std::filesystem::rename(w / "t.csv", w / "moved.csv");
  const Outcome gone = w.run("risk run -n 2000 --rounds 20");
  EXPECT_EQ(gone.code, 0) << gone.err;
  EXPECT_NE(gone.out.find("rows of the model drawn with replacement"), std::string::npos) << gone.out;
  const Outcome moved = w.run("risk run -n 2000 --rounds 20 --data moved.csv");
  EXPECT_NE(moved.out.find("training rows drawn with replacement"), std::string::npos) << moved.out << moved.err;
  refused("run --data w.csv", "");
}

TEST(TailsCommand, PrintsValueAtRiskAndReturnLevels) {
  const Workplace w;
  ASSERT_EQ(w.run("source --family inverse-gamma --nu 3 --dim 1 -n 5000 -o t.npy").code, 0);
  const Outcome text = w.run("tails t.npy --levels 0.99 --return-periods 500 -o page.html");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("value at risk, return level"), std::string::npos) << text.out;
  const std::string page = slurp(w / "page.html");
  for (const char* part : {"Threshold stability: shape", "Threshold stability: modified scale", "mean residual life"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  const auto risk =
      nlohmann::json::parse(w.run("tails t.npy --levels 0.99 --return-periods 100,500 --json").out)["risk"];
  const auto& above = risk["column 1, above"];
  EXPECT_EQ(above["riskmeasures"].size(), 1u);
  EXPECT_NEAR(above["return_levels"][0]["level"]["value"].get<double>(),
              above["riskmeasures"][0]["quantile"]["value"].get<double>(), 1e-9);
  EXPECT_EQ(above["return_levels"][1]["period"], 500);
  EXPECT_EQ(w.run("tails t.npy --return-periods 1").code, 2);
}

}  // namespace
}  // namespace htfm
