// Image scores and grids as a user meets them.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "htfm/base/random.h"
#include "htfm/data/image_set.h"
#include "htfm/io/npy.h"
#include "htfm/io/png.h"
#include "test/app/support.h"
#include "test/data.h"

namespace htfm {
namespace {

using nlohmann::json;

/// A folder with 60 records in data_batch_1.bin, one colour a class plus noise, and the same images as samples in
/// s.npy.
class Images : public testing::Test {
 protected:
  Images() {
    const Key key(1);
    for (int64_t i = 0; i < kCount; ++i) {
      records_.push_back(static_cast<char>(i % 3));
      for (int64_t k = 0; k < 3072; ++k)
        records_.push_back(
            static_cast<char>(60 * (i % 3) + static_cast<int64_t>(key.below(60, static_cast<uint64_t>(i * 3072 + k)))));
    }
    place_.write("a.bin", records_);
    samples_ = at::empty({kCount, 3072}, at::kFloat);
    for (int64_t i = 0; i < kCount * 3072; ++i)
      samples_.mutable_data_ptr<float>()[i] = static_cast<float>(static_cast<unsigned char>(
                                                  records_[static_cast<size_t>(i / 3072 * 3073 + 1 + i % 3072)])) /
                                                  127.5F -
                                              1;
    write_npy(place_ / "s.npy", samples_);
  }
  static std::string network(const char* name) { return "'" + test::golden_file("metric/") + name + "'"; }
  void expect_refusal(const std::string& arguments, const std::string& part) const {
    const Outcome r = place_.run(arguments);
    EXPECT_EQ(r.code, 2) << arguments << "\n" << r.err;
    EXPECT_NE(r.err.find(part), std::string::npos) << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  }

  static constexpr int64_t kCount = 60;
  Workplace place_;
  std::string records_;
  at::Tensor samples_;
};

using ImagesSlow = Images;

TEST_F(Images, EvalScoresSamplesAndKeepsTheReference) {
  const std::string command =
      "eval --real a.bin --fake s.npy --features " + network("patches.pt") + " --reference-cache r.safetensors";
  for (int round = 0; round < 2; ++round) {
    const Outcome r = place_.run(command + " --json");
    ASSERT_EQ(r.code, 0) << r.err;
    const json j = json::parse(r.out);
    EXPECT_EQ(j.at("fd_name"), "FD[patches]");
    EXPECT_NEAR(j.at("fd").get<double>(), 0, 1e-5);
    EXPECT_EQ(j.at("precision"), 1.0);
    EXPECT_EQ(j.at("recall"), 1.0);
    EXPECT_EQ(j.at("n_real"), kCount);
    EXPECT_EQ(j.at("n_fake"), kCount);
    EXPECT_EQ(j.at("k"), 3);
    EXPECT_EQ(j.at("features_sha256").get<std::string>().size(), 64U);
    EXPECT_EQ(j.at("classes").at("bird").at("fake"), 20);
    EXPECT_EQ(j.at("classes").at("truck").at("fake"), 0);
    EXPECT_TRUE(std::filesystem::exists(place_ / "r.safetensors"));
  }
  place_.write("about.json", R"({"solver": "euler", "nfe": 20})");
  const Outcome text = place_.run(command + " --about about.json -k 5");
  ASSERT_EQ(text.code, 0) << text.err;
  for (const char* part :
       {"FD[patches]", "features_sha256", "n_real", "split", "train", "euler", "real     20  fake     20"})
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
}

TEST_F(Images, ClassesThatWereGivenAreScoredAndDrawnInRows) {
  std::string classes = "class\n";
  for (int64_t i = 0; i < kCount; ++i) classes += i % 3 == 0 && i > 29 ? "1\n" : std::to_string(i % 3) + "\n";
  place_.write("s.npy.conditions.csv", classes);
  const Outcome r = place_.run("eval --real a.bin --fake s.npy --json --features " + network("patches.pt"));
  ASSERT_EQ(r.code, 0) << r.err;
  const json j = json::parse(r.out), automobile = j.at("classes").at("automobile");
  EXPECT_EQ(automobile.at("asked"), 30) << "ten airplanes were asked to be automobiles";
  EXPECT_NEAR(automobile.at("accuracy").get<double>(), 2.0 / 3, 1e-12);
  EXPECT_EQ(j.at("classes").at("bird").at("accuracy"), 1.0);
  EXPECT_NEAR(j.at("class_accuracy").get<double>(), (1 + 2.0 / 3 + 1) / 3, 1e-12);
  const Outcome text = place_.run("eval --real a.bin --fake s.npy --features " + network("patches.pt"));
  EXPECT_NE(text.out.find("asked     30"), std::string::npos) << text.out;
  const Outcome grid = place_.run("grid s.npy -o g.png --by-class --columns 7");
  ASSERT_EQ(grid.code, 0) << grid.err;
  const at::Tensor picture = read_png(place_ / "g.png");
  EXPECT_EQ(picture.sizes(), at::IntArrayRef({3, 2 + 3 * 34, 2 + 7 * 34}));
  place_.write("s.npy.conditions.csv", "class\n1\n");
  expect_refusal("grid s.npy -o g.png --by-class", "expected the classes of 60 samples, got 1");
  std::filesystem::remove(place_ / "s.npy.conditions.csv");
  expect_refusal("grid s.npy -o g.png --by-class", "s.npy.conditions.csv");
}

TEST_F(Images, EvalCountsWhatDivergedAndWhatWasClipped) {
  samples_.mutable_data_ptr<float>()[5 * 3072 + 7] = std::numeric_limits<float>::infinity();
  samples_.mutable_data_ptr<float>()[6 * 3072] = 3;
  write_npy(place_ / "d.npy", samples_.view({kCount, 3, 32, 32}));
  const Outcome r = place_.run("eval --real a.bin --fake d.npy --json --features " + network("patches.pt"));
  ASSERT_EQ(r.code, 0) << r.err;
  const json j = json::parse(r.out);
  EXPECT_EQ(j.at("nonfinite"), 1);
  EXPECT_EQ(j.at("n_fake"), kCount - 1);
  EXPECT_NEAR(j.at("clipped_share").get<double>(), 1.0 / (59 * 3072), 1e-12);
}

TEST_F(Images, EvalSaysInOneLineWhatIsWrong) {
  const std::string eval = "eval --real a.bin --fake s.npy --features ";
  expect_refusal(eval + network("weights.pt"), "weights.pt: expected a TorchScript file");
  expect_refusal(eval + network("maps.pt"), "maps.pt: expected a network that gives floats of shape");
  expect_refusal(eval + "absent.pt", "absent.pt");
  expect_refusal(eval + network("patches.pt") + " --metrics mmd", "[--metrics]");
  place_.write("cut.bin", records_.substr(0, 5000));
  expect_refusal("eval --real cut.bin --fake s.npy --features " + network("patches.pt"), "cut.bin: truncated");
  expect_refusal("eval --real absent --fake s.npy --features " + network("patches.pt"), "absent");
  write_npy(place_ / "small.npy", samples_.narrow(1, 0, 100));
  expect_refusal("eval --real a.bin --fake small.npy --features " + network("patches.pt"),
                 "expected rows of 3 x 32 x 32 = 3072 numbers, got 100");
  place_.write("r.safetensors", "damaged");
  expect_refusal(eval + network("patches.pt") + " --reference-cache r.safetensors", "r.safetensors");
}

TEST_F(Images, GridDrawsSamplesAndClasses) {
  ASSERT_EQ(place_.run("grid s.npy -o g.png --columns 8 --rows 2").code, 0);
  const at::Tensor grid = read_png(place_ / "g.png");
  ASSERT_EQ(grid.sizes(), at::IntArrayRef({3, 2 * 34 + 2, 8 * 34 + 2}));
  EXPECT_TRUE(
      grid.narrow(1, 36, 32).narrow(2, 2 + 34, 32).equal(to_bytes(samples_).pixels.select(0, 9).view({3, 32, 32})));
  const Outcome r = place_.run("grid s.npy -o c.png --rows 4 --real a.bin --features " + network("patches.pt"));
  ASSERT_EQ(r.code, 0) << r.err;
  const at::Tensor classes = read_png(place_ / "c.png");
  ASSERT_EQ(classes.sizes(), at::IntArrayRef({3, 4 * 34 + 2, 10 * 34 + 2}));
  // Colour c of the first three columns; the other classes have no image.
  for (int64_t c = 0; c < 10; ++c) {
    const double mean = classes.narrow(1, 2, 32).narrow(2, 2 + 34 * c, 32).to(at::kFloat).mean().item<double>();
    EXPECT_NEAR(mean, c < 3 ? 60.0 * static_cast<double>(c) + 29.5 : 255.0, 2) << c;
  }
  expect_refusal("grid s.npy -o g.jpg", "expected a file that ends in .png");
  expect_refusal("grid s.npy -o g.png --real a.bin", "[--features]");
  expect_refusal("grid absent.npy -o g.png", "absent.npy");
}

TEST_F(Images, AreDataToTrainOn) {
  place_.write("c.toml", "[data]\npath = \"a.bin\"\n[train]\nepochs = 1\nbatch = 60\n");
  const Outcome r = place_.run("train c.toml -o run");
  ASSERT_EQ(r.code, 0) << r.err;
  expect_refusal("train c.toml --set data.kind=png -o other", "a.bin: expected a folder of PNG files");
  expect_refusal("train c.toml --set data.subset=long-tail -o other",
                 "expected at least 5000 images of class 0 (airplane)");
}

constexpr const char* kSmallImages =
    " --seeds 1 --device cpu --threads 1 --set train.epochs=1 --set unet.base=8 --set unet.groups=4 --set "
    "unet.multipliers=1,1 --set unet.blocks=1 --set unet.heads=1 --set unet.attention=16 --set sample.n=12 --set "
    "clock.grid=4";

TEST_F(Images, ReproducePrintsThePapersValueAtItsOwnCountOfEvaluations) {
  const Outcome r =
      place_.run(std::string("reproduce solver --data a.bin --features ") + network("patches.pt") + kSmallImages +
                 " --set data.rows=20 --set train.batch=20 --only ab2-paper-20,seed0-midpoint-20 -o out "
                 "--json");
  ASSERT_EQ(r.code, 0) << r.err;
  std::map<std::string, json> cells;
  const json out = json::parse(r.out);
  for (const json& cell : out["cells"]) cells[cell["solver"]] = cell;
  EXPECT_EQ(cells.at("ab2-paper")["nfe"], 11);
  EXPECT_EQ(cells.at("ab2-paper")["paper_fid"], 18.02);
  EXPECT_EQ(cells.at("midpoint")["paper_fid"], 17.82);
  // By the name in the table: all samplers of one model.
  const Outcome one =
      place_.run(std::string("reproduce flow-type --data a.bin --features ") + network("patches.pt") + kSmallImages +
                 " --set data.rows=20 --set train.batch=20 --only =ours-alpha-1.7-seed0 -o one --json");
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(json::parse(one.out)["cells"].size(), 2u);
}

TEST_F(Images, ReproducedBaselinesAreThoseOfThePaperWherePublished) {
  const std::string command =
      std::string("reproduce baselines --published --data a.bin --features ") + network("patches.pt") + " --only ";
  const auto cells = [&](const std::string& only) { return place_.run(command + only + " -o out").err; };
  const std::string offered = cells("absent");  // the refusal lists them
  for (const char* there : {"dlpm-G", "dlpm-1.9-seed0-dlim-500", "lim-1.6-seed0-sde-20", "tflow-3.0-seed0-euler-100"})
    EXPECT_NE(offered.find(there), std::string::npos) << there;
  for (const char* not_there : {"dlim-1.7", "-ode-", "-heun-"})
    EXPECT_EQ(offered.find(not_there), std::string::npos) << not_there;
}

TEST_F(ImagesSlow, KeptCellsNeedNoPictures) {
  const std::string command = std::string("reproduce cifar10lt-classes --data a.bin --features ") +
                              network("patches.pt") + kSmallImages +
                              " --set data.rows=20 --set train.batch=20 --only given-alpha-1.7-seed0-ab2 -o out";
  const Outcome first = place_.run(command);
  ASSERT_EQ(first.code, 0) << first.err;
  for (const auto& entry : std::filesystem::directory_iterator(place_ / "out"))
    if (entry.path().extension() == ".png") std::filesystem::remove(entry.path());
  const Outcome second = place_.run(command);
  EXPECT_EQ(second.code, 0) << second.err;
}

TEST_F(ImagesSlow, ReproduceTakesTheLongTailOfALargerSet) {
  std::string records;
  std::vector<int64_t> counts = long_tail_counts(10);
  counts.back() += 7;  // as the official set has more of every class
  for (size_t c = 0; c < counts.size(); ++c)
    for (int64_t i = 0; i < counts[c]; ++i) {
      records.push_back(static_cast<char>(c));
      records.append(3072, static_cast<char>(25 * c + static_cast<size_t>(i % 20)));
    }
  place_.write("full.bin", records);
  const Outcome r =
      place_.run(std::string("reproduce solver --data full.bin --features ") + network("patches.pt") + kSmallImages +
                 " --set data.rows=20 --set train.batch=20 --only =ours-alpha-1.7-seed0-euler-5 -o out --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const json cell = json::parse(r.out)["cells"][0];
  EXPECT_EQ(cell["n_real"], 12406);
  EXPECT_NE(cell["config"].get<std::string>().find("subset = \"long-tail\""), std::string::npos);
}

}  // namespace
}  // namespace htfm
