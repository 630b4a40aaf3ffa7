#include "htfm/model/config.h"

#include <gtest/gtest.h>

#include "htfm/base/error.h"
#include "htfm/io/file.h"
#include "test/data.h"

namespace htfm {
namespace {

std::string message(const std::string& text, const std::vector<std::string>& settings = {}) {
  try {
    parse_config(text, "run.toml", settings);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' is not in: " << text;
}

// toml++ asserts that a table's name begins with a letter before it says that it does not.
TEST(Config, ATableWithoutANameIsNamed) {
  for (const char* text : {"[&]\n", "  [\x01 c", "[[$]]\na = 1\n"}) {
    try {
      parse_config(text, "test.toml", {});
      ADD_FAILURE() << text;
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find("test.toml:1: expected TOML, got "), std::string::npos) << e.what();
    }
  }
}

TEST(Config, FormatParsesBackToTheSame) {
  const RunConfig a = parse_config("[clock]\nfamily = \"stable\"\nalpha = 1.7\n[train]\nlr = 3e-4\n", "t",
                                   {"data.columns=a,\"b\"", "feature.order=2", "net.film=true", "precondition=off"});
  const RunConfig b = parse_config(format_config(a), "again");
  EXPECT_TRUE(config_differences(a, b).empty());
  EXPECT_EQ(format_config(a), format_config(b));
  EXPECT_FALSE(b.precondition);
  EXPECT_EQ(b.data.columns, "a,\"b\"");
  EXPECT_EQ(b.train.lr, 3e-4);
}

// Whatever a text holds, it is the same once it was written and read; what could not be written is refused.
TEST(Config, TextsSurviveWritingAndReading) {
  const RunConfig a = parse_config("[data]\npath = \"a\\u007f\\u0001\\u0000\\\\ \\\"\\u00e4\"\n", "t");
  EXPECT_EQ(a.data.path, std::string("a\x7f\x01\0\\ \"\xc3\xa4", 9));
  EXPECT_EQ(parse_config(format_config(a), "again").data.path, a.data.path);
  EXPECT_EQ(parse_config("", "t", {"data.path=\xc3\xa4\x7f"}).data.path, "\xc3\xa4\x7f");
  EXPECT_TRUE(contains(message("", {"data.path=\xe4.csv"}), "[data.path] expected text in UTF-8, got '\\xe4.csv'"));
}

// Fields that are set and settings in words are one way: the same configuration comes of both.
TEST(Config, SettingsGoOverFields) {
  RunConfig c;
  c.clock.family = "inverse-gamma", c.clock.parameters["nu"] = 3, c.train.epochs = 7, c.coupling.kind = "pool";
  const RunConfig changed = with_settings(c, {"train.epochs=9", "clock.family=stable", "clock.alpha=1.5"});
  EXPECT_EQ(
      config_differences(
          changed,
          parse_config("", "test", {"clock.family=stable", "clock.alpha=1.5", "train.epochs=9", "coupling.kind=pool"})),
      std::vector<std::string>{});
  EXPECT_THROW(with_settings(c, {"train.epoch=9"}), InputError);
  c.clock.family = "none such";
  EXPECT_THROW(with_settings(c), InputError) << "fields are checked too";
  const auto entries = config_entries(changed);
  EXPECT_NE(std::find(entries.begin(), entries.end(), std::pair<std::string, std::string>("clock.family", "stable")),
            entries.end());
  EXPECT_EQ(std::find_if(entries.begin(), entries.end(),
                         [](const auto& e) { return e.first == "clock.nu" || e.second.empty(); }),
            entries.end());
}

TEST(Config, UnknownKeyNamesTheNearest) {
  EXPECT_TRUE(contains(message("[clock]\nfamliy = \"stable\"\n"), "clock.family"));
  EXPECT_TRUE(contains(message("[clock]\nfamliy = \"stable\"\n"), "run.toml:2"));
  EXPECT_TRUE(contains(message("", {"train.lrr=1"}), "train.lr"));
}

TEST(Config, TimesByDefaultAreTheClocksForImagesAlone) {
  const auto by_clock = [](std::vector<std::string> settings) {
    const RunConfig c = parse_config("", "test", settings);
    EXPECT_EQ(c.uses_clock_time(), c.uses_normal_times());
    return c.uses_clock_time();
  };
  EXPECT_FALSE(by_clock({}));
  EXPECT_TRUE(by_clock({"net.kind=unet"}));
  EXPECT_TRUE(by_clock({"net.kind=ncsnpp"}));
  EXPECT_FALSE(by_clock({"net.kind=unet", "precondition.enabled=false"}));
  EXPECT_FALSE(by_clock({"net.kind=unet", "clock.family=inverse-gamma", "clock.nu=3", "coupling.kind=pool"}));
  EXPECT_FALSE(by_clock({"net.kind=unet", "precondition.time=path", "train.times=uniform"}));
  EXPECT_FALSE(parse_saved_config("[net]\nkind = \"unet\"\n", "old").uses_clock_time());
}

TEST(Config, NoiseBetweenLevelsIsForPointsAndTables) {
  const auto noise = [](std::vector<std::string> settings) {
    return parse_config("", "test", settings).flow().coupling.noise;
  };
  EXPECT_EQ(noise({}), 0);
  EXPECT_EQ(noise({"coupling.kind=ot"}), 0);
  EXPECT_EQ(noise({"coupling.kind=pool"}), 0);
  EXPECT_GT(noise({"coupling.kind=pool", "coupling.noise=auto"}), 0);
  EXPECT_EQ(noise({"coupling.kind=pool", "coupling.noise=auto", "net.kind=unet"}), 0);
  EXPECT_EQ(noise({"coupling.kind=pool", "coupling.noise=0.25"}), 0.25);
  EXPECT_EQ(noise({"coupling.kind=pool", "coupling.noise=0.25", "coupling.noise=auto"}),
            noise({"coupling.kind=pool", "coupling.noise=auto"}));
  EXPECT_TRUE(contains(message("[coupling]\nnoise = \"much\"\n"), "expected auto or a number, got 'much'"));
  EXPECT_TRUE(contains(message("[coupling]\nnoise = -1\n"), "expected auto or a number from 0 to 10, got -1"));
  // A run keeps what it has, and one from before the key has none.
  const RunConfig pooled = parse_config("", "test", {"coupling.kind=pool", "coupling.noise=auto"});
  EXPECT_EQ(parse_saved_config(format_config(pooled), "saved").flow().coupling.noise, pooled.flow().coupling.noise);
  EXPECT_EQ(parse_saved_config("[coupling]\nkind = \"pool\"\n", "old").flow().coupling.noise, 0);
}

// Rows are put together anew from groups of different rows, so that nothing holds of a row as a whole.
TEST(Config, IndependentGroupsGoWithNoConditionAndNoSizeOfARow) {
  const auto refusal = [](const std::string& setting) {
    return message("", {"data.path=x.csv", "data.independent=1;2,3", setting});
  };
  EXPECT_EQ(parse_config("", "test", {"data.path=x.csv", "data.independent=1;2,3"}).data.independent, "1;2,3");
  EXPECT_TRUE(contains(refusal("condition.columns=line"),
                       "[data.independent] expected no condition, which belongs to rows as they are, got "
                       "condition.columns = line"));
  EXPECT_TRUE(contains(refusal("condition.label=true"), "got condition.label = true"));
  EXPECT_TRUE(contains(refusal("condition.field=4x4"), "got condition.field = 4x4"));
  EXPECT_TRUE(contains(refusal("coupling.kind=pool"), "[data.independent] expected coupling.kind = independent"));
  EXPECT_TRUE(contains(refusal("data.whiten=true"), "[data.independent] expected data.whiten = false"));
}

TEST(Config, NumbersThatAreNotToldNeedScores) {
  const std::vector<std::string> settings{"data.path=x.csv", "condition.columns=age", "condition.untold=age"};
  EXPECT_TRUE(contains(message("", settings), "[condition.untold] expected data.normalise = scores"));
  EXPECT_EQ(message("[data]\nnormalise = \"scores\"\n", settings), "no error");
}

TEST(Config, WrongTypeAndRangeNameTheKeyAndLine) {
  EXPECT_TRUE(contains(message("[train]\nbatch = \"many\"\n"),
                       "run.toml:2: [train.batch] expected a whole number, got 'many'"));
  EXPECT_TRUE(contains(message("[train]\nbatch = 0\n"), "[train.batch]"));
  EXPECT_TRUE(contains(message("[train]\nlr = true\n"), "expected a number, got true"));
  EXPECT_TRUE(
      contains(message("", {"train.times=normal", "method=dlpm"}), "[train.times] expected uniform for method = dlpm"));
  EXPECT_TRUE(contains(message("", {"train.times=normal", "path.schedule=time-warp", "path.learn=true"}),
                       "train.times = uniform"));
  EXPECT_TRUE(
      contains(message("", {"train.times=late"}), "[train.times] expected one of auto, uniform, normal; got 'late'"));
  EXPECT_TRUE(contains(message("", {"train.ema=1.5"}), "[train.ema] expected a number from 0 to 1, got 1.5"));
  EXPECT_TRUE(contains(message("", {"train.batch=12x"}), "[train.batch]"));
  EXPECT_TRUE(contains(message("", {"precondition=maybe"}), "precondition"));
  EXPECT_TRUE(contains(message("", {"nonsense"}), "key=value"));
  EXPECT_TRUE(contains(message("seed = \n"), "run.toml:1"));
}

TEST(Config, ClockParametersAreChecked) {
  EXPECT_TRUE(contains(message("", {"clock.family=stable"}), "clock.alpha"));
  EXPECT_TRUE(contains(message("", {"clock.family=stable", "clock.alpha=2"}), "clock.alpha"));
  EXPECT_TRUE(contains(message("", {"clock.family=stabel"}), "stable"));
  EXPECT_TRUE(contains(message("", {"feature.order=7"}), "feature.order"));
  EXPECT_TRUE(contains(message("", {"feature.kind=sig"}), "feature.kind"));
  EXPECT_TRUE(contains(message("", {"coupling.kind=none"}), "coupling.kind"));
  EXPECT_TRUE(contains(message("", {"net.kind=unet2"}), "net.kind"));
  EXPECT_TRUE(contains(message("", {"method=ddpm"}), "method"));
}

// One line of a file changes the tail: what belongs to other families may stand there.
TEST(Config, ParametersOfOtherFamiliesMayStandInAFile) {
  const std::string text = "[clock]\nfamily = \"inverse-gamma\"\nalpha = 1.7\nnu = 3.0\n";
  EXPECT_EQ(parse_config(text, "t").clock.describe(), "inverse-gamma(nu=3), grid 200");
  EXPECT_EQ(parse_config(text, "t", {"clock.family=stable"}).clock.describe(), "stable(alpha=1.7), grid 200");
  EXPECT_EQ(parse_config(text, "t", {"clock.family=deterministic"}).clock.describe(), "deterministic, grid 200");
}

// A configuration may come from somebody else: it names no program. Files of earlier versions stay readable.
TEST(Config, NamesNoProgram) {
  EXPECT_EQ(message("[data]\npython = \"python3\"\n"), "no error");
  EXPECT_TRUE(contains(message("[data]\npython = \"./evil\"\n"),
                       "run.toml:2: [data.python] expected no such key any more, got './evil'"));
  EXPECT_TRUE(contains(message("", {"data.python=./evil"}), "data.python"));
  EXPECT_NO_THROW(parse_saved_config("[data]\npython = \"./evil\"\n", "checkpoint"));
  for (const ConfigKey& k : config_keys()) EXPECT_EQ(k.name.find("python"), std::string::npos);
}

TEST(Config, EveryKeyIsDescribed) {
  for (const ConfigKey& k : config_keys()) {
    EXPECT_FALSE(k.meaning.empty()) << k.name;
    EXPECT_FALSE(k.type.empty()) << k.name;
  }
}

// `htfm train --keys` prints these rows.
TEST(Config, TheDocumentListsEveryKey) {
  std::string text = read_file(test::source_file("doc/configuration.md"));
  for (size_t at = 0; (at = text.find("\\|", at)) != std::string::npos;) text.erase(at, 1);  // a bar inside a cell
  const size_t from = text.find("| key | type | default | meaning |\n|---|---|---|---|\n");
  ASSERT_NE(from, std::string::npos);
  std::string rows = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const ConfigKey& k : config_keys()) {
    const std::string row = fmt::format("| `{}` | {} | {} | {} |\n", k.name, k.type,
                                        k.default_value.empty() ? "" : "`" + k.default_value + "`", k.meaning);
    EXPECT_NE(text.find(row), std::string::npos) << "not in doc/configuration.md: " << row;
    rows += row;
  }
  EXPECT_EQ(text.substr(from), rows) << "expected the table of htfm train --keys, and nothing after it";
}

TEST(Config, NamedSkewedSourcesSetTheClock) {
  EXPECT_EQ(parse_config("", "t", {"source.law=variance-gamma", "clock.shape=2", "source.skew=0.5"}).clock.family,
            "gamma");
  EXPECT_TRUE(contains(message("", {"source.law=variance-gamma", "clock.family=stable", "clock.alpha=1.5"}),
                       "[clock.family] expected gamma"));
  EXPECT_TRUE(contains(message("", {"source.law=skewed"}), "[source.law]"));
  EXPECT_TRUE(contains(message("", {"source.skew=a"}), "[source.skew]"));
  EXPECT_TRUE(contains(message("", {"method=clock-diffusion", "source.skew=1"}), "[source]"));
}

// Methods that look at their clock's parameter before the clock is made.
TEST(Config, BaselinesNameTheParameterThatIsMissing) {
  for (const char* method : {"dlpm", "dlim", "lim"})
    EXPECT_TRUE(contains(message("", {std::string("method=") + method, "clock.family=stable"}),
                         "[clock.alpha] expected a number between 0 and 2"));
  for (const char* method : {"tflow", "tedm"})
    EXPECT_TRUE(contains(message("", {std::string("method=") + method, "clock.family=inverse-gamma"}),
                         "[clock.nu] expected a number above 0"));
}

TEST(Config, SchedulesByTheClock) {
  for (const char* name : {"ve-signature", "signature-linear", "near-linear", "time-warp"})
    EXPECT_EQ(parse_config("", "t", {std::string("path.schedule=") + name}).path.name, name);
  EXPECT_TRUE(contains(message("", {"path.schedule=near-linear", "path.b=cx: 1"}), "[path.b]"));
  EXPECT_TRUE(contains(message("", {"path.schedule=ve-signature", "path.lambda_beta=1"}), "[path.lambda_beta]"));
}

}  // namespace
}  // namespace htfm
