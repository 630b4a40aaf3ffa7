#include "htfm/page/tail_findings.h"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "htfm/data/synthetic.h"
#include "test/io/support.h"

namespace htfm {
namespace {

TEST(TailFindings, TheTextAndTheJsonSayTheSame) {
  Dataset data;
  data.rows = draw_synthetic(Key(3), {.name = "student", .dim = 2, .nu = 3}, 4000);
  data.names = {"loss", "gain"};
  const TailFindings found = find_tails("x.csv", data, {});
  const std::string text = tail_findings_text(found, {});
  const auto json = nlohmann::json::parse(tail_findings_json(found, {}));
  EXPECT_MENTIONS(text, "\nverdict: " + found.diagnosis.sentence + "\n");
  EXPECT_MENTIONS(text, "\nclock: " + found.clock.spec.describe() + "\n");
  EXPECT_EQ(json.at("suggested_clock").at("family"), found.clock.spec.family);
  for (const char* key : {"risk", "extremes"}) EXPECT_TRUE(json.contains(key)) << key;
  data.rows = at::full({100, 2}, 7.0, at::kDouble);
  EXPECT_MENTIONS(test::input_error([&] { find_tails("x.csv", data, {}); }),
                  "[tails] x.csv: expected a column that varies, got only constant ones");
}

}  // namespace
}  // namespace htfm
