// The page of a fitted table says what the values are.
#include "htfm/page/fit_page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "htfm/report/text.h"
#include "htfm/stat/student_t.h"

namespace htfm {
namespace {

TEST(FitPage, ItsNumbersAreThoseOfTheFit) {
  const StudentT law{.nu = 3, .location = {0, 1}, .root = {1, 0, 0.5, 1}};
  const Dataset table{.rows = law.sample(Key(1), 300), .names = {"gain", "<loss>"}, .origin = "draws of a law"};
  TableFitOptions o{.settings = {"train.epochs=1", "net.width=16", "net.blocks=1", "sample.solver=ab2", "sample.nfe=4"},
                    .minutes = 0.2,
                    .samples = 200};
  TableFit fit = fit_table(table, o);
  fit.models[0].score.error = 0.12345, fit.diverged = 7, fit.seconds = 83;
  const std::string page = fit_page(fit, {{"command", "a test & more"}});
  const auto says = [&](const std::string& text) { return page.find(report::escape(text)) != std::string::npos; };
  for (const std::string& part :
       {std::string("A model of draws of a law"), std::string("0.123"), std::string("7 of the samples are not finite"),
        std::string("1 min 23 s"), std::string("a test & more"), std::string("<loss>"), fit.model.weights_hash(),
        fit.plan.train.hash, fit.plan.model.clock.describe(), fit.plan.clock.explanation,
        fit.plan.transform.describe(0), std::string("210 rows say little")})
    EXPECT_TRUE(says(part)) << part;
  for (const std::string& sentence : comparison_sentences(fit)) EXPECT_TRUE(says(sentence)) << sentence;
  for (const TableModel& m : fit.models) EXPECT_TRUE(says(m.name)) << m.name;
  for (const auto& [key, value] : config_entries(fit.plan.model)) EXPECT_TRUE(says(value)) << key;

  // Without held-out rows there is nothing to compare with, and the page does without.
  fit.yardstick.reset(), fit.plan.held_out.rows = fit.plan.held_out.rows.narrow(0, 0, 0);
  const std::string alone = fit_page(fit);
  EXPECT_EQ(alone.find("error of far quantiles"), std::string::npos);
  EXPECT_NE(alone.find("training rows"), std::string::npos);
}

}  // namespace
}  // namespace htfm
