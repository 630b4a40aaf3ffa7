#include "htfm/io/safetensors.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <nlohmann/json.hpp>

#include "test/io/support.h"

namespace htfm {
namespace {

using test::golden;
using test::input_error;
using test::slurp;
using test::TemporaryFolder;

at::TensorOptions as(at::ScalarType type) { return at::TensorOptions().dtype(type); }

/// The formula of the golden files: x[i, j] = i - j / 8.
at::Tensor grid_numbers(int64_t rows, int64_t columns, at::ScalarType type) {
  const at::Tensor i = at::arange(rows, as(at::kDouble)).view({rows, 1});
  const at::Tensor j = at::arange(columns, as(at::kDouble)).view({1, columns});
  return i.sub(j.div(8)).to(type);
}

SafeTensors mixed() {
  return {{
              {"a.float32", grid_numbers(3, 1, at::kFloat)},
              {"b.float64", grid_numbers(2, 2, at::kDouble)},
              {"c.int64", at::arange(-2, 3, as(at::kLong))},
              {"d.uint8", at::tensor({0, 127, 255}, as(at::kByte))},
              {"e.bfloat16", grid_numbers(2, 4, at::kBFloat16)},
              {"f.float16", grid_numbers(2, 2, at::kHalf)},
              {"g.scalar", at::full({}, -1.25, as(at::kFloat))},
              {"h.empty", at::zeros({0, 7})},
              {"i.\"quoted\" \u00e9\n", at::full({1}, 3, as(at::kFloat))},
          },
          {}};
}

void expect_same(const SafeTensors& got, const SafeTensors& expected) {
  EXPECT_EQ(got.metadata, expected.metadata);
  ASSERT_EQ(got.tensors.size(), expected.tensors.size());
  for (const auto& [name, tensor] : expected.tensors) {
    ASSERT_TRUE(got.tensors.contains(name)) << name;
    const at::Tensor& other = got.tensors.at(name);
    EXPECT_EQ(other.scalar_type(), tensor.scalar_type()) << name;
    ASSERT_EQ(other.sizes(), tensor.sizes()) << name;
    EXPECT_TRUE(at::equal(other, tensor)) << name;
  }
}

std::string saved(const SafeTensors& content, bool hash = true) {
  StringSink sink;
  write_safetensors(sink, content, hash);
  return sink.bytes();
}

SafeTensors parsed_tensors(const std::string& bytes) { return read_safetensors(MemorySource(bytes, "x.safetensors")); }

/// A file with any header and so many bytes of data.
std::string made_tensors(const std::string& header, size_t data = 0) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + std::string(data, '\0');
}

std::string tensors_refusal(const std::string& header, size_t data = 0) {
  std::string text = input_error([&] { parsed_tensors(made_tensors(header, data)); });
  EXPECT_TRUE(text.starts_with("[safetensors] x.safetensors: ")) << text;
  return text;
}

TEST(SafeTensors, ReadsWhatThePackageWrites) {
  expect_same(read_safetensors(golden("mixed.safetensors")), mixed());
  expect_same(read_safetensors(golden("one.safetensors")),
              {{{"weight", grid_numbers(2, 3, at::kFloat)}}, {{"step", "12"}}});
  expect_same(read_safetensors(golden("nothing.safetensors")), {});
}

TEST(SafeTensors, WritesTheBytesOfThePackage) {
  for (const char* name : {"mixed.safetensors", "one.safetensors", "nothing.safetensors"}) {
    EXPECT_EQ(saved(read_safetensors(golden(name)), /*hash=*/false), slurp(golden(name))) << name;
  }
}

TEST(SafeTensors, RoundTripsThroughAFile) {
  const TemporaryFolder folder;
  SafeTensors content = mixed();
  content.metadata = {{"step", "1200"}, {"config", "[clock]\nfamily = \"stable\"\n"}, {"", ""}, {"\u00fc", "\x01"}};
  content.tensors["large"] = at::arange(1'000'000, as(at::kFloat)).view({1000, 1000}).t();  // several pieces, strided
  for (const bool hash : {true, false}) {
    write_safetensors(folder / "x.safetensors", content, hash);
    expect_same(read_safetensors(folder / "x.safetensors"), content);
  }
  EXPECT_EQ(folder.count(), 1);
}

TEST(SafeTensors, IsLaidOutForOtherReaders) {
  SafeTensors content = mixed();
  content.metadata["step"] = "3";
  const std::string bytes = saved(content);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  EXPECT_EQ(length % 8, 0u);
  const nlohmann::json header = nlohmann::json::parse(bytes.substr(8, length));
  EXPECT_EQ(header.at("__metadata__").at("step"), "3");
  EXPECT_EQ(header.at("__metadata__").at("htfm.data_hash").get<std::string>().size(), 16u);
  for (const auto& [name, tensor] : content.tensors) {
    // A loader that maps the file needs every tensor at a multiple of its item.
    EXPECT_EQ(header.at(name).at("data_offsets")[0].get<uint64_t>() % tensor.element_size(), 0u) << name;
  }
}

TEST(SafeTensors, GivesTheHeaderAlone) {
  const TemporaryFolder folder;
  SafeTensors content = mixed();
  content.metadata["step"] = "3";
  write_safetensors(folder / "x.safetensors", content);
  const SafeTensorsHeader header = read_safetensors_header(folder / "x.safetensors");
  EXPECT_EQ(header.metadata, content.metadata);
  EXPECT_EQ(header.data_hash.size(), 16u);
  ASSERT_EQ(header.tensors.size(), content.tensors.size());
  EXPECT_EQ(header.tensors.at("e.bfloat16").type, at::kBFloat16);
  EXPECT_EQ(header.tensors.at("e.bfloat16").shape, (std::vector<int64_t>{2, 4}));
}

TEST(SafeTensors, FindsEveryFlippedBit) {
  SafeTensors content = {{{"w", grid_numbers(3, 2, at::kFloat)}, {"n", at::arange(3, as(at::kLong))}},
                         {{"step", "41"}, {"seed", "7"}}};
  const std::string bytes = saved(content);
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      EXPECT_THROW(parsed_tensors(damaged), InputError)
          << "bit " << bit << " of byte " << at << ": " << damaged.substr(8, 300);
    }
  }
  std::string damaged = bytes;
  damaged.back() ^= 1;
  EXPECT_MENTIONS(input_error([&] { parsed_tensors(damaged); }), "x.safetensors: damaged data: expected hash");
}

TEST(SafeTensors, RefusesEveryTruncationAndExtraBytes) {
  const std::string bytes = slurp(golden("mixed.safetensors"));
  for (size_t size = 0; size < bytes.size(); ++size) input_error([&] { parsed_tensors(bytes.substr(0, size)); });
  EXPECT_MENTIONS(input_error([&] { parsed_tensors(bytes.substr(0, 5)); }),
                  "truncated: expected at least 8 bytes, got 5");
  EXPECT_MENTIONS(input_error([&] { parsed_tensors(bytes.substr(0, 50)); }), "truncated: expected a header of");
  EXPECT_MENTIONS(input_error([&] { parsed_tensors(bytes.substr(0, bytes.size() - 1)); }), "truncated or damaged");
  EXPECT_MENTIONS(input_error([&] { parsed_tensors(bytes + '\0'); }), "expected 119 bytes of data, got 120");
}

TEST(SafeTensors, RefusesHeadersThatAreNotOne) {
  EXPECT_MENTIONS(input_error([] { parsed_tensors(std::string(8, '\xff')); }), "does not begin as they do");
  EXPECT_MENTIONS(tensors_refusal(""), "a file without their header");
  EXPECT_MENTIONS(tensors_refusal("[1]"), "a file without their header");
  EXPECT_MENTIONS(tensors_refusal(" {}"), "a file without their header");
  for (const char* bad : {"{", "{}x", "{\"a\":}", "{\"\xff\":{}}", "{'a':1}", "{\"a\":1e999}"})
    EXPECT_MENTIONS(tensors_refusal(bad), "invalid JSON");
  EXPECT_MENTIONS(tensors_refusal(std::string("{}\0", 3)), "invalid JSON");
  EXPECT_MENTIONS(tensors_refusal("{\"a\":" + std::string(100'000, '[')), "levels of JSON");
  EXPECT_MENTIONS(tensors_refusal("{\"a\":{\"b\":{\"c\":{\"d\":1}}}}"), "levels of JSON");
}

TEST(SafeTensors, RefusesEntriesThatDoNotFit) {
  const auto entry = [](const std::string& name, const std::string& type, const std::string& shape,
                        const std::string& offsets) {
    return "\"" + name + "\":{\"dtype\":" + type + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
  };
  const auto one = [&](const std::string& type, const std::string& shape, const std::string& offsets, size_t data) {
    return tensors_refusal("{" + entry("w", type, shape, offsets) + "}", data);
  };
  EXPECT_NO_THROW(parsed_tensors(made_tensors("{" + entry("w", "\"F32\"", "[2]", "[0,8]") + "}", 8)));
  EXPECT_MENTIONS(one("\"F31\"", "[2]", "[0,8]", 8), "tensor 'w': expected dtype F64, F32, F16, BF16, I64 or U8, got");
  EXPECT_MENTIONS(one("7", "[2]", "[0,8]", 8), "expected dtype");
  EXPECT_MENTIONS(one("\"F32\"", "[3]", "[0,8]", 8), "shape (3,) of float32 does not take the 8 bytes");
  EXPECT_MENTIONS(one("\"F64\"", "[2]", "[0,8]", 8), "shape (2,) of float64 does not take the 8 bytes");
  EXPECT_MENTIONS(one("\"F32\"", "[4611686018427387904,4]", "[0,0]", 0), "does not take");
  EXPECT_MENTIONS(one("\"F32\"", "[0,9223372036854775807,9223372036854775807]", "[0,0]", 0), "does not take");
  for (const char* shape :
       {"[-2]", "[2.0]", "[\"2\"]", "2", "null", "[18446744073709551615]", "[18446744073709551616]", "{}"}) {
    EXPECT_MENTIONS(one("\"F32\"", shape, "[0,8]", 8), "whole numbers");
  }
  for (const char* offsets : {"[0,9]", "[8,0]", "[9,9]", "[0,9223372036854775807]"}) {
    EXPECT_MENTIONS(one("\"F32\"", "[2]", offsets, 8), "expected offsets within the 8 bytes of data");
  }
  EXPECT_MENTIONS(one("\"F32\"", "[2]", "[0,8,8]", 8), "expected two data_offsets, got 3");
  EXPECT_MENTIONS(one("\"F32\"", "[2]", "[-8,0]", 8), "whole numbers");
  std::string many = "1";
  for (int k = 0; k < 40; ++k) many += ",1";
  EXPECT_MENTIONS(one("\"F32\"", "[" + many + "]", "[0,4]", 4), "at most 32 dimensions");

  const auto two = [&](const std::string& first, const std::string& second, size_t data) {
    return tensors_refusal("{" + entry("a", "\"U8\"", "[4]", first) + "," + entry("b", "\"U8\"", "[4]", second) + "}",
                           data);
  };
  EXPECT_MENTIONS(two("[0,4]", "[2,6]", 6), "tensor 'b': expected its data to begin at 4, got 2: data that overlap");
  EXPECT_MENTIONS(two("[0,4]", "[0,4]", 4), "overlap");
  EXPECT_MENTIONS(two("[0,4]", "[6,10]", 10), "leave a gap");
  EXPECT_MENTIONS(two("[0,4]", "[4,8]", 9), "expected 8 bytes of data, got 9");

  EXPECT_MENTIONS(
      tensors_refusal("{" + entry("a", "\"U8\"", "[4]", "[0,4]") + "," + entry("a", "\"U8\"", "[4]", "[4,8]") + "}", 8),
      "the name 'a' stands twice");
  EXPECT_MENTIONS(tensors_refusal("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}"),
                  "the name 'dtype' stands twice");
  for (const char* bad : {"{\"a\":1}", "{\"a\":{}}", "{\"a\":{\"dtype\":\"U8\",\"shape\":[0]}}",
                          "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0],\"more\":1}}"}) {
    EXPECT_MENTIONS(tensors_refusal(bad), "expected dtype, shape and data_offsets for the tensor 'a'");
  }
  EXPECT_MENTIONS(tensors_refusal("{\"__metadata__\":[]}"), "expected __metadata__ to be a map of strings");
  EXPECT_MENTIONS(tensors_refusal("{\"__metadata__\":{\"step\":3}}"), "expected the metadata 'step' to be a string");
  EXPECT_MENTIONS(tensors_refusal("{\"__metadata__\":{\"htfm.data_hash\":\"ef46db3751d8e999\"}}"), "damaged header");
}

TEST(SafeTensors, RefusesToWriteWhatItCouldNotRead) {
  const TemporaryFolder folder;
  const auto attempt = [&](const SafeTensors& content) {
    return input_error([&] { write_safetensors(folder / "x", content); });
  };
  EXPECT_MENTIONS(attempt({{{"w", at::ones({2}, as(at::kInt))}}, {}}), "tensor 'w': expected float32");
  EXPECT_MENTIONS(attempt({{{"__metadata__", at::ones({2})}}, {}}), "got '__metadata__'");
  EXPECT_MENTIONS(attempt({{{"\xff", at::ones({2})}}, {}}), "UTF-8");
  EXPECT_MENTIONS(attempt({{}, {{"htfm.data_hash", "0"}}}), "htfm.data_hash");
  EXPECT_EQ(folder.count(), 0);
}

TEST(SafeTensors, NamesTheFileItCannotOpen) {
  EXPECT_MENTIONS(input_error([] { read_safetensors("none.safetensors"); }), "none.safetensors: No such file");
}

}  // namespace
}  // namespace htfm
