#include "htfm/sample/sample_file.h"

#include <ATen/ops/zeros.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/io/file.h"
#include "htfm/io/hash.h"
#include "htfm/io/npy.h"
#include "htfm/io/row_file.h"
#include "htfm/sample/sample_csv.h"
#include "htfm/sample/written_rows.h"

namespace htfm {

namespace {

constexpr int64_t kFewestParts = 32, kLeastBlocks = 64;

// What is known of a part once its samples are in the file.
struct PartRecord {
  int64_t done = 0;
  int64_t evaluations = 0;  // of all its samples
  int64_t most = 0, diverged = 0, incomplete = 0;
};

// The file while it is made: the .npy file as it will be, then the areas, a record for each part, and what the job is.
struct Layout {
  std::string header;
  int64_t rows = 0, row_bytes = 0, part_rows = 0;
  bool areas = false;
  std::string job;  // 64 digits

  int64_t parts() const { return (rows + part_rows - 1) / part_rows; }
  uint64_t row(int64_t i) const { return header.size() + static_cast<uint64_t>(i * row_bytes); }
  uint64_t area(int64_t i) const { return row(rows) + static_cast<uint64_t>(areas ? i * 8 : 0); }
  uint64_t record(int64_t part) const { return area(rows) + static_cast<uint64_t>(part) * sizeof(PartRecord); }
  uint64_t job_at() const { return record(parts()); }
  uint64_t size() const { return job_at() + job.size(); }
};

Layout make_layout(const Model& model, const SampleOptions& options, const SampleFileOptions& file,
                   int64_t block_rows) {
  Layout out;
  out.rows = options.n, out.areas = !file.area.empty();
  std::vector<int64_t> shape{options.n};
  const at::ScalarType type = model.field() ? at::kFloat : at::kDouble;
  int64_t columns = 0;
  if (model.field()) {
    const ImageShape image = *model.image();
    shape.insert(shape.end(), {image.channels, image.height, image.width});
    columns = image.size();
  } else {
    columns = static_cast<int64_t>(written_names(model).size());
    shape.push_back(columns);
  }
  StringSink header;
  write_npy_header(header, shape, type);
  out.header = header.bytes();
  out.row_bytes = columns * (type == at::kFloat ? 4 : 8);
  // Parts do not depend on the number of processes: some for each of them, and enough blocks in each for the threads.
  const int64_t most = file.part_bytes / out.row_bytes, few = (options.n + kFewestParts - 1) / kFewestParts,
                least = options.device.is_cpu() ? kLeastBlocks * block_rows : block_rows;
  out.part_rows = std::max<int64_t>(1, std::min(most, std::max(few, least)) / block_rows) * block_rows;
  const SolverOptions& s = options.solve;
  out.job = sha256(fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}{}", model.weights_hash(), options.n,
                               options.first, options.seed, options.solver, static_cast<int>(options.time_grid), s.nfe,
                               s.time_power, s.time_centre, s.time_spread, s.rtol, s.atol, s.eta, s.eta_from,
                               options.averaged, options.device.is_cpu() ? "cpu" : options.precision, out.part_rows,
                               given_text(options)));
  return out;
}

std::string part_path(const std::string& path) { return path + ".part"; }

Descriptor open_part(const std::string& path, int flags) {
  Descriptor file(::open(part_path(path).c_str(), flags | O_CLOEXEC, 0666), part_path(path));
  if (!file.is_open()) throw Error("[write] {}: {}", part_path(path), system_reason(errno));
  return file;
}

// A new file, or the one that was left, after a check that it is of this job. The lock is the first process's.
Descriptor begin(const Layout& layout, const SampleFileOptions& options) {
  const std::string path = part_path(options.path);
  const bool exists = std::filesystem::exists(path);
  Descriptor file = open_part(options.path, O_RDWR | O_CREAT);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    throw InputError(
        "[-o] {}: expected a file that no other process is writing, got one that is: wait, or give another name", path);
  if (options.resume && exists) {
    const FileSource source(path);
    std::string job(layout.job.size(), ' ');
    if (source.size() == layout.size()) source.read(layout.job_at(), job.data(), job.size());
    if (job != layout.job)
      throw InputError(
          "[--resume] {}: expected the unfinished file of this job, got that of another; remove it to start again",
          path);
    return file;
  }
  file.truncate(0);
  file.truncate(layout.size());  // records of zeros: nothing is there yet
  file.write_at(0, layout.header.data(), layout.header.size());
  file.write_at(layout.job_at(), layout.job.data(), layout.job.size());
  file.sync();
  return file;
}

std::vector<PartRecord> read_records(const Layout& layout, const std::string& path) {
  std::vector<PartRecord> out(static_cast<size_t>(layout.parts()));
  FileSource(path).read(layout.record(0), out.data(), out.size() * sizeof(PartRecord));
  return out;
}

// One part into its place; its record follows when the samples are on the disk.
void write_part(const Model& model, const Layout& layout, int64_t part, PartSampler& sampler, Descriptor& file,
                SampleResult& all) {
  const int64_t first = part * layout.part_rows, n = std::min(layout.part_rows, layout.rows - first);
  const SampleResult drawn = sampler.draw(first, n);
  const at::Tensor values = (model.field() ? drawn.samples.to(at::kFloat) : written_rows(model, drawn)).contiguous();
  file.write_at(layout.row(first), values.const_data_ptr(), values.nbytes());
  if (layout.areas) file.write_at(layout.area(first), drawn.area.const_data_ptr(), drawn.area.nbytes());
  file.sync();
  const PartRecord record{1, std::llround(drawn.evaluations * static_cast<double>(n)), drawn.most_evaluations,
                          drawn.diverged, drawn.incomplete};
  file.write_at(layout.record(part), &record, sizeof record);
  all.plan_error = drawn.plan_error, all.plain_error = drawn.plain_error;
}

void write_areas(const Layout& layout, const SampleFileOptions& options) {
  const FileSource source(part_path(options.path));
  atomic_write(options.area, [&](Sink& sink) {
    write_npy_header(sink, {layout.rows}, at::kDouble);
    std::vector<double> some(1 << 16);
    for (int64_t i = 0; i < layout.rows; i += static_cast<int64_t>(some.size())) {
      const auto n = static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(some.size()), layout.rows - i));
      source.read(layout.area(i), some.data(), n * sizeof(double));
      sink.write(some.data(), n * sizeof(double));
    }
  });
}

void add_totals(const std::vector<PartRecord>& records, int64_t n, SampleResult& out) {
  double evaluations = 0;
  for (const PartRecord& r : records) {
    evaluations += static_cast<double>(r.evaluations);
    out.most_evaluations = std::max(out.most_evaluations, r.most);
    out.diverged += r.diverged, out.incomplete += r.incomplete;
  }
  out.evaluations = evaluations / static_cast<double>(n);
}

}  // namespace

SampleResult sample_to_file(const Model& model, const SampleOptions& options, const SampleFileOptions& file) {
  if (RowFormat::is_csv(file.path)) return sample_to_csv(model, options, file);
  if (options.n < 1) throw InputError("[sample] expected at least one sample, got {}", options.n);
  const auto started = std::chrono::steady_clock::now();
  SampleOptions quiet = options;
  quiet.report = {};
  PartSampler sampler(model, quiet);
  const Layout layout = make_layout(model, options, file, sampler.block_rows());
  Communicator* processes = file.processes;
  if (processes) check_equal(*processes, "model and options", "those of hash " + layout.job.substr(0, 16));
  Descriptor part;
  on_first(processes, [&] { part = begin(layout, file); });
  if (!part.is_open()) part = open_part(file.path, O_RDWR);

  std::vector<PartRecord> records = read_records(layout, part_path(file.path));
  std::vector<int64_t> missing;
  for (size_t k = 0; k < records.size(); ++k)
    if (records[k].done != 1) missing.push_back(static_cast<int64_t>(k));
  const auto open_parts = static_cast<int64_t>(missing.size());
  if (processes) processes->barrier();  // nobody writes before all have read what is there
  const Share own = processes ? share_of(open_parts, *processes) : Share{0, open_parts};
  SampleResult result;
  // What this process has drawn stands for all: they have equal shares.
  const int64_t before = layout.parts() - open_parts;
  for (int64_t k = own.begin; k < own.end; ++k) {
    write_part(model, layout, missing[static_cast<size_t>(k)], sampler, part, result);
    const int64_t done = before + (k + 1 - own.begin) * open_parts / own.count();
    if (options.report) options.report(std::min(options.n, done * layout.part_rows), options.n);
  }
  if (processes) processes->barrier();
  on_first(processes, [&] {
    records = read_records(layout, part_path(file.path));
    add_totals(records, options.n, result);
    if (!file.area.empty()) write_areas(layout, file);
    part.truncate(layout.row(layout.rows));
    part.sync();
    if (std::rename(part_path(file.path).c_str(), file.path.c_str()) != 0)
      throw Error("[write] {}: {}", file.path, system_reason(errno));
    write_conditions_beside(file.path, model, options);
  });
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return result;
}

}  // namespace htfm
