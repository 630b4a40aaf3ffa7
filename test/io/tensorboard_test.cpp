#include "htfm/io/tensorboard.h"

#include <sys/resource.h>

#include <csignal>
#include <cstring>

#include "htfm/io/hash.h"
#include "test/io/support.h"

namespace htfm {
namespace {

using test::slurp;
using test::TemporaryFolder;

template <class T>
T take(std::string_view& bytes) {
  T value{};
  if (bytes.size() < sizeof value) {
    ADD_FAILURE() << "the record ends early";
    return value;
  }
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

uint32_t masked(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/// Splits a file into its records and checks both checksums of each.
std::vector<std::string> records(const std::string& path) {
  const std::string file = slurp(path);
  std::string_view rest = file;
  std::vector<std::string> out;
  while (!rest.empty() && !testing::Test::HasFailure()) {
    const std::string_view length_bytes = rest.substr(0, 8);
    const auto length = take<uint64_t>(rest);
    EXPECT_EQ(take<uint32_t>(rest), masked(length_bytes));
    if (length > rest.size()) {
      ADD_FAILURE() << "a record longer than the file";
      return out;
    }
    const std::string_view record = rest.substr(0, length);
    rest.remove_prefix(length);
    EXPECT_EQ(take<uint32_t>(rest), masked(record));
    out.emplace_back(record);
  }
  return out;
}

/// One field of a protocol buffer message: its number, and its value as bytes or as a varint.
struct Field {
  uint64_t number;
  uint64_t varint = 0;
  std::string bytes;
};

uint64_t take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = take<unsigned char>(bytes);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) break;
  }
  return value;
}

std::vector<Field> fields(std::string_view message) {
  std::vector<Field> out;
  while (!message.empty()) {
    const uint64_t tag = take_varint(message);
    Field field{tag >> 3, 0, ""};
    size_t size = 0;
    switch (tag & 7) {
      case 0: field.varint = take_varint(message); break;
      case 1: size = 8; break;
      case 2: size = take_varint(message); break;
      case 5: size = 4; break;
      default: ADD_FAILURE() << "wire type " << (tag & 7); return out;
    }
    field.bytes = message.substr(0, size);
    message.remove_prefix(std::min(size, message.size()));
    out.push_back(field);
  }
  return out;
}

TEST(EventWriter, WritesRecordsThatReadBack) {
  const TemporaryFolder folder;
  const std::vector<std::pair<int64_t, double>> points = {
      {0, 1.5}, {1, -0.25}, {127, 3e-5}, {128, 7}, {int64_t{1} << 40, 1e30}};
  std::string path;
  {
    EventWriter events(folder / "events");
    path = events.path();
    for (const auto& [step, value] : points) events.scalar("train/loss", step, value);
  }
  EXPECT_MENTIONS(path, "events.out.tfevents.");
  const std::vector<std::string> found = records(path);
  ASSERT_EQ(found.size(), points.size() + 1);

  const std::vector<Field> version = fields(found[0]);
  ASSERT_EQ(version.size(), 3u);
  EXPECT_EQ(version[2].number, 3u);
  EXPECT_EQ(version[2].bytes, "brain.Event:2");

  for (size_t k = 0; k < points.size(); ++k) {
    const std::vector<Field> event = fields(found[k + 1]);
    ASSERT_EQ(event.size(), 3u);
    EXPECT_EQ(event[0].number, 1u);
    double wall_time = 0;
    std::memcpy(&wall_time, event[0].bytes.data(), sizeof wall_time);
    EXPECT_NEAR(wall_time, static_cast<double>(::time(nullptr)), 3600);
    EXPECT_EQ(event[1].number, 2u);
    EXPECT_EQ(event[1].varint, static_cast<uint64_t>(points[k].first));
    EXPECT_EQ(event[2].number, 5u);
    const std::vector<Field> summary = fields(event[2].bytes);
    ASSERT_EQ(summary.size(), 1u);
    EXPECT_EQ(summary[0].number, 1u);
    const std::vector<Field> value = fields(summary[0].bytes);
    ASSERT_EQ(value.size(), 2u);
    EXPECT_EQ(value[0].number, 1u);
    EXPECT_EQ(value[0].bytes, "train/loss");
    EXPECT_EQ(value[1].number, 2u);
    float simple_value = 0;
    ASSERT_EQ(value[1].bytes.size(), sizeof simple_value);
    std::memcpy(&simple_value, value[1].bytes.data(), sizeof simple_value);
    EXPECT_EQ(simple_value, static_cast<float>(points[k].second));
  }
}

TEST(EventWriter, HandsOverWhatIsFlushed) {
  const TemporaryFolder folder;
  EventWriter events(folder.path());
  events.scalar("loss", 1, 0.5);
  events.flush();
  EXPECT_EQ(records(events.path()).size(), 2u);
}

TEST(EventWriter, MarksTheStepOfAResumedRun) {
  const TemporaryFolder folder;
  const EventWriter first(folder.path());
  const EventWriter resumed(folder.path(), 40);
  EXPECT_NE(first.path(), resumed.path());
  const std::vector<std::string> found = records(resumed.path());
  ASSERT_EQ(found.size(), 2u);
  const std::vector<Field> event = fields(found[1]);
  ASSERT_EQ(event.size(), 3u);
  EXPECT_EQ(event[1].varint, 40u);
  EXPECT_EQ(event[2].number, 7u);
  const std::vector<Field> log = fields(event[2].bytes);
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].number, 1u);
  EXPECT_EQ(log[0].varint, 1u);  // START
}

TEST(EventWriter, ReportsAFullDisk) {
  const TemporaryFolder folder;
  EventWriter events(folder.path());
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  for (int step = 0; step < 100; ++step) events.scalar("loss", step, 1);
  const std::string text = test::plain_error([&] { events.flush(); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_MENTIONS(text, events.path());
  EXPECT_EQ(records(events.path()).size(), 1u);  // no half record
  events.flush();
  EXPECT_EQ(records(events.path()).size(), 101u);
}

TEST(EventWriter, ReportsAFolderThatCannotBeMade) {
  EXPECT_MENTIONS(test::plain_error([] { EventWriter{"/dev/null/events"}; }), "/dev/null/events");
}

}  // namespace
}  // namespace htfm
