// Sets of images: CIFAR-10's records, folders of PNG files, arrays; the long tail; the way to rows and back to bytes.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <limits>

#include "htfm/data/cifar.h"
#include "htfm/data/dataset.h"
#include "htfm/data/image_folder.h"
#include "htfm/data/table_transform.h"
#include "htfm/io/npy.h"
#include "htfm/io/png.h"
#include "test/io/support.h"

namespace htfm {
namespace {

using test::input_error;
using test::spill;
using test::TemporaryFolder;

/// Byte k of image i.
uint8_t pixel(int64_t i, int64_t k) { return static_cast<uint8_t>((i * 37 + k * 11 + k / 1024) % 256); }

/// Records first .. first + count - 1 of a set whose labels go round.
std::string records(int64_t first, int64_t count) {
  std::string bytes;
  for (int64_t i = first; i < first + count; ++i) {
    bytes.push_back(static_cast<char>(i % 10));
    for (int64_t k = 0; k < 3072; ++k) bytes.push_back(static_cast<char>(pixel(i, k)));
  }
  return bytes;
}

TEST(Cifar, ReadsTheBatchesOfAFolderInOrder) {
  const TemporaryFolder folder;
  spill(folder / "data_batch_2.bin", records(300, 5));
  spill(folder / "data_batch_1.bin", records(0, 300));
  spill(folder / "test_batch.bin", "not read");
  const ImageSet set = read_images({.path = folder.path()});
  ASSERT_EQ(set.pixels.sizes(), at::IntArrayRef({305, 3, 32, 32}));
  for (int64_t i = 0; i < 305; ++i) {
    ASSERT_EQ(set.labels.const_data_ptr<int64_t>()[i], i % 10);
    for (int64_t k = 0; k < 3072; ++k) ASSERT_EQ(set.pixels.const_data_ptr<uint8_t>()[i * 3072 + k], pixel(i, k));
  }
  EXPECT_EQ(set.classes.at(9), "truck");
  EXPECT_EQ(set.class_counts(), (std::vector<int64_t>{31, 31, 31, 31, 31, 30, 30, 30, 30, 30}));
  // One file with the same records is the same set.
  spill(folder / "all.bin", records(0, 305));
  EXPECT_EQ(read_images({.path = folder / "all.bin"}).hash, set.hash);
  spill(folder / "batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\r\nj\n\n");
  EXPECT_EQ(read_cifar10(folder.path()).classes,
            (std::vector<std::string>{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}));
}

TEST(Cifar, NamesFileAndRecordOfDamage) {
  const TemporaryFolder folder;
  const std::string path = folder / "data_batch_1.bin";
  const auto refusal = [&](const std::string& bytes) {
    spill(path, bytes);
    return input_error([&] { read_images({.path = folder.path()}); });
  };
  EXPECT_MENTIONS(
      refusal(records(0, 7).substr(0, 6 * 3073 + 100)),
      "data_batch_1.bin: truncated: expected records of 3073 bytes, got 100 bytes in record 6 (counted from 0)");
  EXPECT_MENTIONS(refusal(""), "data_batch_1.bin: expected records of 3073 bytes, got an empty file");
  std::string wrong = records(0, 300);
  wrong[280 * 3073] = 10;
  EXPECT_MENTIONS(refusal(wrong),
                  "data_batch_1.bin: record 280 (counted from 0): expected a label from 0 to 9, got 10");
  spill(path, records(0, 1));
  spill(folder / "data_batch_3.bin", records(0, 1));
  EXPECT_MENTIONS(input_error([&] { read_images({.path = folder.path()}); }), "got none named data_batch_2.bin");
  EXPECT_MENTIONS(input_error([&] { read_images({.path = folder / "absent.bin"}); }), "absent.bin");
  EXPECT_MENTIONS(input_error([&] { read_images({.path = folder / "absent", .kind = "cifar10"}); }), "absent");
}

TEST(Cifar, TheOfficialSetIsWholeOrRefused) {
  const TemporaryFolder folder;
  spill(folder / "data_batch_1.bin", std::string(size_t{30'730'000}, '\0'));
  EXPECT_MENTIONS(input_error([&] { read_images({.path = folder.path()}); }),
                  "expected data_batch_1.bin to data_batch_5.bin, got none named data_batch_2.bin");
  const TemporaryFolder pickled;
  spill(pickled / "data_batch_1", "x");
  EXPECT_MENTIONS(input_error([&] { read_cifar10(pickled.path()); }), "the Python version of CIFAR-10");
}

TEST(LongTail, HasTheCountsOfThePaper) {
  const std::vector<int64_t> counts = long_tail_counts(10);
  EXPECT_EQ(counts, (std::vector<int64_t>{5000, 2997, 1796, 1077, 645, 387, 232, 139, 83, 50}));
  int64_t total = 0;
  for (const int64_t c : counts) total += c;
  EXPECT_EQ(total, 12406);
  EXPECT_EQ(long_tail_counts(3, 1, 7), (std::vector<int64_t>{7, 7, 7}));
}

TEST(LongTail, TakesTheFirstOfEachClassAndTwiceIsOnce) {
  const TemporaryFolder folder;
  spill(folder / "a.bin", records(0, 400));
  const ImageSet all = read_cifar10(folder / "a.bin"), tail = long_tail(all, 0.1, 40);
  EXPECT_EQ(tail.class_counts(), long_tail_counts(10, 0.1, 40));
  // Image i has label i % 10 and is number i / 10 of its class.
  int64_t at = 0;
  for (int64_t i = 0; i < 400; ++i) {
    if (i / 10 >= long_tail_counts(10, 0.1, 40)[i % 10]) continue;
    ASSERT_TRUE(tail.pixels.select(0, at++).equal(all.pixels.select(0, i))) << i;
  }
  EXPECT_EQ(at, tail.size());
  EXPECT_EQ(long_tail(tail, 0.1, 40).hash, tail.hash);
  EXPECT_NE(tail.hash, all.hash);
  EXPECT_MENTIONS(input_error([&] { read_images({.path = folder / "a.bin", .subset = "long-tail"}); }),
                  "expected at least 5000 images of class 0 (airplane) for a long tail, got 40");
  EXPECT_MENTIONS(input_error([&] { read_images({.path = folder / "a.bin", .subset = "head"}); }),
                  "expected all or long-tail");
}

TEST(ImageFolder, SubFoldersAreClasses) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "dogs");
  std::filesystem::create_directories(folder / "cats");
  std::filesystem::create_directories(folder / "empty");
  const auto image = [](int64_t v) { return at::full({3, 4, 5}, v, at::kByte); };
  write_png(folder / "dogs/b.png", image(4));
  write_png(folder / "dogs/a.PNG", image(3));
  write_png(folder / "cats/z.png", image(2));
  spill(folder / "dogs/readme.txt", "");
  EXPECT_EQ(image_kind(folder.path()), "png");
  const ImageSet set = read_images({.path = folder.path()});
  EXPECT_EQ(set.classes, (std::vector<std::string>{"cats", "dogs"}));
  EXPECT_TRUE(set.labels.equal(at::tensor({0, 1, 1}, at::kLong)));
  for (int64_t i = 0; i < 3; ++i) EXPECT_TRUE(set.pixels.select(0, i).equal(image(i + 2)));
  EXPECT_EQ(set.notes, std::vector<std::string>{"1 files that are not named .png left out"});
  write_png(folder / "cats/y.png", at::zeros({3, 4, 6}, at::kByte));
  EXPECT_MENTIONS(input_error([&] { read_images({.path = folder.path()}); }), "expected images of one size");
  std::filesystem::remove(folder / "cats/y.png");
  write_png(folder / "top.png", image(1));
  EXPECT_MENTIONS(input_error([&] { read_images({.path = folder.path()}); }), "got both");
}

TEST(ImageFolder, AFlatFolderHasNoLabels) {
  const TemporaryFolder folder;
  EXPECT_MENTIONS(input_error([&] { read_images({.path = folder.path()}); }), "got neither");
  EXPECT_MENTIONS(input_error([&] { read_image_folder(folder.path()); }), "got none");
  for (int64_t i = 0; i < 40; ++i)
    write_png(folder / fmt::format("{:03}.png", i), at::arange(i, i + 6).to(at::kByte).view({1, 2, 3}));
  const ImageSet set = read_images({.path = folder.path()});
  EXPECT_FALSE(set.labels.defined());
  EXPECT_EQ(set.shape(), (ImageShape{1, 2, 3}));
  for (int64_t i = 0; i < 40; ++i)
    EXPECT_TRUE(set.pixels.select(0, i).view({6}).equal(at::arange(i, i + 6).to(at::kByte)));
  spill(folder / "020.png", test::slurp(folder / "020.png").substr(0, 50));
  EXPECT_MENTIONS(input_error([&] { read_images({.path = folder.path()}); }), "020.png: damaged");
}

TEST(ImageArray, ChannelsFirstOrLastBytesOrFloats) {
  const TemporaryFolder folder;
  const at::Tensor first = at::arange(2 * 3 * 4 * 5).to(at::kByte).view({2, 3, 4, 5});
  const auto read = [&](const at::Tensor& x) {
    write_npy(folder / "x.npy", x);
    return read_images({.path = folder / "x.npy", .kind = "images"});
  };
  EXPECT_TRUE(read(first).pixels.equal(first));
  EXPECT_TRUE(read(first.permute({0, 2, 3, 1})).pixels.equal(first));
  EXPECT_EQ(image_kind(folder / "x.npy"), "images");
  EXPECT_EQ(read(first.select(1, 0)).shape(), (ImageShape{1, 4, 5}));
  const at::Tensor floats = image_rows(first).view({2, 3, 4, 5});
  EXPECT_TRUE(read(floats).pixels.equal(floats));
  EXPECT_TRUE(read(floats.to(at::kDouble)).pixels.equal(floats));
  EXPECT_MENTIONS(input_error([&] { read(floats.mul(2)); }), "expected floats in [-1,1]");
  EXPECT_MENTIONS(input_error([&] { read(floats.div(0)); }), "expected a finite number");
  EXPECT_MENTIONS(input_error([&] { read(at::zeros({2, 4, 4, 4}, at::kByte)); }), "expected 1 or 3 channels");
  EXPECT_MENTIONS(input_error([&] { read(at::zeros({2, 4}, at::kByte)); }), "got shape (2, 4)");
}

TEST(ImageSamples, RowsOrImagesOfTheShapeAsked) {
  const TemporaryFolder folder;
  const std::string path = folder / "s.npy";
  const auto read = [&](const at::Tensor& x, std::optional<ImageShape> shape) {
    write_npy(path, x);
    return read_image_samples(path, shape);
  };
  const at::Tensor x = at::arange(2 * 3 * 4 * 4).to(at::kFloat).view({2, 3, 4, 4});
  EXPECT_TRUE(read(x.flatten(1), ImageShape{3, 4, 4}).equal(x));
  EXPECT_TRUE(read(x.flatten(1), {}).equal(x)) << "48 = 3 x 4 x 4";
  EXPECT_TRUE(read(x.to(at::kByte), ImageShape{3, 4, 4}).equal(x.to(at::kByte)));
  EXPECT_EQ(read(at::zeros({5, 49}), {}).sizes(), at::IntArrayRef({5, 1, 7, 7}));
  EXPECT_MENTIONS(input_error([&] { read(at::zeros({5, 50}), {}); }), "expected rows of 3 s s or s s numbers");
  EXPECT_MENTIONS(input_error([&] {
                    read(at::zeros({5, 49}), ImageShape{3, 4, 4});
                  }),
                  "expected rows of 3 x 4 x 4 = 48 numbers, got 49");
  EXPECT_MENTIONS(input_error([&] { read(x, ImageShape{3, 5, 5}); }), "expected images of 3 x 5 x 5, got 3 x 4 x 4");
}

TEST(Bytes, SurviveTheWayThroughRows) {
  const at::Tensor all = at::arange(256).to(at::kByte).view({1, 1, 16, 16});
  const at::Tensor rows = image_rows(all);
  EXPECT_EQ(rows.min().item<float>(), -1.0F);
  EXPECT_EQ(rows.max().item<float>(), 1.0F);
  const ByteImages back = to_bytes(rows);
  EXPECT_TRUE(back.pixels.view_as(all).equal(all));
  EXPECT_EQ(back.clipped, 0);
  EXPECT_TRUE(to_bytes(all).pixels.equal(all));
}

TEST(Bytes, ClippedAndDivergedAreCounted) {
  at::Tensor x = at::zeros({100, 6});
  float* v = x.mutable_data_ptr<float>();
  v[6 * 7 + 2] = 1.001F;  // within half a step of a byte: rounded, not clipped
  v[6 * 7 + 3] = 1.01F;
  v[6 * 99] = -50;
  v[6 * 3 + 1] = std::numeric_limits<float>::quiet_NaN();
  v[6 * 3 + 2] = 9;
  const ByteImages out = to_bytes(x);
  EXPECT_EQ(out.clipped, 2);
  EXPECT_EQ(out.not_finite.sum().item<int64_t>(), 1);
  EXPECT_TRUE(out.not_finite.const_data_ptr<bool>()[3]);
  const auto* p = out.pixels.const_data_ptr<uint8_t>();
  EXPECT_EQ(p[6 * 7 + 2], 255);
  EXPECT_EQ(p[6 * 7 + 3], 255);
  EXPECT_EQ(p[6 * 99], 0);
  EXPECT_EQ(p[0], 128);
}

TEST(Dataset, ImagesAreRowsWithAShape) {
  const TemporaryFolder folder;
  spill(folder / "a.bin", records(0, 50));
  const Dataset d = file_dataset({.path = folder / "a.bin", .kind = "auto"});
  ASSERT_EQ(d.rows.sizes(), at::IntArrayRef({50, 3072}));
  EXPECT_EQ(d.rows.scalar_type(), at::kFloat);
  EXPECT_EQ(d.image, (ImageShape{3, 32, 32}));
  EXPECT_FLOAT_EQ(d.rows.const_data_ptr<float>()[3072 * 4 + 5], static_cast<float>(pixel(4, 5) / 127.5 - 1));
  const auto [train, apart] = split_rows(d, 0.2, Key(1));
  ASSERT_EQ(apart.rows.size(0), 10);
  EXPECT_EQ(apart.image, d.image);
  EXPECT_EQ(train.labels.size(0), 40);
  // Rows and labels stay together: the image of row i, i < 10 having distinct first bytes, tells its label.
  for (int64_t i = 0; i < 10; ++i) {
    bool found = false;
    for (int64_t j = 0; j < 50 && !found; ++j)
      found = d.rows.select(0, j).equal(apart.rows.select(0, i)) && apart.labels.const_data_ptr<int64_t>()[i] == j % 10;
    EXPECT_TRUE(found) << i;
  }
}

TEST(TableTransform, FloatRowsPassThroughOrAreConverted) {
  const at::Tensor rows = image_rows(at::arange(60).to(at::kByte).view({5, 3, 2, 2}));
  const TableTransform none = TableTransform::fit("none", rows, Key(1));
  EXPECT_TRUE(none.apply(rows, Key(1)).is_same(rows)) << "no copy of a large set";
  std::map<std::string, at::Tensor> kept;
  none.save_state(kept);
  EXPECT_TRUE(TableTransform::load_state(kept, "kept").apply(rows, Key(1)).is_same(rows));
  const at::Tensor exact = rows.to(at::kDouble);
  EXPECT_TRUE(none.apply(exact, Key(1)).equal(rows));
  EXPECT_TRUE(TableTransform::fit("zscore", rows, Key(1))
                  .apply(rows, Key(1))
                  .equal(TableTransform::fit("zscore", exact, Key(1)).apply(exact, Key(1))));
}

}  // namespace
}  // namespace htfm
