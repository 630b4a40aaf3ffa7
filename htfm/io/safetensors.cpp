#include "htfm/io/safetensors.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "htfm/base/error.h"
#include "htfm/io/dtype.h"
#include "htfm/io/hash.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

using nlohmann::json;
using Entry = SafeTensorsHeader::Entry;

constexpr const char* kMetadata = "__metadata__";
constexpr const char* kDataHash = "htfm.data_hash";
constexpr const char* kHeaderHash = "htfm.header_hash";
constexpr uint64_t kMostHeader = 100'000'000;  // the limit of the PyPI package
constexpr size_t kMostDimensions = 32;
constexpr size_t kPiece = size_t{1} << 20;

/// Hash of what the header means (names, types, shapes, places, metadata), however its JSON is laid out.
std::string header_hash(const SafeTensorsHeader& header) {
  Xxh64 hash;
  const auto number = [&](uint64_t value) { hash.update(&value, sizeof value); };
  const auto text = [&](std::string_view value) {
    number(value.size());
    hash.update(value.data(), value.size());
  };
  number(header.tensors.size());
  for (const auto& [name, entry] : header.tensors) {
    text(name);
    text(find_dtype(entry.type)->safetensors);
    number(entry.shape.size());
    for (const int64_t size : entry.shape) number(static_cast<uint64_t>(size));
    number(entry.begin);
    number(entry.end);
  }
  for (const auto& [key, value] : header.metadata) {
    text(key);
    text(value);
  }
  text(header.data_hash);
  return hash.hex();
}

class HeaderReader {
 public:
  explicit HeaderReader(const Source& source) : source_(source) {}

  SafeTensorsHeader read() {
    const json root = parse();
    for (const auto& [name, value] : root.items()) {
      if (name == kMetadata) {
        read_metadata(value);
      } else {
        header_.tensors.emplace(name, read_entry(name, value));
      }
    }
    check_layout();
    check_hash();
    return std::move(header_);
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) const {
    throw InputError("[safetensors] {}: {}", source_.name(), fmt::format(text, std::forward<Args>(args)...));
  }

  json parse() {
    if (source_.size() < 8) fail("truncated: expected at least 8 bytes, got {}", source_.size());
    uint64_t length = 0;
    source_.read(0, &length, sizeof length);
    if (length > kMostHeader)
      fail("expected a checkpoint or a prepared set, got a file that does not begin as they do");
    if (length > source_.size() - 8)
      fail("truncated: expected a header of {} bytes, got {}", length, source_.size() - 8);
    header_.data_start = 8 + length;
    std::string text(length, '\0');
    source_.read(8, text.data(), length);
    // The JSON parser takes a zero byte for the end of its input and would pass over what follows.
    if (text.find('\0') != std::string::npos) fail("damaged header: invalid JSON");
    if (!text.starts_with('{')) fail("expected a checkpoint or a prepared set, got a file without their header");

    std::vector<std::set<std::string>> keys;  // of the objects that are open
    const auto check = [&](int depth, json::parse_event_t event, json& value) {
      if (depth > 3) fail("damaged header: expected at most 3 levels of JSON");
      if (event == json::parse_event_t::object_start) keys.emplace_back();
      if (event == json::parse_event_t::object_end) keys.pop_back();
      if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
        fail("damaged header: the name {} stands twice", in_quotes(value.get<std::string>()));
      }
      return true;
    };
    try {
      return json::parse(text, check);
    } catch (const json::exception&) {
      fail("damaged header: invalid JSON");
    }
  }

  void read_metadata(const json& value) {
    if (!value.is_object()) fail("damaged header: expected __metadata__ to be a map of strings");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail("damaged header: expected the metadata {} to be a string", in_quotes(key));
      header_.metadata.emplace(key, text.get<std::string>());
    }
  }

  Entry read_entry(const std::string& name, const json& value) const {
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") ||
        !value.contains("data_offsets")) {
      fail("damaged header: expected dtype, shape and data_offsets for the tensor {}", in_quotes(name));
    }
    Entry entry;
    const json& type = value["dtype"];
    const Dtype* dtype = type.is_string() ? find_dtype_safetensors(type.get<std::string>()) : nullptr;
    if (!dtype)
      fail("tensor {}: expected dtype F64, F32, F16, BF16, I64 or U8, got {}", in_quotes(name), in_quotes(type.dump()));
    entry.type = dtype->type;
    for (const uint64_t size : read_numbers(name, value["shape"], "shape"))
      entry.shape.push_back(static_cast<int64_t>(size));
    if (entry.shape.size() > kMostDimensions)
      fail("tensor {}: expected at most {} dimensions", in_quotes(name), kMostDimensions);
    const std::vector<uint64_t> offsets = read_numbers(name, value["data_offsets"], "data_offsets");
    if (offsets.size() != 2) fail("tensor {}: expected two data_offsets, got {}", in_quotes(name), offsets.size());
    entry.begin = offsets[0];
    entry.end = offsets[1];
    const uint64_t data_size = source_.size() - header_.data_start;
    if (entry.begin > entry.end || entry.end > data_size) {
      fail("tensor {}: expected offsets within the {} bytes of data, got {} to {}: truncated or damaged",
           in_quotes(name), data_size, entry.begin, entry.end);
    }
    uint64_t bytes = 0;
    if (!byte_count(entry.shape, entry.type, bytes) || bytes != entry.end - entry.begin) {
      fail("tensor {}: shape {} of {} does not take the {} bytes of its offsets", in_quotes(name),
           shape_text(entry.shape), dtype->name, entry.end - entry.begin);
    }
    return entry;
  }

  std::vector<uint64_t> read_numbers(const std::string& name, const json& list, const char* what) const {
    std::vector<uint64_t> numbers;
    const auto whole = [](const json& value) {
      return value.is_number_unsigned() && value.get<uint64_t>() <= INT64_MAX;
    };
    if (!list.is_array() || !std::all_of(list.begin(), list.end(), whole)) {
      fail("tensor {}: expected {} to be a list of whole numbers of at least 0", in_quotes(name), what);
    }
    for (const json& value : list) numbers.push_back(value.get<uint64_t>());
    return numbers;
  }

  /// The tensors must cover the data without overlap, gap or rest, as the format demands.
  void check_layout() const {
    std::vector<std::pair<const std::string*, const Entry*>> order;
    for (const auto& [name, entry] : header_.tensors) order.emplace_back(&name, &entry);
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
    });
    uint64_t at = 0;
    for (const auto& [name, entry] : order) {
      if (entry->begin != at) {
        fail("tensor {}: expected its data to begin at {}, got {}: data that {}", in_quotes(*name), at, entry->begin,
             entry->begin < at ? "overlap" : "leave a gap");
      }
      at = entry->end;
    }
    const uint64_t data_size = source_.size() - header_.data_start;
    if (at != data_size) fail("expected {} bytes of data, got {}", at, data_size);
  }

  void check_hash() {
    const auto take = [&](const char* key) {
      const auto node = header_.metadata.extract(key);
      return node ? node.mapped() : std::string();
    };
    header_.data_hash = take(kDataHash);
    const std::string written = take(kHeaderHash);
    if (written.empty() && header_.data_hash.empty()) return;
    if (written != header_hash(header_)) fail("damaged header: its hash does not fit");
  }

  const Source& source_;
  SafeTensorsHeader header_;
};

/// The header as the PyPI package writes it; `order` is the order of the data.
std::string header_text(const SafeTensorsHeader& header, const std::vector<std::string>& order, bool hash) {
  nlohmann::ordered_json root = nlohmann::ordered_json::object();
  for (const auto& [key, value] : header.metadata) root[kMetadata][key] = value;
  if (hash) {
    root[kMetadata][kDataHash] = header.data_hash;
    root[kMetadata][kHeaderHash] = header_hash(header);
  }
  for (const std::string& name : order) {
    const Entry& entry = header.tensors.at(name);
    nlohmann::ordered_json& value = root[name];
    value["dtype"] = find_dtype(entry.type)->safetensors;
    value["shape"] = entry.shape;
    value["data_offsets"] = {entry.begin, entry.end};
  }
  std::string text;
  try {
    text = root.dump();
  } catch (const nlohmann::json::exception&) {
    throw InputError("[safetensors] expected names and metadata in UTF-8");
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace

SafeTensorsHeader read_safetensors_header(const Source& source) { return HeaderReader(source).read(); }

SafeTensorsHeader read_safetensors_header(const std::string& path) { return read_safetensors_header(FileSource(path)); }

SafeTensors read_safetensors(const Source& source) {
  SafeTensorsHeader header = read_safetensors_header(source);
  std::vector<std::pair<const Entry*, char*>> order;
  SafeTensors content;
  for (const auto& [name, entry] : header.tensors) {
    at::Tensor& tensor = content.tensors[name] = at::empty(entry.shape, at::TensorOptions().dtype(entry.type));
    order.emplace_back(&entry, static_cast<char*>(tensor.data_ptr()));
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first->begin < b.first->begin; });
  // Piece by piece, so that the hash finds the bytes still in the cache.
  Xxh64 hash;
  for (const auto& [entry, out] : order) {
    const uint64_t size = entry->end - entry->begin;
    for (uint64_t at = 0; at < size; at += kPiece) {
      const uint64_t piece = std::min<uint64_t>(kPiece, size - at);
      source.read(header.data_start + entry->begin + at, out + at, piece);
      if (!header.data_hash.empty()) hash.update(out + at, piece);
    }
  }
  if (!header.data_hash.empty() && hash.hex() != header.data_hash) {
    throw InputError("[safetensors] {}: damaged data: expected hash {}, got {}", source.name(), header.data_hash,
                     hash.hex());
  }
  content.metadata = std::move(header.metadata);
  content.hashed = !header.data_hash.empty();
  return content;
}

SafeTensors read_safetensors(const std::string& path) { return read_safetensors(FileSource(path)); }

void write_safetensors(Sink& sink, const SafeTensors& content, bool hash) {
  SafeTensorsHeader header;
  header.metadata = content.metadata;
  if (header.metadata.contains(kDataHash) || header.metadata.contains(kHeaderHash)) {
    throw InputError("[safetensors] expected metadata without {} and {}, which the writer makes", kDataHash,
                     kHeaderHash);
  }
  std::vector<std::string> order;
  for (const auto& [name, tensor] : content.tensors) {
    if (name == kMetadata) throw InputError("[safetensors] expected a tensor's name, got {}", in_quotes(name));
    if (!find_dtype(tensor.scalar_type())) {
      throw InputError("[safetensors] tensor {}: expected float32, float64, int64, uint8, bfloat16 or float16, got {}",
                       in_quotes(name), dtype_name(tensor.scalar_type()));
    }
    order.push_back(name);
  }
  // Rows of the table of types stand from wide to narrow.
  std::stable_sort(order.begin(), order.end(), [&](const std::string& a, const std::string& b) {
    return find_dtype(content.tensors.at(a).scalar_type()) < find_dtype(content.tensors.at(b).scalar_type());
  });
  std::vector<at::Tensor> arrays;
  Xxh64 digest;
  uint64_t at = 0;
  for (const std::string& name : order) {
    const at::Tensor& array = arrays.emplace_back(packed(content.tensors.at(name)));
    const uint64_t bytes = array.nbytes();
    header.tensors[name] = {array.scalar_type(), array.sizes().vec(), at, at + bytes};
    at += bytes;
    if (hash) digest.update(array.data_ptr(), bytes);
  }
  if (hash) header.data_hash = digest.hex();
  const std::string text = header_text(header, order, hash);
  const uint64_t length = text.size();
  sink.write(&length, sizeof length);
  sink.write(text);
  for (const at::Tensor& array : arrays) sink.write(array.data_ptr(), array.nbytes());
}

void write_safetensors(const std::string& path, const SafeTensors& content, bool hash) {
  atomic_write(path, [&](Sink& sink) { write_safetensors(sink, content, hash); });
}

}  // namespace htfm
