// htfm tails as a user meets it.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "test/app/support.h"

namespace htfm {
namespace {

TEST(TailsCommand, SaysHeavyAndSuggestsAClock) {
  const Workplace w;
  ASSERT_EQ(w.run("source --family inverse-gamma --nu 2 --dim 2 -n 20000 -o t.npy").code, 0);
  const Outcome text = w.run("tails t.npy -o page.html");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("verdict: radius: heavy"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("clock: inverse-gamma(nu="), std::string::npos) << text.out;
  const std::string page = slurp(w / "page.html");
  for (const char* part : {"Mean excess", "γ against k", "chosen: ", "Quantiles", "column 2", "Suggested clock"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  const auto j = nlohmann::json::parse(w.run("tails t.npy --json --directions 4").out);
  EXPECT_EQ(j["verdict"], "heavy");
  const auto& radius = j["tails"]["radius"];
  EXPECT_LT(radius["index_interval"][0], 2);
  EXPECT_GT(radius["index_interval"][1], 2);
  EXPECT_EQ(j["directions"]["count"], 4);
  EXPECT_EQ(j["suggested_clock"]["family"], "inverse-gamma");
  EXPECT_NEAR(j["suggested_clock"]["nu"].get<double>(), 2, 0.35);
}

TEST(TailsCommand, LightColumnsAndBadInput) {
  const Workplace w;
  ASSERT_EQ(w.run("source --family deterministic --dim 2 -n 20000 -o g.csv").code, 0);
  const auto j = nlohmann::json::parse(w.run("tails g.csv --columns 2 --json").out);
  EXPECT_EQ(j["verdict"], "light");
  EXPECT_EQ(j["columns"], 1);
  EXPECT_EQ(j["suggested_clock"]["family"], "deterministic");
  EXPECT_TRUE(j["tails"]["radius"]["index"].is_null());
  w.write("few.csv", "a,b\n1,2\n3,4\n5,7\n");
  EXPECT_EQ(nlohmann::json::parse(w.run("tails few.csv --json").out)["verdict"], "too small to tell");
  EXPECT_EQ(w.run("tails few.csv").out.find("random directions"), std::string::npos) << "nothing can be said of them";
  w.write("same.csv", "a,b\n1,2\n1,2\n1,2\n");
  const Outcome same = w.run("tails same.csv");
  EXPECT_EQ(same.code, 2);
  EXPECT_NE(same.err.find("expected a column that varies"), std::string::npos) << same.err;
  w.write("gaps.csv", "day,a\nmonday,2\ntuesday,\nfriday,5\n");
  EXPECT_EQ(w.run("tails gaps.csv").code, 2);
  EXPECT_EQ(w.run("tails gaps.csv --drop day --missing refuse").code, 2);
  const Outcome gaps = w.run("tails gaps.csv --drop day");
  EXPECT_EQ(gaps.code, 0) << gaps.err;
  EXPECT_NE(gaps.err.find("1 of 3 rows left out for missing values"), std::string::npos) << gaps.err;
  w.write("bad.csv", "a,b\n1,2\n3,x\n");
  EXPECT_EQ(w.run("tails bad.csv").code, 2);
  EXPECT_EQ(w.run("tails none.csv").code, 2);
  EXPECT_EQ(w.run("tails g.csv --columns 7").code, 2);
}

TEST(SignOfLife, SilenceIsBrokenWithinTwoSeconds) {
  const Workplace w;
  w.write("few.csv", "a,b\n1,2\n3,4\n5,7\n");
  ASSERT_EQ(::mkfifo((w / "late.csv").c_str(), 0600), 0);
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2600));
    test::spill(w / "late.csv", slurp(w / "few.csv"));
  });
  const Outcome late = w.run("tails late.csv");
  writer.join();
  EXPECT_EQ(late.code, 0) << late.err;
  EXPECT_NE(slurp(w / ".err").find("... working (2 s)\n"), std::string::npos) << slurp(w / ".err");
  EXPECT_EQ(late.err.find("working"), std::string::npos) << late.err;
}

}  // namespace
}  // namespace htfm
