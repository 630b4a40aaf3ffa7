#include "htfm/io/file.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "test/io/support.h"

namespace htfm {
namespace {

using test::input_error;
using test::plain_error;
using test::slurp;
using test::spill;
using test::TemporaryFolder;

constexpr const char* kBefore = "what stood here before";

TEST(ReadFile, GivesAllBytes) {
  const TemporaryFolder folder;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{65536}, size_t{1'000'003}}) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * i);
    spill(folder / "file", bytes);
    EXPECT_EQ(read_file(folder / "file"), bytes);
  }
}

TEST(ReadFile, ReadsWhatHasNoSizeBeforehand) {
  EXPECT_FALSE(read_file("/proc/self/status").empty());
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { spill(pipe, std::string(200'000, 'p')); });
  EXPECT_EQ(read_file(pipe), std::string(200'000, 'p'));
  writer.join();
}

TEST(ReadFile, SaysWhyItCannot) {
  const TemporaryFolder folder;
  const std::string missing = input_error([&] { read_file(folder / "none.npy"); });
  EXPECT_MENTIONS(missing, "none.npy");
  EXPECT_MENTIONS(missing, "No such file");
  EXPECT_MENTIONS(input_error([&] { read_file(folder.path()); }), "expected a file, got a folder");
}

TEST(Source, NeverReadsOutsideItsBytes) {
  const TemporaryFolder folder;
  spill(folder / "ten", "0123456789");
  const FileSource file(folder / "ten");
  const MemorySource memory("0123456789", "ten");
  for (const Source* source : {static_cast<const Source*>(&file), static_cast<const Source*>(&memory)}) {
    ASSERT_EQ(source->size(), 10u);
    char out[4] = {};
    source->read(6, out, 4);
    EXPECT_EQ(std::string_view(out, 4), "6789");
    source->read(10, out, 0);
    EXPECT_MENTIONS(input_error([&] { source->read(7, out, 4); }), "expected 4 bytes from byte 7");
    input_error([&] { source->read(11, out, 0); });
    input_error([&] { source->read(UINT64_MAX, out, 4); });
    input_error([&] { source->read(4, out, UINT64_MAX); });
  }
  spill(folder / "ten", "012");
  char out[4];
  EXPECT_MENTIONS(input_error([&] { file.read(0, out, 4); }), "shrunk");
  EXPECT_MENTIONS(input_error([&] { FileSource{"/dev/null"}; }), "expected a regular file");
}

TEST(AtomicWrite, WritesAndReplaces) {
  const TemporaryFolder folder;
  atomic_write(folder / "file", "one");
  EXPECT_EQ(slurp(folder / "file"), "one");
  atomic_write(folder / "file", "a longer two");
  EXPECT_EQ(slurp(folder / "file"), "a longer two");
  EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicWrite, StreamsPiecesOfAnySizeInOrder) {
  const TemporaryFolder folder;
  std::string expected;
  atomic_write(folder / "file", [&](Sink& sink) {
    for (const size_t size : {1, 100'000, 300'000, 0, 7, 262'144, 262'143, 1, 5'000'000, 3}) {
      const std::string piece(size, static_cast<char>('a' + size % 26));
      expected += piece;
      sink.write(piece);
    }
  });
  EXPECT_EQ(slurp(folder / "file"), expected);
}

TEST(AtomicWrite, KeepsTheOldFileWhenTheWriterFails) {
  const TemporaryFolder folder;
  spill(folder / "file", kBefore);
  EXPECT_THROW(atomic_write(folder / "file",
                            [](Sink& sink) {
                              sink.write(std::string(1'000'000, 'x'));
                              throw std::logic_error("the writer's own");
                            }),
               std::logic_error);
  EXPECT_EQ(slurp(folder / "file"), kBefore);
  EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicWrite, RefusesPathsThatAreNoFiles) {
  const TemporaryFolder folder;
  EXPECT_MENTIONS(input_error([&] { atomic_write(folder.path(), "x"); }), "expected a file, got a folder");
  EXPECT_MENTIONS(input_error([&] { atomic_write(folder / "none/file", "x"); }), "does not exist");
  spill(folder / "file", kBefore);
  EXPECT_MENTIONS(input_error([&] { atomic_write(folder / "file/under", "x"); }), "does not exist");
  input_error([&] { atomic_write("", "x"); });
  EXPECT_EQ(folder.count(), 1);
}

TEST(CheckCanWrite, TriesAndLeavesNothing) {
  const TemporaryFolder folder;
  check_can_write(folder / "file");
  check_can_make_folder(folder.path());
  check_can_make_folder(folder / "a/b/c");
  EXPECT_EQ(folder.count(), 0);
  EXPECT_MENTIONS(input_error([&] { check_can_write(folder / "none/file"); }), "does not exist");
  EXPECT_MENTIONS(input_error([&] { check_can_write(folder.path()); }), "got a folder");
  EXPECT_MENTIONS(input_error([&] { check_can_write(folder / std::string(300, 'x')); }), "too long");
  EXPECT_MENTIONS(input_error([&] { check_can_write("/proc/file"); }), "nothing can be made in /proc/");
  EXPECT_MENTIONS(input_error([&] { check_can_make_folder("/proc/a/b"); }), "nothing can be made in /proc/");
  spill(folder / "kept", kBefore);
  ASSERT_EQ(::symlink("/proc/version", (folder / "link").c_str()), 0);
  check_can_write(folder / "kept");
  EXPECT_ANY_THROW(check_can_write(folder / "link")) << "the folder of what a link names counts";
  EXPECT_EQ(slurp(folder / "kept"), kBefore);
  EXPECT_EQ(folder.count(), 2);
}

TEST(AtomicWrite, TakesLongNames) {
  const TemporaryFolder folder;
  const std::string name(255, 'n');
  atomic_write(folder / name, "x");
  EXPECT_EQ(slurp(folder / name), "x");
  EXPECT_MENTIONS(plain_error([&] { atomic_write(folder / (name + "n"), "x"); }), "too long");
  EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicWrite, KeepsLinksAndPermissions) {
  const TemporaryFolder folder;
  spill(folder / "target", kBefore);
  ASSERT_EQ(::chmod((folder / "target").c_str(), 0640), 0);
  std::filesystem::create_symlink("target", folder / "link");
  atomic_write(folder / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(slurp(folder / "target"), "new");
  struct stat status;
  ASSERT_EQ(::stat((folder / "target").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST(AtomicWrite, WritesThroughToDevices) {
  atomic_write("/dev/null", "x");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  const std::string text = plain_error([] { atomic_write("/dev/full", "x"); });
  EXPECT_MENTIONS(text, "/dev/full");
  EXPECT_MENTIONS(text, "No space left on device");
}

TEST(AtomicWrite, LeavesTheOldFileWhenTheSystemRefusesMore) {
  const TemporaryFolder folder;
  spill(folder / "file", kBefore);
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{500'000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string text = plain_error([&] { atomic_write(folder / "file", std::string(2'000'000, 'x')); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_MENTIONS(text, folder / "file");
  EXPECT_MENTIONS(text, "File too large");
  EXPECT_EQ(slurp(folder / "file"), kBefore);
  EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicWrite, LeavesTheOldFileOnAFullDisk) {
  const TemporaryFolder folder;
  // A mount name space of our own: whatever happens to this process, the mount goes with it.
  if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "a small file system can only be mounted as root: " << std::strerror(errno);
  }
  spill(folder / "file", kBefore);
  const std::string text = plain_error([&] { atomic_write(folder / "file", std::string(3'000'000, 'x')); });
  EXPECT_MENTIONS(text, folder / "file");
  EXPECT_MENTIONS(text, "No space left on device");
  EXPECT_EQ(slurp(folder / "file"), kBefore);
  EXPECT_EQ(folder.count(), 1);
  atomic_write(folder / "file", std::string(500'000, 'y'));  // the failed attempt has given its space back
  EXPECT_EQ(slurp(folder / "file"), std::string(500'000, 'y'));
  ::umount2(folder.path().c_str(), MNT_DETACH);
}

/// Root may do everything: permissions are tried as nobody.
class AsNobody {
 public:
  AsNobody() : root_(::geteuid() == 0) {
    if (root_) works_ = ::seteuid(65534) == 0;
  }
  ~AsNobody() {
    if (root_ && ::seteuid(0) != 0) std::abort();
  }
  bool works() const { return works_; }

 private:
  bool root_;
  bool works_ = true;
};

TEST(AtomicWrite, NamesAMissingPermission) {
  const TemporaryFolder folder;
  spill(folder / "closed", kBefore);
  ASSERT_EQ(::chmod((folder / "closed").c_str(), 0400), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  {
    const std::string writable = folder / "writable";
    ASSERT_EQ(::mkdir(writable.c_str(), 0777), 0);
    ASSERT_EQ(::chmod(writable.c_str(), 0777), 0);
    spill(writable + "/read_only", kBefore);
    ASSERT_EQ(::chmod((writable + "/read_only").c_str(), 0444), 0);
    ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
    const AsNobody nobody;
    if (!nobody.works()) GTEST_SKIP() << "cannot become another user here";
    EXPECT_MENTIONS(plain_error([&] { atomic_write(folder / "file", "x"); }), "Permission denied");
    EXPECT_MENTIONS(plain_error([&] { atomic_write(writable + "/read_only", "x"); }), "Permission denied");
    if (::getuid() == 0) {
      EXPECT_MENTIONS(input_error([&] { read_file(folder / "closed"); }), "Permission denied");
    }
  }
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  EXPECT_EQ(slurp(folder / "writable/read_only"), kBefore);
  EXPECT_EQ(folder.count(), 2);
}

/// Runs `action` in a child process and waits for its end; the child never returns into the test.
template <class Action, class Meanwhile>
void in_child(Action action, Meanwhile meanwhile) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    try {
      action();
    } catch (...) {
    }
    ::_exit(0);
  }
  meanwhile(child);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST(AtomicWrite, SurvivesBeingKilledWhileWriting) {
  const TemporaryFolder folder;
  spill(folder / "file", kBefore);
  in_child(
      [&] {
        atomic_write(folder / "file", [](Sink& sink) {
          sink.write(std::string(1'000'000, 'x'));
          ::raise(SIGKILL);
        });
      },
      [](pid_t) {});
  EXPECT_EQ(slurp(folder / "file"), kBefore);
  EXPECT_EQ(folder.count(), 2);  // the file and what the killed process left
  EXPECT_EQ(remove_temporaries(folder.path()), 1);
  EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicWrite, IsWholeAtAnyMoment) {
  const TemporaryFolder folder;
  const std::string one(700'000, '1');
  const std::string two(900'000, '2');
  atomic_write(folder / "file", one);
  for (int round = 0; round < 20; ++round) {
    in_child(
        [&] {
          for (;;) {
            atomic_write(folder / "file", two);
            atomic_write(folder / "file", one);
          }
        },
        [&](pid_t child) {
          std::this_thread::sleep_for(std::chrono::microseconds(500 + 1370 * round));
          ::kill(child, SIGKILL);
        });
    const std::string found = slurp(folder / "file");
    ASSERT_TRUE(found == one || found == two) << "half a file of " << found.size() << " bytes in round " << round;
    remove_temporaries(folder.path());
    ASSERT_EQ(folder.count(), 1);
  }
}

TEST(RemoveTemporaries, LeavesThoseThatAreBeingWritten) {
  const TemporaryFolder folder;
  spill(folder / "other.txt", "x");
  spill(folder / ".hidden", "x");
  atomic_write(folder / "file", [&](Sink& sink) {
    EXPECT_EQ(remove_temporaries(folder.path()), 0);
    sink.write("x");
  });
  EXPECT_EQ(slurp(folder / "file"), "x");
  EXPECT_EQ(folder.count(), 3);
  input_error([&] { remove_temporaries(folder / "none"); });
}

}  // namespace
}  // namespace htfm
