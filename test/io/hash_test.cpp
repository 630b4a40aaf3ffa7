#include "htfm/io/hash.h"

#include "test/io/support.h"

namespace htfm {
namespace {

using test::TemporaryFolder;

TEST(Sha256, GivesTheVectorsOfTheStandard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, OfAFileIsThatOfItsBytes) {
  const TemporaryFolder folder;
  const std::string bytes((size_t{3} << 20) + 17, 'x');  // more than the piece that is read at a time
  test::spill(folder / "file", bytes);
  EXPECT_EQ(sha256_file(folder / "file"), sha256(bytes));
  EXPECT_MENTIONS(test::input_error([&] { sha256_file(folder / "none"); }), "No such file");
}

std::string pattern(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(7 * i + 3);
  return bytes;
}

std::string xxh64(const std::string& bytes) {
  Xxh64 hash;
  hash.update(bytes.data(), bytes.size());
  return hash.hex();
}

TEST(Xxh64, EqualsThePackageXxhash) {
  EXPECT_EQ(xxh64("abc"), "44bc2cf5ad770999");
  const std::pair<size_t, const char*> expected[] = {
      {0, "ef46db3751d8e999"},   {1, "1f25c8d0bc1f4bb6"},  {3, "31d2363f52e564c9"},  {4, "9bb64b7d66ee9fda"},
      {8, "dab99d95c6f90092"},   {15, "1b47cb8243cc8e32"}, {31, "a2aa5f33cc4a6119"}, {32, "23c3c17ef790fd97"},
      {33, "50a7cfc7ba588784"},  {63, "5e3e54b431c7493c"}, {64, "0eb64b3ef6eeb01f"}, {100, "a61f8d4c170fe531"},
      {1000, "5f235fa033f1a3fb"}};
  for (const auto& [size, hex] : expected) EXPECT_EQ(xxh64(pattern(size)), hex) << size << " bytes";
}

TEST(Xxh64, DoesNotDependOnThePieces) {
  const std::string bytes = pattern(1000);
  for (const size_t piece : {1, 5, 31, 32, 33, 64, 999}) {
    Xxh64 hash;
    for (size_t at = 0; at < bytes.size(); at += piece)
      hash.update(bytes.data() + at, std::min(piece, bytes.size() - at));
    EXPECT_EQ(hash.hex(), xxh64(bytes)) << "pieces of " << piece;
  }
}

TEST(Crc32c, GivesTheVectorsOfRfc3720) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

}  // namespace
}  // namespace htfm
