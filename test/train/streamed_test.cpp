// A set that is larger than memory: its rows are read from a mapped file ahead of the steps, and the training is that
// of rows in memory, to the byte.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "htfm/base/error.h"
#include "htfm/data/row_memory.h"
#include "htfm/field/field_set.h"
#include "htfm/stat/scatter.h"
#include "htfm/train/batches.h"
#include "htfm/train/trainer.h"
#include "test/temporary_folder.h"
#include "test/thread_communicator.h"

namespace htfm {
namespace {

// Sets a variable of the environment while it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

class StreamedRows : public testing::Test {
 protected:
  static constexpr int64_t kFields = 220;
  StreamedRows() {
    FieldSet set;
    set.fields = at::empty({kFields, 1, 8, 8}, at::kFloat);
    fill_normal(Key(7), 0, set.fields.numel(), set.fields.mutable_data_ptr<float>());
    set.fields.exp_();
    set.time = at::zeros({kFields}, at::kLong), set.place = at::zeros({kFields, 2}, at::kLong);
    set.held_out = at::zeros({kFields}, at::kByte), set.corners = at::zeros({kFields, 4}, at::kDouble);
    set.held_out.narrow(0, 0, 20).fill_(1);
    set.transform.kind = "log1p", set.transform.threshold = 0.25, set.transform.quantum = 0.1;
    set.transform.mean = {0.7}, set.transform.deviation = {0.4};
    set.channels = {"rain"}, set.units = {"mm/h"};
    write_field_set(folder / "rain.fields", set);
  }
  RunConfig config(std::vector<std::string> more = {}) const {
    std::vector<std::string> settings{"data.kind=fields",     "data.path=" + (folder / "rain.fields"),
                                      "net.kind=unet",        "unet.base=8",
                                      "unet.groups=4",        "unet.multipliers=1,2",
                                      "unet.blocks=1",        "unet.attention=4",
                                      "unet.heads=2",         "clock.family=inverse-gamma",
                                      "clock.nu=3",           "data.flip=true",
                                      "train.batch=32",       "train.epochs=1",
                                      "train.validation=0.1", "train.checkpoint_steps=3"};
    settings.insert(settings.end(), more.begin(), more.end());
    return parse_config("", "test", settings);
  }
  std::string trained(const RunConfig& c, const std::string& name) const {
    train(c, {.folder = folder / name});
    return test::slurp(RunFolder(folder / name).newest().path);
  }
  test::TemporaryFolder folder;
};

TEST_F(StreamedRows, AreThoseInMemory) {
  const Dataset resident = field_dataset(folder / "rain.fields", false);
  EXPECT_FALSE(resident.streamed);
  const Variable none("HTFM_ROW_MEMORY", "0");
  const Dataset streamed = field_dataset(folder / "rain.fields", false);
  EXPECT_TRUE(streamed.streamed);
  EXPECT_EQ(streamed.notes.size(), 1u);
  EXPECT_TRUE(streamed.rows.equal(resident.rows));
  EXPECT_EQ(streamed.hash, resident.hash);
}

TEST_F(StreamedRows, TrainToTheSameBytes) {
  for (const char* coupling : {"coupling.kind=independent", "coupling.kind=pool"}) {
    const RunConfig c = config({coupling, "precondition.scale=clock"});
    const std::string expected = trained(c, std::string("resident-") + coupling);
    const Variable none("HTFM_ROW_MEMORY", "0");
    EXPECT_TRUE(trained(c, std::string("streamed-") + coupling) == expected) << coupling;
  }
}

// A run is taken up in the middle of an epoch by two processes: the reader begins at its step.
TEST_F(StreamedRows, GoOnWhereTheRunStopped) {
  const std::string expected = trained(config(), "whole");
  const Variable none("HTFM_ROW_MEMORY", "0");
  int steps = 0;
  EXPECT_THROW(train(config(), {.folder = folder / "run", .stop = [&] { return ++steps == 5; }}), Interrupted);
  test::run_processes(
      2, [&](Communicator& c) { train(config(), {.folder = folder / "run", .resume = true, .processes = {&c}}); });
  EXPECT_TRUE(test::slurp(RunFolder(folder / "run").newest().path) == expected);
}

TEST_F(StreamedRows, WhatWouldCopyThemIsRefused) {
  const Variable none("HTFM_ROW_MEMORY", "0");
  EXPECT_THROW(train(config({"data.normalise=zscore"})), InputError);
  const Variable word("HTFM_ROW_MEMORY", "much");
  EXPECT_THROW(asked_row_memory(), InputError);
}

TEST(Batches, OfAReaderAreTheSame) {
  TrainingData set;
  set.rows = at::empty({50, 3}, at::kFloat);
  fill_normal(Key(1), 0, set.rows.numel(), set.rows.mutable_data_ptr<float>());
  std::vector<int64_t> places{4, 8, 15, 16, 23, 42, 7, 9, 11, 13};
  for (const int64_t first : {0, 5}) {
    set.streamed = false;
    Batches plain(Key(2), set, places, 4, first);
    set.streamed = true;
    Batches ahead(Key(2), set, places, 4, first);
    for (int64_t step = first; step < first + 9; ++step) {
      const DataBatch a = plain.at_step(step), b = ahead.at_step(step);
      ASSERT_TRUE(a.rows.equal(b.rows)) << step;
      ASSERT_TRUE(std::equal(a.index.begin(), a.index.end(), b.index.begin(), b.index.end())) << step;
      EXPECT_EQ(a.position, b.position);
      EXPECT_EQ(b.rows.size(0), step % 3 == 2 ? 2 : 4);
    }
  }
}

}  // namespace
}  // namespace htfm
