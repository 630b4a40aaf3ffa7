// A diagnosis as a page, as text and as JSON: the same numbers everywhere.
#include "htfm/page/tail_page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "htfm/page/tail_cells.h"
#include "htfm/page/tail_text.h"
#include "htfm/report/text.h"
#include "htfm/stat/student_t.h"

namespace htfm {
namespace {

TEST(TailPage, PageTextAndJsonAgreeWithTheDiagnosis) {
  const StudentT law{.nu = 2, .location = {5, 1}, .root = {1, 0, 0.5, 1}};
  const Dataset data{
      .rows = law.sample(Key(4), 8000), .names = {"gain", "loss"}, .hash = "0123abcd", .origin = "draws"};
  DiagnosisOptions options;
  options.directions = 3;
  const Diagnosis d = diagnose(data.rows, data.names, options);
  const ChosenClock clock = suggest_clock(d);
  const std::string page = tail_page("a law", data, d, clock, {{"command", "a test"}}), text = diagnosis_text(d);
  const auto json = nlohmann::json::parse(diagnosis_json(d));
  ASSERT_EQ(listed_tails(d).size(), 5u);
  for (const TailReport* tail : listed_tails(d)) {
    ASSERT_GT(tail->choice.k, 0) << tail->name;
    const std::string index = fmt::format("{:.2f}", tail->choice.index());
    EXPECT_NE(page.find(report::escape(estimate_text(tail->choice.hill))), std::string::npos) << tail->name;
    EXPECT_NE(page.find(report::escape(tail->sentence)), std::string::npos) << tail->name;
    EXPECT_NE(text.find(index), std::string::npos) << tail->name;
    EXPECT_EQ(json["tails"][tail->name]["index"].get<double>(), tail->choice.index()) << tail->name;
    EXPECT_EQ(json["tails"][tail->name]["threshold"].get<double>(), tail->centre + tail->sign * tail->choice.threshold)
        << tail->name;
  }
  for (const std::string& part :
       {std::string("Tails of a law"), clock.explanation, d.sentence, data.hash, std::string("a test")})
    EXPECT_NE(page.find(report::escape(part)), std::string::npos) << part;
  const DirectionCounts counts = count_directions(d);
  EXPECT_EQ(counts.heavy + counts.light + counts.unclear, 3);
  EXPECT_EQ(json["directions"]["heavy"], counts.heavy);
}

TEST(TailCells, NoPowerLawIsInfinite) {
  EXPECT_EQ(index_text(std::numeric_limits<double>::infinity()), "∞");
  EXPECT_EQ(index_text(std::nan("")), "-");
  EXPECT_EQ(interval_text({2.1, std::numeric_limits<double>::infinity()}), "2.10 to ∞");
}

}  // namespace
}  // namespace htfm
