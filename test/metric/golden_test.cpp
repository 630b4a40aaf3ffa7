// Scores of stored sets against scipy, scikit-learn and numpy (golden/make_metric.py).
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "htfm/metric/metric.h"
#include "test/data.h"
#include "test/metric/support.h"

namespace htfm {
namespace {

/// Reads the two-dimensional little-endian float32 arrays that the script writes.
at::Tensor read_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.size() < 10) throw std::runtime_error("cannot read " + path);
  const size_t header = 10 + static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  long long n = 0, dim = 0;
  const size_t shape = bytes.find("'shape': (");
  if (bytes.find("'<f4'") > header || shape > header ||
      std::sscanf(bytes.c_str() + shape, "'shape': (%lld, %lld)", &n, &dim) != 2)
    throw std::runtime_error("not a float32 table: " + path);
  at::Tensor tensor = at::empty({n, dim}, at::kFloat);
  if (bytes.size() != header + tensor.nbytes()) throw std::runtime_error("wrong length: " + path);
  std::memcpy(tensor.mutable_data_ptr<float>(), bytes.data() + header, tensor.nbytes());
  return tensor;
}

class Golden : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string folder = test::golden_file("metric/");
    std::ifstream file(folder + "scores.json");
    expected = nlohmann::json::parse(file).at(GetParam());
    real = read_npy(folder + GetParam() + "_real.npy");
    fake = read_npy(folder + GetParam() + "_fake.npy");
  }
  double value(const char* name) const { return expected.at(name).get<double>(); }

  nlohmann::json expected;
  at::Tensor real, fake;
};

TEST_P(Golden, F1Knn) {
  const KnnScore score = f1_knn(real, fake, expected.at("k").get<int>());
  EXPECT_DOUBLE_EQ(score.precision, value("precision_knn"));
  EXPECT_DOUBLE_EQ(score.recall, value("recall_knn"));
}

TEST_P(Golden, F1PrdWithinFourStandardErrorsAnd0003) {
  constexpr int kSeeds = 12;
  double mean = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    PrdOptions options;
    options.seed = seed;
    mean += f1_prd(real, fake, options).f1 / kSeeds;
  }
  const double error = value("f1_prd_sd") * std::sqrt(1 / value("f1_prd_seeds") + 1.0 / kSeeds);
  EXPECT_NEAR(mean, value("f1_prd_mean"), std::min(4 * error, 0.003));
}

TEST_P(Golden, W1AndQuantiles) {
  const MetricReport report = compute_metrics({"w1_pooled", "tails"}, real, fake);
  EXPECT_NEAR(report["w1_pooled"], value("w1_pooled"), 1e-12 * value("w1_pooled"));
  EXPECT_NEAR(report["log_q_0.99"], value("log_q_0.99"), 1e-10);
}

INSTANTIATE_TEST_SUITE_P(Sets, Golden, testing::Values("mixture", "student3d", "normal12d"),
                         [](const auto& set) { return std::string(set.param); });

}  // namespace
}  // namespace htfm
