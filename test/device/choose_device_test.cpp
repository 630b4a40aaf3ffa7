#include "htfm/device/choose_device.h"

#include <gtest/gtest.h>

#include "htfm/base/error.h"

namespace htfm {
namespace {

TEST(ChooseDevice, SmallNetworksStayOnTheCpuUnlessAskedFor) {
  EXPECT_TRUE(choose_device("auto", "mlp").is_cpu());
  EXPECT_TRUE(choose_device("cpu", "unet").is_cpu());
  EXPECT_THROW(choose_device("gpu", "unet"), InputError);
}

TEST(ChooseDevice, ImagesGoToACudaDeviceWhereThereIsOne) {
  bool cuda = true;
  try {
    EXPECT_TRUE(choose_device("cuda", "unet").is_cuda());
  } catch (const InputError&) {
    cuda = false;
  }
  EXPECT_EQ(choose_device("auto", "unet").is_cuda(), cuda);
}

}  // namespace
}  // namespace htfm
