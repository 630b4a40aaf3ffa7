// The store by which processes find each other asks nobody who he is: who reaches it, and what a stranger can do there.
#include <gtest/gtest.h>

#include <filesystem>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "test/app/several.h"

namespace htfm {
namespace {

class Store : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(test::built_file("libhtfm_store.so"))) GTEST_SKIP() << "no libhtfm_store.so";
    w_.write("c.toml", "[data]\nn = 300\n[train]\nbatch = 128\nepochs = 1\n");
  }
  // The variables of the first of two processes.
  std::string first_of_two(int local) const {
    return "MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(port_) +
           " WORLD_SIZE=2 RANK=0 LOCAL_RANK=0 LOCAL_WORLD_SIZE=" + std::to_string(local);
  }
  // A store that holds the first words of the second process already: a stranger's.
  c10::intrusive_ptr<c10d::TCPStore> store_of_a_stranger(const std::vector<std::string>& words) const {
    c10d::TCPStoreOptions options;
    options.port = static_cast<uint16_t>(port_), options.isServer = true, options.waitWorkers = false;
    auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
    for (size_t k = 0; k < words.size(); ++k)
      store->set("htfm///" + std::to_string(k) + "/1", std::vector<uint8_t>(words[k].begin(), words[k].end()));
    return store;
  }

  const Workplace w_;
  const int port_ = test::free_port();
};

TEST_F(Store, OfOneMachineListensToThatMachineAlone) {
  char port[8];
  std::snprintf(port, sizeof port, "%04X", port_);
  // The first process waits for the second one, which never comes.
  const std::string script = "cd '" + (w_ / "") + "'; " + first_of_two(2) + " '" + program() +
                             "' train c.toml -o run --comm store >/dev/null 2>&1 & first=$!; for i in $(seq 600); do "
                             "cat /proc/net/tcp /proc/net/tcp6 | awk '$4 == \"0A\" && $2 ~ /:" +
                             port + "$/ { print $2 }' >found; [ -s found ] && break; sleep 0.1; done; kill -9 $first";
  ASSERT_EQ(std::system(script.c_str()), 0);
  EXPECT_EQ(slurp(w_ / "found"), std::string("0100007F:") + port + "\n");
}

TEST_F(Store, BytesOfTheWrongLengthAreNotRead) {
  const auto store = store_of_a_stranger({"xyz"});
  const Outcome o = w_.run("train c.toml -o run --comm store", first_of_two(1) + " TORCHELASTIC_USE_AGENT_STORE=True");
  EXPECT_EQ(o.code, 1) << o.err;
  EXPECT_NE(o.err.find("bytes of another process, got 3"), std::string::npos) << o.err;
}

TEST_F(Store, AFileIsNotTakenForSharedMemory) {
  w_.write("mine", "what is in it stays");
  const std::string path = "../../.." + (w_ / "mine");
  const auto store = store_of_a_stranger({"self " + path + " " + path, "x", "xyz"});
  const Outcome o = w_.run("train c.toml -o run --comm store", first_of_two(2) + " TORCHELASTIC_USE_AGENT_STORE=True");
  EXPECT_EQ(o.code, 1) << o.err;
  EXPECT_EQ(slurp(w_ / "mine"), "what is in it stays");
}

}  // namespace
}  // namespace htfm
