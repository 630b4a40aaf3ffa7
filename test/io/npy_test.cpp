#include "htfm/io/npy.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "test/io/support.h"

namespace htfm {
namespace {

using test::golden;
using test::input_error;
using test::slurp;
using test::TemporaryFolder;

/// The formula of the golden files: x[i, j] = i - j / 8.
at::Tensor numbers(int64_t rows, int64_t columns, at::ScalarType type) {
  at::Tensor out = at::empty({rows, columns}, at::TensorOptions().dtype(at::kDouble));
  double* values = out.mutable_data_ptr<double>();
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) *values++ = double(i) - double(j) / 8;
  return out.to(type);
}

std::string saved(const at::Tensor& tensor) {
  StringSink sink;
  write_npy(sink, tensor);
  return sink.bytes();
}

at::Tensor parsed(const std::string& bytes, NpyNumbers kind = NpyNumbers::floating) {
  return read_npy(MemorySource(bytes, "x.npy"), kind);
}

/// A file of version 1 with any header and payload.
std::string made(const std::string& header, size_t payload = 0) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + std::string(payload, '\0');
}

void expect_same(const at::Tensor& got, const at::Tensor& expected) {
  EXPECT_EQ(got.scalar_type(), expected.scalar_type());
  ASSERT_EQ(got.sizes(), expected.sizes());
  EXPECT_TRUE(at::equal(got, expected));
}

TEST(ReadNpy, ReadsWhatNumpyWrites) {
  expect_same(read_npy(golden("f4.npy")), numbers(3, 4, at::kFloat));
  expect_same(read_npy(golden("f8.npy")), numbers(5, 2, at::kDouble));
  expect_same(read_npy(golden("f8_version2.npy")), numbers(3, 2, at::kDouble));
  expect_same(read_npy(golden("f8_version3.npy")), numbers(3, 2, at::kDouble));
  expect_same(read_npy(golden("cube.npy")), numbers(6, 4, at::kFloat).view({2, 3, 4}));
  expect_same(read_npy(golden("vector.npy")), numbers(1, 6, at::kDouble).view({6}));
  expect_same(read_npy(golden("scalar.npy")), at::full({}, 2.5, at::TensorOptions().dtype(at::kDouble)));
  expect_same(read_npy(golden("no_rows.npy")), at::zeros({0, 3}));
  expect_same(read_npy(golden("i8.npy"), NpyNumbers::integer), at::arange(-3, 4, at::TensorOptions().dtype(at::kLong)));
}

TEST(WriteNpy, WritesTheBytesOfNumpy) {
  for (const char* name : {"f4.npy", "f8.npy", "cube.npy", "vector.npy", "scalar.npy", "no_rows.npy"}) {
    EXPECT_EQ(saved(read_npy(golden(name))), slurp(golden(name))) << name;
  }
  EXPECT_EQ(saved(read_npy(golden("i8.npy"), NpyNumbers::integer)), slurp(golden("i8.npy")));
  EXPECT_EQ(saved(read_npy(golden("u1.npy"), NpyNumbers::pixels)), slurp(golden("u1.npy")));
}

TEST(ReadNpy, PixelsAreBytesOrFloats) {
  expect_same(read_npy(golden("u1.npy"), NpyNumbers::pixels), at::arange(250, 256, at::kByte).view({3, 2}));
  expect_same(read_npy(golden("f4.npy"), NpyNumbers::pixels), read_npy(golden("f4.npy")));
  EXPECT_MENTIONS(input_error([] { read_npy(golden("i8.npy"), NpyNumbers::pixels); }),
                  "expected uint8, float32 or float64");
  EXPECT_MENTIONS(input_error([] { read_npy(golden("u1.npy")); }), "got '|u1' (uint8)");
  EXPECT_EQ(read_npy_shape(golden("cube.npy")), (std::vector<int64_t>{2, 3, 4}));
}

TEST(WriteNpy, RoundTripsThroughAFile) {
  const TemporaryFolder folder;
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor matrix = numbers(1000, 37, type);
    write_npy(folder / "x.npy", matrix);
    expect_same(read_npy(folder / "x.npy"), matrix);
    write_npy(folder / "x.npy", matrix.t());  // strides are of memory, not of the file
    expect_same(read_npy(folder / "x.npy"), matrix.t().contiguous());
    write_npy(folder / "x.npy", matrix.slice(1, 3, 30, 2));
    expect_same(read_npy(folder / "x.npy"), matrix.slice(1, 3, 30, 2).contiguous());
  }
  EXPECT_EQ(folder.count(), 1);
  const std::string text = input_error([&] { write_npy(folder / "half.npy", numbers(2, 2, at::kHalf)); });
  EXPECT_MENTIONS(text, "got float16");
  EXPECT_EQ(folder.count(), 1);
}

TEST(ReadNpy, SaysWhichTypeItExpectedAndGot) {
  const std::pair<const char*, const char*> cases[] = {
      {"i8.npy", "got '<i8' (int64)"},
      {"big_endian.npy", "got '>f4' (big-endian float32)"},
      {"half.npy", "got '<f2' (float16)"},
      {"complex.npy", "got '<c16' (complex128)"},
      {"bool.npy", "got '|b1' (bool)"},
      {"text.npy", "got '<U2' (text)"},
      {"object.npy", "got '|O' (Python objects)"},
      {"structured.npy", "got the structured type"},
  };
  for (const auto& [name, got] : cases) {
    const std::string text = input_error([&file = name] { read_npy(golden(file)); });
    EXPECT_MENTIONS(text, name);
    EXPECT_MENTIONS(text, "expected float32 or float64");
    EXPECT_MENTIONS(text, got);
  }
  EXPECT_MENTIONS(input_error([] { read_npy(golden("f4.npy"), NpyNumbers::integer); }),
                  "expected int64 ('<i8'), got '<f4' (float32)");
  EXPECT_MENTIONS(input_error([] { read_npy(golden("fortran.npy")); }), "expected C order, got Fortran order");
}

TEST(ReadNpy, RefusesEveryTruncation) {
  for (const char* name : {"f4.npy", "f8_version2.npy"}) {
    const std::string bytes = slurp(golden(name));
    for (size_t size = 0; size < bytes.size(); ++size) input_error([&] { parsed(bytes.substr(0, size)); });
  }
  const std::string bytes = slurp(golden("f4.npy"));
  EXPECT_MENTIONS(input_error([&] { parsed(bytes.substr(0, bytes.size() - 1)); }),
                  "truncated: shape (3, 4) of float32 takes 48 bytes, got 47");
  EXPECT_MENTIONS(input_error([&] { parsed(bytes + "x"); }),
                  "bytes after the array: shape (3, 4) of float32 takes 48 bytes, got 49");
  EXPECT_MENTIONS(input_error([&] { parsed(""); }), "got an empty file");
  EXPECT_MENTIONS(input_error([&] { parsed("1.0,2.0\n3.0,4.0\n"); }), "does not begin as .npy files do");
}

TEST(ReadNpy, RefusesDamagedHeaders) {
  const auto header = [](const std::string& shape) {
    return "{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }\n";
  };
  expect_same(parsed(made(header("(2, 3)"), 48)), at::zeros({2, 3}, at::TensorOptions().dtype(at::kDouble)));
  expect_same(parsed(made("{\"shape\":(1,),\"fortran_order\":False,\"descr\":\"<f8\"}", 8)),
              at::zeros({1}, at::TensorOptions().dtype(at::kDouble)));
  EXPECT_MENTIONS(input_error([&] { parsed(made(header("(-2, 3)"), 48)); }),
                  "sizes of at least 0 in the shape, got -2");
  EXPECT_MENTIONS(input_error([&] { parsed(made(header("(9223372036854775808,)"))); }), "at most 2^63-1");
  EXPECT_MENTIONS(input_error([&] { parsed(made(header("(4294967296, 4294967296)"))); }),
                  "expected a shape that fits in memory");
  EXPECT_MENTIONS(input_error([&] { parsed(made(header("(2305843009213693952,)"))); }),
                  "expected a shape that fits in memory");
  // No numbers at all, but strides that overflow.
  EXPECT_MENTIONS(input_error([&] { parsed(made(header("(0, 4611686018427387904, 4611686018427387904)"))); }),
                  "fits in memory");
  EXPECT_MENTIONS(input_error([&] { parsed(made(header("(1000000, 1000000)"))); }), "truncated");
  // Strides that fit the narrow numbers of the file, but not the wider ones that it is read as.
  for (const auto& [type, width] : {std::pair{"|i1", 1}, {"<i4", 4}, {"<f2", 2}}) {
    const std::string none = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (0, {}), }}", type,
                                         std::numeric_limits<int64_t>::max() / width);
    EXPECT_MENTIONS(input_error([&] { parsed(made(none), NpyNumbers::real); }), "fits in memory");
  }
  const std::string behind_zero("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}\0 x", 58);
  EXPECT_MENTIONS(input_error([&] { parsed(made(behind_zero, 8)); }), "the end of the header after '}'");
  std::string many = "(";
  for (int k = 0; k < 33; ++k) many += "1, ";
  EXPECT_MENTIONS(input_error([&] { parsed(made(header(many + ")"), 8)); }), "at most 32 dimensions");
  for (const char* bad :
       {"", "{", "{}", "[]", "{'descr': '<f8'}", "{'descr': '<f8', 'fortran_order': False}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}", "{'descr': '<f8', 'fortran_order': False, 'shape': 1}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1.5,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1 1)}", "{'descr: 1", "{'descr' '<f8'}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} x", "{'descr': [('a', ", "\xff\xfe"}) {
    EXPECT_MENTIONS(input_error([&] { parsed(made(bad, 8)); }), "damaged header");
  }
  EXPECT_MENTIONS(input_error([&] { parsed(std::string("\x93NUMPY\x04\x00\x10\x00\x00\x00", 12)); }),
                  "version 1, 2 or 3, got 4.0");
  EXPECT_MENTIONS(input_error([&] { parsed(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)); }),
                  "expected a header of at most");
}

TEST(ReadNpy, NamesTheFileItCannotOpen) {
  const TemporaryFolder folder;
  EXPECT_MENTIONS(input_error([&] { read_npy(folder / "none.npy"); }), "none.npy: No such file");
  EXPECT_MENTIONS(input_error([&] { read_npy(folder.path()); }), "got a folder");
}

TEST(CheckFinite, NamesTheFirstEntryThatIsNot) {
  EXPECT_MENTIONS(input_error([] { check_finite(read_npy(golden("nan.npy")), "nan.npy"); }),
                  "nan.npy: row 2, column 1 (counted from 0): expected a finite number, got nan");
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    at::Tensor cube = numbers(300, 100, type).view({300, 10, 10}).clone();
    EXPECT_NO_THROW(check_finite(cube, "x.npy"));
    cube.select(0, 250).select(0, 3).select(0, 7).fill_(-INFINITY);
    EXPECT_MENTIONS(input_error([&] { check_finite(cube, "x.npy"); }),
                    "index (250, 3, 7) (counted from 0): expected a finite number, got -inf");
  }
  EXPECT_NO_THROW(check_finite(at::zeros({0, 3}), "x.npy"));
}

TEST(CheckMatrix, SaysWhatShapeItGot) {
  EXPECT_NO_THROW(check_matrix(at::zeros({1, 1}), "x.npy"));
  EXPECT_MENTIONS(
      input_error([] { check_matrix(at::zeros({5}), "x.npy"); }),
      "x.npy: expected a matrix n x d with n and d at least 1, got shape (5,) (a single column has shape (5, 1))");
  EXPECT_MENTIONS(input_error([] { check_matrix(at::zeros({2, 3, 4}), "x.npy"); }), "got shape (2, 3, 4)");
  EXPECT_MENTIONS(input_error([] { check_matrix(at::zeros({0, 3}), "x.npy"); }), "got shape (0, 3)");
}

}  // namespace
}  // namespace htfm
