#include "htfm/io/json_lines.h"

#include <sys/resource.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "test/io/support.h"

namespace htfm {
namespace {

using nlohmann::json;
using test::slurp;
using test::spill;
using test::TemporaryFolder;

bool up_to_two(const json& line) { return line.at("step") <= 2; }

TEST(JsonLines, AppendsWholeLinesAndReadsThemBack) {
  const TemporaryFolder folder;
  const std::string path = folder / "log.jsonl";
  {
    JsonLines log(path);
    log.append({{"step", 1}, {"loss", 0.1}});
    log.append({{"step", 2}, {"text", "two\nlines"}, {"loss", std::nan("")}});
    log.sync();
  }
  JsonLines(path).append({{"step", 3}});
  EXPECT_EQ(slurp(path),
            "{\"loss\":0.1,\"step\":1}\n{\"loss\":null,\"step\":2,\"text\":\"two\\nlines\"}\n{\"step\":3}\n");
  const std::vector<json> lines = JsonLines::read(path);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].at("loss").get<double>(), 0.1);
  EXPECT_EQ(lines[2].at("step"), 3);
}

TEST(JsonLines, DropsATornLastLine) {
  const TemporaryFolder folder;
  const std::string path = folder / "log.jsonl";
  const std::string line = "{\"loss\":0.25,\"step\":2}";
  for (size_t cut = 0; cut <= line.size(); ++cut) {
    spill(path, "{\"step\":1}\n" + line.substr(0, cut));
    const size_t whole = cut == line.size() ? 2 : 1;  // only its newline was lost
    EXPECT_EQ(JsonLines::read(path).size(), whole) << "cut at " << cut;
    JsonLines(path).append({{"step", 9}});
    const std::vector<json> lines = JsonLines::read(path);
    ASSERT_EQ(lines.size(), whole + 1) << "cut at " << cut;
    EXPECT_EQ(lines.back().at("step"), 9);
  }
  for (const std::string& torn :
       {std::string("{\"st"), std::string(100, '\0'), "{\"step\":2}" + std::string(100, '\0')}) {
    spill(path, torn);
    EXPECT_TRUE(JsonLines::read(path).empty());
  }
}

TEST(JsonLines, KeepsTheLinesOfTheStepsThatStand) {
  const TemporaryFolder folder;
  const std::string path = folder / "log.jsonl";
  EXPECT_EQ(JsonLines::keep(path, up_to_two), 0);
  spill(path, "{\"step\": 1}\n{\"step\":2}\n{\"step\":3}\n{\"step\":2,\"kind\":\"score\"}\n{\"step\":4}\n{\"st");
  EXPECT_EQ(JsonLines::keep(path, up_to_two), 2);
  EXPECT_EQ(slurp(path), "{\"step\": 1}\n{\"step\":2}\n{\"step\":2,\"kind\":\"score\"}\n");
  EXPECT_EQ(JsonLines::keep(path, up_to_two), 0);
  EXPECT_EQ(folder.count(), 1);
}

TEST(JsonLines, NamesALineThatIsNotJson) {
  const TemporaryFolder folder;
  const std::string path = folder / "log.jsonl";
  spill(path, "{\"step\":1}\n\nstep 2\n{\"step\":3}\n");
  const std::string text = test::input_error([&] { JsonLines::read(path); });
  EXPECT_MENTIONS(text, path);
  EXPECT_MENTIONS(text, "line 3");
  test::input_error([&] { JsonLines::keep(path, up_to_two); });
}

TEST(JsonLines, TakesBackALineThatTheDiskRefuses) {
  const TemporaryFolder folder;
  const std::string path = folder / "log.jsonl";
  JsonLines log(path);
  log.append({{"step", 1}});
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string text = test::plain_error([&] { log.append({{"step", 2}, {"text", std::string(5000, 'x')}}); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_MENTIONS(text, path);
  EXPECT_EQ(slurp(path), "{\"step\":1}\n");
  log.append({{"step", 2}});
  EXPECT_EQ(JsonLines::read(path).size(), 2u);
}

TEST(JsonLines, SaysWhyItCannotOpen) {
  const TemporaryFolder folder;
  EXPECT_MENTIONS(test::plain_error([&] { JsonLines{folder / "none/log.jsonl"}; }), "none/log.jsonl");
}

}  // namespace
}  // namespace htfm
