// htfm fit on tables as users have them: samples of the same kind, or one line and nothing left behind.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "htfm/base/random.h"
#include "htfm/io/csv.h"
#include "test/app/support.h"

namespace htfm {
namespace {

constexpr const char* kQuick =
    " -o run --minutes 0.02 --samples 1000 --no-compare --set net.width=16 --set net.blocks=1 --set sample.solver=ab2 "
    "--set sample.nfe=5";

class Numbers {
 public:
  explicit Numbers(uint64_t seed) : key_(seed) {}
  double uniform() { return key_.uniform(at_++); }
  double pareto(double index) { return std::pow(uniform(), -1 / index); }

 private:
  Key key_;
  uint64_t at_ = 0;
};

at::Tensor column(const Table& t, int64_t k) { return t.values.select(1, k); }
bool whole(const at::Tensor& x) { return x.equal(x.round()); }

TEST(FitCommand, SamplesAreOfTheTablesKind) {
  const Workplace w;
  Numbers u(1);
  std::string text =
      "id,\"net, gain\",claims,\"gr\xf6\xdf"
      "e\",constant,rain,rate,code,\n";
  for (int i = 1; i <= 400; ++i)
    text += fmt::format("{},{:.8f},{},{:.2f},7.5,{:.1f},{:.6f},{},\n", i, u.pareto(2) - u.pareto(2),
                        std::floor(u.pareto(1.5)), 1e6 + u.uniform(), u.uniform() < 0.7 ? 0.0 : u.pareto(3),
                        u.uniform(), u.uniform() < 0.5 ? 10 : 1000);
  w.write("t.csv", text);
  const Outcome fit = w.run(std::string("fit t.csv") + kQuick);
  ASSERT_EQ(fit.code, 0) << fit.err;
  EXPECT_NE(fit.err.find("id is different in every row, an identifier, and is left out"), std::string::npos) << fit.err;
  EXPECT_NE(fit.err.find("a column without name and values left out"), std::string::npos) << fit.err;
  for (const char* file : {"report.html", "fit.json", "samples.csv"})
    EXPECT_GT(slurp(w / ("run/" + std::string(file))).size(), 100u) << file;
  ASSERT_EQ(w.run("sample run -n 1000 -o more.csv").code, 0);
  for (const char* file : {"run/samples.csv", "more.csv"}) {
    const Table t = read_csv(w / file);
    EXPECT_EQ(t.names, (std::vector<std::string>{"net, gain", "claims", "größe", "constant", "rain", "rate", "code"}));
    EXPECT_TRUE(whole(column(t, 1)));
    EXPECT_GE(column(t, 1).min().item<double>(), 1);
    EXPECT_TRUE(whole(column(t, 2).mul(100).sub(1e8).mul(1e6).round().div(1e6))) << "two decimals beside a million";
    EXPECT_TRUE(column(t, 3).eq(7.5).all().item<bool>());
    EXPECT_GE(column(t, 4).min().item<double>(), 0);
    EXPECT_GT(column(t, 4).eq(0).sum().item<int64_t>(), t.values.size(0) / 2);
    EXPECT_LT(column(t, 5).max().item<double>(), 1.3) << "a bounded column beside heavy ones";
    EXPECT_TRUE(column(t, 6).eq(10).logical_or(column(t, 6).eq(1000)).all().item<bool>());
  }
}

// With one clock for all columns skewed tails are given a skewed source, and the report says why; symmetric tables have
// none.
TEST(FitCommandSlow, SkewedTailsAreGivenASkewedSource) {
  const Workplace w;
  ASSERT_EQ(w.run("source --family inverse-gamma --nu 5 --skew 1,-0.5 --dim 2 -n 2000 --seed 3 -o skewed.csv").code, 0);
  ASSERT_EQ(w.run("source --family inverse-gamma --nu 4 --dim 2 -n 2000 --seed 3 -o even.csv").code, 0);
  const auto source = [&](const std::string& arguments) {
    const Outcome fit =
        w.run("fit " + arguments + " --set data.normalise=table --minutes 0.02 --samples 2000 --no-compare --json");
    EXPECT_EQ(fit.code, 0) << fit.err;
    return nlohmann::json::parse(fit.out)["source"].get<std::string>();
  };
  EXPECT_EQ(source("skewed.csv -o skewed"), "skewed-student");
  EXPECT_NE(slurp(w / "skewed/config.toml").find("law = \"skewed-student\""), std::string::npos);
  EXPECT_NE(slurp(w / "skewed/report.html").find("So the source is skewed"), std::string::npos);
  EXPECT_EQ(w.run("sample skewed -n 1000 -o more.csv").code, 0);
  EXPECT_EQ(source("even.csv -o even"), "symmetric");
  const auto tails = nlohmann::json::parse(w.run("tails skewed.csv --json").out);
  EXPECT_TRUE(tails["skewed"].get<bool>());
  EXPECT_EQ(tails["skewness"]["column 1"]["verdict"], "heavier above");
  EXPECT_EQ(tails["skewness"]["column 2"]["verdict"], "heavier below");
  EXPECT_FALSE(nlohmann::json::parse(w.run("tails even.csv --json").out)["skewed"].get<bool>());
}

TEST(FitCommandSlow, TablesThatCannotBeFittedLeaveNothing) {
  const Workplace w;
  Numbers u(2);
  std::string rows, gaps, same, endless;
  for (int i = 0; i < 200; ++i) {
    const double x = u.pareto(2), y = u.uniform();
    rows += fmt::format("{},{}\n", x, y);
    gaps += i % 2 ? fmt::format("{},\n", x) : fmt::format(",{}\n", y);
    same += "4,4\n";
    endless += i == 150 ? "1,inf\n" : "1,2\n";
  }
  const std::pair<std::string, std::string> tables[] = {{"", "empty file"},
                                                        {"a,b\n", "only a header"},
                                                        {"a,b\n1,2\n3,4\n", "at least 100 rows"},
                                                        {"a,b\n1,2\n", "expected at least"},
                                                        {"a,b\n" + same, "a column that varies"},
                                                        {"a,b\n" + endless, "row 152, column 2 (b)"},
                                                        {"a,b\n" + rows + "1,x\n", "row 202, b: expected a number"},
                                                        {"a,b\n" + rows + "1\n", "row 202: expected 2 columns"}};
  for (const auto& [text, part] : tables) {
    w.write("t.csv", text);
    const Outcome fit = w.run(std::string("fit t.csv") + kQuick);
    EXPECT_EQ(fit.code, 2) << part;
    EXPECT_NE(fit.err.find(part), std::string::npos) << fit.err;
    EXPECT_EQ(std::count(fit.err.begin(), fit.err.end(), '\n'), 1) << fit.err;
    EXPECT_FALSE(std::filesystem::exists(w / "run")) << part;
  }
  w.write("gaps.csv", "a,b\n" + gaps);
  for (const auto& [choice, part] :
       {std::pair{"refuse", "row 2, column 1 (a)"}, {"drop", "a row without missing values"}}) {
    const Outcome fit = w.run(fmt::format("fit gaps.csv --missing {}{}", choice, kQuick));
    EXPECT_EQ(fit.code, 2) << choice;
    EXPECT_NE(fit.err.find(part), std::string::npos) << fit.err;
  }
  for (const char* arguments :
       {"none.csv", "t.xlsx", "t.csv --missing perhaps", "t.csv --minutes 0", "t.csv --columns z"})
    EXPECT_EQ(w.run(fmt::format("fit {} -o run2", arguments)).code, 2) << arguments;
}

}  // namespace
}  // namespace htfm
