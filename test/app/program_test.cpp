// The command line as users and scripts meet it: exit codes, one clear line for bad input, nothing half-written.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "htfm/io/npy.h"
#include "htfm/model/model.h"
#include "test/app/support.h"

namespace fs = std::filesystem;

namespace htfm {
namespace {

const char* const kTiny =
    "[data]\nn = 600\n[clock]\nfamily = \"stable\"\nalpha = 1.7\ngrid = 10\n[train]\nbatch = 128\nepochs = "
    "2\ncheckpoint_steps = "
    "4\n[sample]\nn = 500\nsolver = \"ab2\"\nnfe = 10\n";

// Exit 2, exactly one line, and it names what is wrong.
void expect_refused(const Workplace& w, const std::string& arguments, const std::string& part) {
  const Outcome o = w.run(arguments);
  EXPECT_EQ(o.code, 2) << arguments << "\n" << o.err;
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << arguments << "\n" << o.err;
  EXPECT_NE(o.err.find(part), std::string::npos) << arguments << "\nexpected '" << part << "' in: " << o.err;
  EXPECT_TRUE(o.out.empty()) << o.out;
}

// The help of a command is its section of the manual; the commands of the second program have their own.
TEST(Program, HelpOfEveryCommandHasAnExample) {
  const Workplace w;
  const Outcome top = w.run("--help"), manual = w.run("completion man");
  EXPECT_EQ(top.code, 0);
  EXPECT_EQ(manual.code, 0);
  const auto expect_whole = [](const std::string& command, const std::string& help, const std::string& dashes) {
    // Every command takes a seed and a device; where they make no difference, the help says so.
    const auto among = [&](std::set<std::string> names) { return names.contains(command); };
    const bool drawn = !among({"signature", "prepare", "coarsen", "export", "grid", "info"}),
               computed = !among({"signature", "prepare", "coarsen", "export", "info"});
    EXPECT_NE(help.find("Example: htfm " + command), std::string::npos) << command;
    for (const char* option : {"seed", "device"}) EXPECT_NE(help.find(dashes + option), std::string::npos) << command;
    EXPECT_EQ(help.find("this command draws nothing") == std::string::npos, drawn) << command;
    EXPECT_EQ(help.find("this command uses the CPU only") == std::string::npos, computed) << command;
  };
  for (const std::string command :
       {"demo",      "clock",  "source", "signature", "data",    "prepare", "coarsen", "export", "train",  "sweep",
        "calibrate", "sample", "fit",    "eval",      "compare", "tails",   "risk",    "grid",   "report", "info"}) {
    EXPECT_NE(top.out.find("\n  " + command + " "), std::string::npos) << command;
    const size_t at = manual.out.find(".SS htfm " + command + "\n");
    ASSERT_NE(at, std::string::npos) << command;
    expect_whole(command, manual.out.substr(at, manual.out.find(".SS ", at + 1) - at), "\\-\\-");
  }
  for (const std::string command : {"train", "reproduce", "bench"}) {
    const Outcome o = w.run(command + " --help");
    EXPECT_EQ(o.code, 0) << command;
    expect_whole(command, o.out, "--");
  }
}

// What reads fields is loaded when a field is read: it would bring dozens of libraries, of which nearly nobody needs
// one.
TEST(Program, LinksNoLibraryOfFieldFiles) {
  const Workplace w;
  ASSERT_EQ(std::system(("ldd '" + program() + "-program' >'" + (w / "libraries") + "'").c_str()), 0);
  const std::string libraries = slurp(w / "libraries");
  EXPECT_NE(libraries.find("libtorch_cpu"), std::string::npos);
  for (const char* name : {"eccodes", "netcdf", "hdf5", "curl", "ldap", "krb5", "htfm_fields"})
    EXPECT_EQ(libraries.find(name), std::string::npos) << libraries;
}

TEST(Program, UsageErrorsExitWithTwo) {
  const Workplace w;
  const Outcome nothing = w.run("");  // the list of commands, for who does not know what to ask for
  EXPECT_EQ(nothing.code, 2);
  EXPECT_NE(nothing.err.find("Subcommands:"), std::string::npos) << nothing.err;
  EXPECT_TRUE(nothing.out.empty()) << nothing.out;
  expect_refused(w, "frobnicate", "frobnicate");
  expect_refused(w, "clock --family stable -n 10 -o p.npy", "clock.alpha");
  expect_refused(w, "clock --family stable --alpha 2.5 -n 10 -o p.npy", "clock.alpha");
  expect_refused(w, "clock --family stable --alpha 1.5 --nu 3 -n 10 -o p.npy", "clock.nu");
  expect_refused(w, "clock --family sable --alpha 1.5 -n 10 -o p.npy", "--family");
  expect_refused(w, "clock --family stable --alpha 1.5 -n -3 -o p.npy", "--count");
  expect_refused(w, "source --family deterministic --dim 0 -n 10 -o p.npy",
                 "--dim: expected a number above 0, got '0'");
  expect_refused(w, "signature p.npy --depth 9 -o f.npy", "--depth: expected a number from 1 to 6, got '9'");
  expect_refused(w, "data mixture2d -n 10 -o p.txt", ".npy");
  expect_refused(w, "data mixture2d -n 10 --device cuda -o p.npy", "--device");
  expect_refused(w, "coarsen set --grid 4,4 -o s --device cuda", "--device");
  EXPECT_FALSE(fs::exists(w / "p.npy"));
  EXPECT_EQ(w.run("data mixture2d -n 1e2 -o p.npy").code, 0) << "numbers of things may be short everywhere";
}

TEST(Program, ArraysAreWhatTheySay) {
  const Workplace w;
  ASSERT_EQ(w.run("clock --family stable --alpha 1.5 -n 30 --grid 7 -o p.npy --area a.npy").code, 0);
  EXPECT_EQ(read_npy(w / "p.npy").sizes(), (at::IntArrayRef{30, 8}));
  EXPECT_EQ(read_npy(w / "a.npy").sizes(), (at::IntArrayRef{30}));
  ASSERT_EQ(w.run("source --family inverse-gamma --nu 3 --dim 5 -n 20 -o x.npy").code, 0);
  EXPECT_EQ(read_npy(w / "x.npy").sizes(), (at::IntArrayRef{20, 5}));
  w.write("sigma.csv", "2,1\n1,1\n");
  ASSERT_EQ(w.run("source --family inverse-gamma --nu 3 --dim 2 -n 20 --covariance sigma.csv -o x.npy").code, 0);
  EXPECT_EQ(read_npy(w / "x.npy").sizes(), (at::IntArrayRef{20, 2}));
  expect_refused(w, "source --family inverse-gamma --nu 3 --dim 3 -n 20 --covariance sigma.csv -o y.npy",
                 "[source.covariance] expected 2 columns for a matrix 2 x 2, got 3");
  w.write("sigma.csv", "1,2\n2,1\n");
  expect_refused(w, "source --family inverse-gamma --nu 3 --dim 2 -n 20 --covariance sigma.csv -o y.npy",
                 "positive definite");
  ASSERT_EQ(w.run("signature p.npy --depth 3 --log words --augment time -o f.npy").code, 0);
  EXPECT_EQ(read_npy(w / "f.npy").sizes(), (at::IntArrayRef{30, 5}));
  ASSERT_EQ(w.run("signature p.npy --depth 3 --augment time --convention leadlag -o f.npy").code, 0);
  EXPECT_EQ(read_npy(w / "f.npy").sizes(), (at::IntArrayRef{30, 3 + 9 + 27}));
  ASSERT_EQ(w.run("data rings -n 40 -o d.csv").code, 0);
  const Outcome a = w.run("data mixture2d --alpha 1.8 -n 50 --seed 7 -o d1.npy --json"),
                b = w.run("data mixture2d --alpha 1.8 -n 50 --seed 7 -o d2.npy --threads 1");
  EXPECT_EQ(slurp(w / "d1.npy"), slurp(w / "d2.npy"));
  EXPECT_EQ(nlohmann::json::parse(a.out)["rows"], 50);
}

TEST(Program, BadArraysAreRefusedWithOneLine) {
  const Workplace w;
  at::Tensor x = at::zeros({20, 2}, at::kDouble);
  write_npy(w / "good.npy", x);
  const std::string good = slurp(w / "good.npy");
  w.write("empty.npy", "");
  w.write("cut.npy", good.substr(0, good.size() - 40));
  x.mutable_data_ptr<double>()[7] = std::nan("");
  write_npy(w / "nan.npy", x);
  write_npy(w / "cube.npy", at::zeros({4, 2, 3}, at::kFloat));
  w.write("text.csv", "a,b\n1,2\n3,x\n");
  w.write("ragged.csv", "1,2\n3,4,5\n");
  w.write("missing.csv", "a,b\n1,2\n,4\n");
  w.write("none.csv", "");
  w.write("c.toml", kTiny);
  // Both commands read files by the same functions: each meets half of them.
  bool train = false;
  for (const auto& [file, part] :
       std::initializer_list<std::pair<std::string, std::string>>{{"empty.npy", "empty.npy"},
                                                                  {"cut.npy", "cut.npy"},
                                                                  {"nan.npy", "nan.npy"},
                                                                  {"cube.npy", "cube.npy"},
                                                                  {"text.csv", "'x'"},
                                                                  {"ragged.csv", "2"},
                                                                  {"missing.csv", "3"},
                                                                  {"none.csv", "none.csv"},
                                                                  {"absent.npy", "absent.npy"},
                                                                  {"good.ods", ".npy"},
                                                                  {"absent.parquet", "absent.parquet"}}) {
    train = !train;
    expect_refused(
        w, train ? "train c.toml --set data.path=" + file + " -o run" : "eval --real " + file + " --fake good.npy",
        part);
  }
  EXPECT_FALSE(fs::exists(w / "run"));
}

TEST(Program, BadConfigurationsAreRefusedWithOneLine) {
  const Workplace w;
  w.write("c.toml", kTiny);
  expect_refused(w, "train absent.toml -o run", "absent.toml");
  expect_refused(w, "train c.toml --set clock.alhpa=1.5 -o run", "clock.alpha");
  expect_refused(w, "train c.toml --set clock.alpha=2.5 -o run", "clock.alpha");
  expect_refused(w, "train c.toml --set train.batch=0 -o run", "train.batch");
  expect_refused(w, "train c.toml --set train.lr=fast -o run", "train.lr");
  expect_refused(w, "train c.toml", "-o");
  w.write("broken.toml", "[clock\nfamily = 3\n");
  expect_refused(w, "train broken.toml -o run", "broken.toml:1");
  EXPECT_FALSE(fs::exists(w / "run"));
}

// What only the data or the first clocks show, too: the next try with the same folder is a new run.
TEST(Program, ARunRefusedBeforeItsFirstCheckpointLeavesNothing) {
  const Workplace w;
  w.write("c.toml", kTiny);
  const std::string rank = "--set source.covariance=low-rank --set source.rank=5 -o ",
                    schedule = "--set path.schedule=near-linear --set 'path.b=ct: -3' -o ";
  expect_refused(w, "train c.toml " + rank + "run", "source.rank");
  expect_refused(w, "train c.toml " + schedule + "run", "path.schedule");
  EXPECT_FALSE(fs::exists(w / "run"));
  fs::create_directories(w / "run/events");
  w.write("run/mine.txt", "mine");
  expect_refused(w, "train c.toml " + schedule + "run", "path.schedule");
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(w / "run")) left.push_back(entry.path().filename());
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, (std::vector<std::string>{"events", "mine.txt"}));
  EXPECT_EQ(w.run("train c.toml -o run").code, 0);
}

TEST(Program, TrainSampleEvalReportInfo) {
  const Workplace w;
  w.write("c.toml", kTiny);
  const Outcome dry = w.run("train c.toml --dry-run --set seed=5");
  EXPECT_EQ(dry.code, 0);
  EXPECT_NE(dry.out.find("seed = 5"), std::string::npos);
  ASSERT_EQ(w.run("train c.toml -o run").code, 0);
  for (const char* file :
       {"run/config.toml", "run/log.jsonl", "run/events", "run/checkpoints/step-00000010.safetensors"})
    EXPECT_TRUE(fs::exists(w / file)) << file;
  expect_refused(w, "train c.toml -o run", "--resume");

  const auto sampled = nlohmann::json::parse(w.run("sample run -n 300 --solver heun --nfe 9 -o s.npy --json").out);
  EXPECT_EQ(sampled["nfe"], 8) << "the evaluations really spent";
  EXPECT_EQ(sampled["samples"], 300);
  EXPECT_EQ(read_npy(w / "s.npy").sizes(), (at::IntArrayRef{300, 2}));
  expect_refused(w, "sample run -n 10 --family inverse-gamma --nu 3 -o t.npy", "trained with");
  expect_refused(w, "sample run -n 10 --alpha 1.5 -o t.npy", "trained with");
  EXPECT_EQ(w.run("sample run -n 10 --family stable --alpha 1.7 -o t.npy").code, 0);
  expect_refused(w, "sample nowhere -n 10 -o t.npy", "nowhere");
  expect_refused(w, "sample run -n 10 --solver heun --nfe 1 -o t.npy", "sample.nfe");
  expect_refused(w, "sample run -n 10 --precision fp8 -o t.npy", "--precision");

  ASSERT_EQ(w.run("data mixture2d -n 300 -o r.npy").code, 0);
  const auto scores = nlohmann::json::parse(w.run("eval --real r.npy --fake s.npy --json").out);
  for (const char* name : {"f1_knn", "f1_prd", "w1_pooled", "w1_sliced", "mmd", "hill_real"})
    EXPECT_TRUE(scores.contains(name)) << name;
  const auto some = nlohmann::json::parse(w.run("eval --real r.npy --fake s.npy --metrics w1_pooled --json").out);
  EXPECT_TRUE(some.contains("w1_pooled") && !some.contains("f1_prd"));
  const std::string tail_scores = "eval --real r.npy --fake s.npy --metrics tail_quantiles,moments --json --bootstrap ";
  const auto with = nlohmann::json::parse(w.run(tail_scores + "50").out),
             without = nlohmann::json::parse(w.run(tail_scores + "0").out);
  EXPECT_LE(with["kr_low"], with["kr"]);
  EXPECT_LE(with["kr"], with["kr_high"]);
  EXPECT_EQ(with["kr"], without["kr"]);
  EXPECT_TRUE(with["msle"].is_null()) << "300 rows know nothing of the 0.9999 quantile";
  EXPECT_FALSE(without.contains("kr_low"));

  ASSERT_EQ(w.run("report run -o report.html").code, 0);
  const std::string page = slurp(w / "report.html");
  // The page is whole by itself: its only addresses are the names of XML namespaces.
  for (size_t at = page.find("://"); at != std::string::npos; at = page.find("://", at + 1))
    EXPECT_EQ(page.substr(at - 11, 11), "xmlns=\"http") << page.substr(at - 20, 80);
  for (const char* fetch : {"src=\"//", "href=\"//", "url(//", "@import"})
    EXPECT_EQ(page.find(fetch), std::string::npos) << fetch;
  for (const char* part : {"<svg", "HTFM-α 1.7", "f1_prd", "prefers-color-scheme"})
    EXPECT_NE(page.find(part), std::string::npos) << part;

  const auto info = nlohmann::json::parse(w.run("info run --json").out);
  EXPECT_EQ(info["step"], 10);
  EXPECT_EQ(info["clock"], "stable(alpha=1.7), grid 10");
}

TEST(Program, DamagedCheckpointIsRefused) {
  const Workplace w;
  w.write("c.toml", kTiny);
  ASSERT_EQ(w.run("train c.toml -o run").code, 0);
  const std::string path = w / "run/checkpoints/step-00000010.safetensors";
  const std::string bytes = slurp(path);
  for (const size_t at : {size_t{40}, bytes.size() - 1}) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    w.write("run/checkpoints/step-00000010.safetensors", damaged);
    expect_refused(w, "sample run -n 10 -o s.npy", "step-00000010");
    expect_refused(w, "train c.toml -o run --resume", "step-00000010");
  }
  w.write("run/checkpoints/step-00000010.safetensors", bytes.substr(0, bytes.size() / 3));
  expect_refused(w, "info run", "step-00000010");
  EXPECT_FALSE(fs::exists(w / "s.npy"));
}

TEST(Program, FullDiskExitsWithOneAndKeepsTheLastCheckpoint) {
  const Workplace w;
  fs::create_directories(w / "disk");
  // A checkpoint has about 2.2 MB: the disk takes two, not three.
  if (::mount("tmpfs", (w / "disk").c_str(), "tmpfs", 0, "size=5m") != 0)
    GTEST_SKIP() << "needs the right to mount a small file system";
  w.write("c.toml", kTiny);
  const Outcome o = w.run("train c.toml --set train.checkpoint_steps=1 --set train.keep=9 -o disk/run");
  EXPECT_EQ(o.code, 1) << o.err;
  EXPECT_NE(o.err.find("space"), std::string::npos) << o.err;
  size_t good = 0;
  for (const auto& entry : fs::directory_iterator(w / "disk/run/checkpoints")) {
    EXPECT_NO_THROW(Model::load(entry.path().string())) << entry.path();
    ++good;
  }
  EXPECT_GE(good, 1u);
  const Outcome written = w.run("data mixture2d -n 400000 -o disk/x.npy");
  EXPECT_EQ(written.code, 1) << written.err;
  EXPECT_FALSE(fs::exists(w / "disk/x.npy"));
  ::umount((w / "disk").c_str());
}

TEST(ProgramSlow, DemoAtASmallBudget) {
  const Workplace w;
  const Outcome o = w.run("demo -o demo --epochs 1 --json");
  ASSERT_EQ(o.code, 0) << o.err;
  const auto j = nlohmann::json::parse(o.out);
  EXPECT_TRUE(j.contains("HTFM-G") && j.contains("HTFM-α 1.5") && j.contains("HTFM-t 1.5"));
  EXPECT_GT(fs::file_size(w / "demo/report.html"), 50'000u);
}

TEST(Program, ReproduceRefusesWhatItCannotDo) {
  const Workplace w;
  for (const char* name : {"2d", "tails", "solver"})
    expect_refused(w, std::string("reproduce ") + name + " --only absent -o out", "--only");
  fs::create_directory(w / "peers");
  w.write("peers/extremes.py", "");
  expect_refused(w, "reproduce rivals --python python3 --peers peers --only absent -o out", "--only");
  expect_refused(w, "reproduce 2d --set clock.grid=0 -o out", "clock.grid");
  expect_refused(w, "reproduce auto --published -o out", "[--published] expected an experiment of the paper, got auto");
  expect_refused(w, "reproduce nfe --data . -o out", "--features");
  EXPECT_FALSE(fs::exists(w / "out"));
  const Outcome one =
      w.run("reproduce 2d --only 'HTFM-t 3.0' --seeds 1 --budget 1 --set data.n=1000 --set sample.n=500 -o out --json");
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(nlohmann::json::parse(one.out)["rows"].size(), 1u);
}

TEST(ProgramSlow, ReproduceMakesEveryExperimentAsPublished) {
  const Workplace w;
  const std::string small =
      " --seeds 1 --budget 1 --set data.n=400 --set sample.n=200 --set train.batch=200 --set clock.grid=4 --set "
      "net.width=16 --set net.blocks=1 --json -o ";
  std::map<std::string, nlohmann::json> made;
  for (const std::string name : {"2d", "overview", "toys", "panels", "flow-type", "signature-order", "nfe", "solver"}) {
    const Outcome o = w.run("reproduce " + name + " --published" + small + name);
    ASSERT_EQ(o.code, 0) << name << o.err;
    made[name] = nlohmann::json::parse(o.out);
  }
  // E.6: Euler on the uniform grid; no solver that needs what the paper does not have.
  for (const char* name : {"flow-type", "signature-order", "nfe"})
    for (const auto& row : made[name]["rows"]) EXPECT_EQ(row["time_grid"], "uniform") << name;
  for (const auto& row : made["solver"]["rows"])
    EXPECT_EQ(row["solver"].get<std::string>().find("stochastic"), std::string::npos);
  // E.2: DLIM draws from DLPM's network; E.6: Euler for flows.
  const std::map<std::string, std::string> samplers{
      {"htfm", "euler"}, {"dlpm", "dlpm"}, {"dlim", "dlim"}, {"lim", "sde"}, {"tflow", "euler"}};
  for (const auto& entry : fs::directory_iterator(w / "panels/cells")) {
    const auto cell = nlohmann::json::parse(read_file(entry.path()));
    const std::string file = entry.path().filename(), config = cell["config"], sampler = cell["runs"][0]["sampler"];
    EXPECT_NE(config.find("precondition]\nenabled = false"), std::string::npos);
    const std::string method = file.substr(0, file.find('-'));
    EXPECT_EQ(sampler, samplers.at(method)) << file;
    if (method == "dlim") {
      EXPECT_NE(config.find("method = \"dlpm\""), std::string::npos);
    }
  }
  for (const char* name : {"tails", "dimensions"})
    expect_refused(w, std::string("reproduce ") + name + " --published -o out", "--published");
}

TEST(ProgramSlow, ReproduceGoesOnWhereItWas) {
  const Workplace w;
  const std::string command =
      "reproduce 2d --seeds 1 --budget 1 --set data.n=1000 --set sample.n=500 --set clock.grid=10 -o out --json";
  const Outcome first = w.run(command);
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(nlohmann::json::parse(first.out)["rows"].size(), 7u);
  fs::remove(*fs::directory_iterator(w / "out/cells"));
  const Outcome second = w.run(command);
  EXPECT_EQ(first.out, second.out);
  // A kept cell is read and not made again, also when its program did not know one of today's keys; with another
  // setting it is made anew.
  const fs::path path = fs::directory_iterator(w / "out/cells")->path();
  auto cell = nlohmann::json::parse(read_file(path));
  const auto with_config = [&](const std::string& from, const std::string& to) {
    std::string text = cell["config"];
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    cell["mark"] = 1, cell["config"] = text.replace(at, from.size(), to);
    atomic_write(path, cell.dump());
    ASSERT_EQ(w.run(command).code, 0);
  };
  with_config("eta_from = 0.0\n", "");
  EXPECT_TRUE(nlohmann::json::parse(read_file(path)).contains("mark"));
  with_config("grid = 10\n", "grid = 11\n");
  EXPECT_FALSE(nlohmann::json::parse(read_file(path)).contains("mark"));
}

}  // namespace
}  // namespace htfm
