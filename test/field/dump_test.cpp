// The fields of files as a script compares them with other readers (bench/peers/fields.py):
// HTFM_DUMP_FROM=LIST HTFM_DUMP_TO=FOLDER field_test --gtest_filter=Dump.* reads the files of a list, a line each, and
// writes every field's values (doubles) and what it is (index.jsonl).
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "htfm/base/error.h"
#include "htfm/field/field_file.h"

namespace htfm {
namespace {

TEST(Dump, WritesWhatItReads) {
  const char *from = std::getenv("HTFM_DUMP_FROM"), *to = std::getenv("HTFM_DUMP_TO");
  if (!from || !to) GTEST_SKIP() << "HTFM_DUMP_FROM and HTFM_DUMP_TO name no list and no folder";
  std::ifstream list(from);
  std::ofstream index(std::string(to) + "/index.jsonl");
  int64_t number = 0;
  for (std::string path; std::getline(list, path);) {
    nlohmann::json line{{"file", path}};
    try {
      visit_fields(path, {.expand_reduced = true, .everything = true}, [&](const FieldMessage& m) {
        nlohmann::json own{{"file", path},     {"name", m.name},       {"text", m.text},
                           {"time", m.time},   {"level", m.level},     {"step", m.step},
                           {"units", m.units}, {"problem", m.problem}, {"calendar", calendar_name(m.calendar)}};
        own["member"] = m.member ? nlohmann::json(*m.member) : nlohmann::json();
        if (m.problem.empty()) {
          const std::string values = std::to_string(number++);
          std::vector<double> v(static_cast<size_t>(m.grid->height * m.grid->width));
          m.read(m.grid->whole(), v.data());
          std::ofstream out(std::string(to) + "/" + values + ".bin", std::ios::binary);
          const auto write = [&](const std::vector<double>& x) {
            out.write(reinterpret_cast<const char*>(x.data()), static_cast<std::streamsize>(x.size() * sizeof(double)));
          };
          write(v), write(m.grid->latitude), write(m.grid->longitude);
          own["values"] = values, own["height"] = m.grid->height, own["width"] = m.grid->width;
          own["latitudes"] = m.grid->latitude.size(), own["longitudes"] = m.grid->longitude.size();
          own["around"] = m.grid->period();
        }
        index << own.dump() << "\n";
      });
    } catch (const InputError& e) {
      line["error"] = e.what();
      index << line.dump() << "\n";
    }
  }
  EXPECT_GT(number, 0) << "no field was read";
}

}  // namespace
}  // namespace htfm
