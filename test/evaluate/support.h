// Small sets and models for evaluation and pages.
#pragma once

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <string>

#include "htfm/base/random.h"
#include "htfm/data/image_set.h"
#include "htfm/field/field_set.h"
#include "htfm/model/config.h"

namespace htfm::test {

/// 30 fields of 8 x 8, never negative, the last 10 held out.
inline FieldSet small_field_set() {
  FieldSet set;
  set.fields = at::empty({30, 1, 8, 8}, at::kFloat);
  fill_normal(Key(3), 0, set.fields.numel(), set.fields.mutable_data_ptr<float>());
  set.fields.exp_();
  set.time = at::zeros({30}, at::kLong);
  set.held_out = at::zeros({30}, at::kByte);
  set.held_out.narrow(0, 20, 10).fill_(1);
  set.place = at::zeros({30, 2}, at::kLong);
  set.corners = at::zeros({30, 4}, at::kDouble);
  set.transform.threshold = 0.25;
  set.transform.mean = {1.6}, set.transform.deviation = {2.1};
  set.channels = {"rain"}, set.units = {"mm/h"};
  set.provenance = "{}";
  return set;
}

/// A few steps on the 2D mixture.
inline RunConfig small_run() {
  return parse_config(
      "", "test",
      {"data.n=600", "clock.family=stable", "clock.alpha=1.7", "clock.grid=10", "train.batch=128", "train.epochs=2",
       "train.log_steps=1", "net.width=16", "sample.n=300", "sample.nfe=4", "sample.solver=ab2"});
}

/// 60 images of 3 x 32 x 32, one colour a class of three.
inline ImageSet small_images() {
  ImageSet set;
  set.pixels = at::empty({60, 3, 32, 32}, at::kByte);
  set.labels = at::empty({60}, at::kLong);
  const Key key(1);
  for (int64_t i = 0; i < 60; ++i) {
    set.labels.mutable_data_ptr<int64_t>()[i] = i % 3;
    for (int64_t k = 0; k < 3072; ++k)
      set.pixels.mutable_data_ptr<uint8_t>()[i * 3072 + k] =
          static_cast<uint8_t>(60 * (i % 3) + static_cast<int64_t>(key.below(60, static_cast<uint64_t>(i * 3072 + k))));
  }
  set.classes = {"a", "b", "c"};
  set.origin = "small";
  set_hash(set);
  return set;
}

}  // namespace htfm::test
