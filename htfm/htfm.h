// Heavy-tailed flow matching via random clocks: everything that a user of the library includes.
//
//   htfm::RunConfig config = htfm::load_config("run.toml");
//   htfm::Model model = htfm::train(config);
//   htfm::SampleResult drawn = htfm::sample(model, htfm::sample_options(config));
#pragma once

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/base/random.h"
#include "htfm/clock/clock.h"
#include "htfm/clock/feature.h"
#include "htfm/coupling/assignment.h"
#include "htfm/coupling/coupling.h"
#include "htfm/data/dataset.h"
#include "htfm/data/synthetic.h"
#include "htfm/evaluate/evaluate_fields.h"
#include "htfm/evaluate/evaluate_images.h"
#include "htfm/evaluate/scored_run.h"
#include "htfm/field/field_set.h"
#include "htfm/field/prepare.h"
#include "htfm/fit/fit_table.h"
#include "htfm/method/methods.h"
#include "htfm/metric/metric.h"
#include "htfm/model/config.h"
#include "htfm/model/model.h"
#include "htfm/model/run_folder.h"
#include "htfm/net/network.h"
#include "htfm/page/fit_page.h"
#include "htfm/page/run_page.h"
#include "htfm/page/tail_page.h"
#include "htfm/sample/sampler.h"
#include "htfm/schedule/schedule.h"
#include "htfm/signature/signature.h"
#include "htfm/tail/diagnosis.h"
#include "htfm/train/trainer.h"
#include "htfm/version.h"
