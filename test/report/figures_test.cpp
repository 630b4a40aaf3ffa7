#include "htfm/report/figures.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/random.h"
#include "htfm/report/text.h"
#include "test/report/support.h"

namespace htfm::report {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const std::string kHostile = "</title><script>alert('x')</script> & \"q\" \x01\xff ]]>";

at::Tensor matrix(int64_t rows, int64_t columns, const std::vector<double>& values) {
  at::Tensor out = at::empty({rows, columns}, at::kDouble);
  std::copy(values.begin(), values.end(), out.data_ptr<double>());
  return out;
}

/// Points with Cauchy-like tails.
at::Tensor heavy_points(int64_t n, uint64_t seed) {
  const Key key(seed);
  at::Tensor out = at::empty({n, 2}, at::kFloat);
  for (int64_t i = 0; i < 2 * n; ++i)
    out.data_ptr<float>()[i] = static_cast<float>(std::tan(3.14159 * (key.uniform(static_cast<uint64_t>(i)) - 0.5)));
  return out;
}

/// One of each figure, with names and data to order.
std::vector<Figure> all_figures(const std::string& name, const std::vector<double>& x, const std::vector<double>& y) {
  const size_t n = std::min(x.size(), y.size());
  std::vector<double> pairs;
  for (size_t i = 0; i < n; ++i) pairs.push_back(x[i]), pairs.push_back(y[i]);
  const at::Tensor points = matrix(static_cast<int64_t>(n), 2, pairs);
  const AxisOptions log_axis{.label = name, .scale = Scale::log};
  return {
      scatter_panels({{name, points, name}, {name, points}, {name, {}}},
                     {.label = name, .x_label = name, .y_label = name}),
      scatter_grid({name, name}, {name}, {{points}, {at::Tensor()}}, {.label = name}),
      line_chart({{name, x, y}, {name, y, x, x, y}},
                 {.label = name, .title = name, .x = {.label = name}, .y = {.label = name}}),
      line_chart({{name, x, y}}, {.label = name, .x = log_axis, .y = log_axis}),
      loss_curve({{name, x, y}}, {.label = name, .title = name, .smoothing = 0.5}),
      clock_paths({{name, points, name}, {name, {}}}, {.label = name}),
      clock_paths({{name, points}}, {.label = name, .scale = Scale::linear, .shared_axis = false}),
      radial_tail({name, x}, {{name, y}}, {.label = name, .slopes = {0.5, 1.5, 3}}),
      quantile_plot({name, x}, {{name, y}}, {.label = name}),
      dot_chart(std::vector<std::string>(x.size(), name), {{name, x, x, x}, {name, x, {}, {}, Color::neutral, true}},
                {.label = name, .title = name}),
  };
}

TEST(Figures, AreWellFormedWhateverTheData) {
  const std::vector<std::vector<double>> data{
      {},
      {0},
      {0, 0, 0},
      {7, 7, 7, 7},
      {1, 2, 3, 4, 5},
      {-1, 0, -3},
      {kNan, kNan},
      {kInf, -kInf, kNan, 1, -1, 0},
      {1e308, -1e308, 1.7e308, -1.7e308},
      {1e-320, 1e-310, 5e-324},
      {1e9, 1e9 + 1e-6},
      {1e-200, 1, 1e200},
  };
  for (const std::vector<double>& x : data) {
    for (const std::vector<double>& y : data) {
      if (x.size() != y.size()) continue;
      for (const std::string& name : {std::string("HTFM-α"), kHostile, std::string()}) {
        for (const Figure& figure : all_figures(name, x, y)) {
          const std::string svg = figure.svg();
          ASSERT_EQ(XmlChecker::problem(svg), "");
          ASSERT_EQ(XmlChecker::problem("<div>" + figure.html() + "</div>"), "");
          ASSERT_EQ(occurrences(svg, "<script"), 0);
          // A coordinate that is not a number would make the browser drop the whole element.
          for (const char* word : {"\"nan", "\"inf", "\"-nan", "\"-inf", "mnan", "lnan"})
            ASSERT_EQ(occurrences(svg, word), 0) << word;
        }
      }
    }
  }
}

TEST(Figures, AreTheSameTwice) {
  const at::Tensor points = heavy_points(20000, 3);
  const std::vector<PointPanel> panels{{"data", points}, {"model", heavy_points(20000, 4)}};
  EXPECT_EQ(scatter_panels(panels).svg(), scatter_panels(panels).svg());
  EXPECT_EQ(radial_tail({"data", radii(points)}, {}).svg(), radial_tail({"data", radii(points)}, {}).svg());
}

TEST(Figures, StandaloneFileCarriesBothPalettesAndNoReferences) {
  const std::string svg = line_chart({{"a", {1, 2}, {3, 4}}}).svg();
  EXPECT_EQ(occurrences(svg, "prefers-color-scheme:dark"), 1);
  EXPECT_EQ(occurrences(svg, "var("), 0);
  EXPECT_EQ(occurrences(svg, "http"), 1) << "only the namespace";
  EXPECT_EQ(occurrences(svg, "url("), 0);
}

TEST(Scatter, CountsWhatLiesOutsideAndWhatIsNotFinite) {
  const at::Tensor points = matrix(6, 2, {0, 0, 0.5, 0.5, 2, 0, 0, -3, kNan, 0, 0, kInf});
  const Figure figure = scatter_panels({{"data", points}}, {.window = {{Range{-1, 1}, Range{-1, 1}}}});
  EXPECT_EQ(occurrences(figure.tiles[0].body, "2 of 6 outside, 2 not finite"), 1);
  EXPECT_EQ(occurrences(figure.tiles[0].body, "h0"), 2) << "one dot for each point inside";
}

TEST(Scatter, ThinsToTheLimitAndStaysSmall) {
  const Figure figure = scatter_panels({{"data", heavy_points(24000, 1)}, {"model", heavy_points(24000, 2)}});
  for (const Tile& tile : figure.tiles) {
    EXPECT_LE(occurrences(tile.body, "h0"), 4000);
    EXPECT_GE(occurrences(tile.body, "h0"), 3000);
    EXPECT_LE(tile.body.size(), 60000u);
  }
  ASSERT_EQ(figure.notes.size(), 1u);
  EXPECT_EQ(figure.notes[0], "At most 4,000 points of each panel are drawn.");
}

TEST(Scatter, RobustWindowHoldsTheBulkOfHeavyTails) {
  const Figure figure = scatter_panels({{"data", heavy_points(20000, 5)}});
  // The window holds at least 99 % of each coordinate, so at most 2 % of the points lie outside.
  const std::string& body = figure.tiles[0].body;
  const size_t at = body.find(" of 20,000 outside");
  ASSERT_NE(at, std::string::npos);
  const size_t start = body.rfind('>', at) + 1;
  EXPECT_LE(std::stoi(body.substr(start, at - start)), 400);
}

TEST(Scatter, AspectIsEqual) {
  const Figure figure = scatter_panels({{"data", heavy_points(10, 1)}}, {.window = {{Range{-2, 2}, Range{0, 2}}}});
  const std::string& body = figure.tiles[0].body;
  const size_t at = body.find("<svg ");
  const auto attribute = [&](const char* name) {
    const size_t start = body.find(std::string(" ") + name + "=\"", at) + std::string(name).size() + 3;
    return std::strtod(body.c_str() + start, nullptr);
  };
  EXPECT_NEAR(attribute("width"), 2 * attribute("height"), 0.21);
}

// A column of millions beside one of thousandths: both are seen.
TEST(Scatter, ColumnsOfOtherSizesHaveScalesOfTheirOwn) {
  const at::Tensor points = heavy_points(400, 1);
  const at::Tensor other = points.clone();
  other.select(1, 1).mul_(0x1p-30);
  const auto marks = [](const Figure& figure) {
    const std::string& body = figure.tiles[0].body;
    const size_t at = body.find("<path");
    return body.substr(at, body.find("/>", at) - at);
  };
  const auto grid = [&](const at::Tensor& x) { return scatter_grid({"r"}, {"c"}, {{x}}, {.axes = {{"a", "b"}}}); };
  EXPECT_EQ(marks(grid(points)), marks(grid(other)));
  EXPECT_NE(grid(points).tiles[0].body, grid(other).tiles[0].body) << "the scales are told";
  const Figure panels = scatter_panels({{"data", other}});
  EXPECT_EQ(panels.tiles[0].body.find("NaN"), std::string::npos);
  EXPECT_THROW(scatter_grid({"r"}, {"c"}, {{points}}, {.axes = {{"a", "b"}, {"c", "d"}}}), InputError);
}

TEST(Scatter, RefusesWhatIsNoMatrixOfPoints) {
  EXPECT_THROW(scatter_panels({{"x", at::empty({4}, at::kFloat)}}), InputError);
  EXPECT_THROW(scatter_panels({{"x", at::empty({4, 1}, at::kFloat)}}), InputError);
  EXPECT_THROW(scatter_panels({{"x", at::empty({4, 2}, at::kLong)}}), InputError);
  EXPECT_THROW(scatter_grid({"r"}, {"c"}, {{}}), InputError);
  EXPECT_THROW(clock_paths({{"c", at::empty({3}, at::kDouble)}}), InputError);
}

TEST(Scatter, ReadsStridedAndSinglePrecisionPoints) {
  const at::Tensor wide = matrix(2, 3, {0.1, 0.2, 9, 0.3, 0.4, 9}), points = matrix(2, 2, {0.1, 0.2, 0.3, 0.4});
  const ScatterOptions options{.window = {{Range{0, 1}, Range{0, 1}}}};
  const std::string expected = scatter_panels({{"x", points}}, options).svg();
  EXPECT_EQ(scatter_panels({{"x", wide}}, options).svg(), expected);
  EXPECT_EQ(scatter_panels({{"x", points.t().contiguous().t()}}, options).svg(), expected);
  EXPECT_EQ(scatter_panels({{"x", points.to(at::kFloat)}}, options).svg(), expected);
}

TEST(LineChart, DropsAndCountsWhatHasNoPlaceOnLogAxes) {
  const Figure figure = line_chart({{"a", {0, 1, 2, 3, 4}, {1, -1, 0, kNan, 5}}},
                                   {.x = {.scale = Scale::log}, .y = {.scale = Scale::log}});
  ASSERT_EQ(figure.notes.size(), 1u);
  EXPECT_EQ(figure.notes[0], "Not drawn: 1 not finite, 3 not positive on a log axis.");
  EXPECT_TRUE(line_chart({{"a", {0, 1}, {-1, 0}}}).notes.empty()) << "all have a place on linear axes";
}

TEST(LineChart, RefusesSeriesOfUnequalLength) {
  EXPECT_THROW(line_chart({{"a", {1, 2}, {1}}}), InputError);
  EXPECT_THROW(line_chart({{"a", {1, 2}, {1, 2}, {1}, {2}}}), InputError);
  EXPECT_THROW(loss_curve({{"a", {1}, {}}}), InputError);
  EXPECT_THROW(dot_chart({"a"}, {{"s", {1, 2}}}), InputError);
}

/// Corners of a path that has only relative moves and lines, in pixels.
std::vector<std::pair<double, double>> vertices(const std::string& body) {
  const size_t start = body.find(" d=\"") + 4;
  const std::string data = body.substr(start, body.find('"', start) - start);
  std::vector<std::pair<double, double>> out;
  double x = 0, y = 0;
  for (const char* at = data.c_str(); *at != 0;) {
    if (*at == 'm' || *at == 'l' || *at == ' ') ++at;
    char* end;
    x += std::strtod(at, &end);
    y += std::strtod(end, &end);
    out.emplace_back(x, y);
    at = end;
  }
  return out;
}

TEST(Plot, LinePassesThroughItsPoints) {
  Plot plot({0, 0, 100, 100}, Axis{"", Scale::linear, {0, 10}, {}}, Axis{"", Scale::log, {1, 100}, {}});
  plot.line(std::vector<double>{0, 5, 10}, std::vector<double>{1, 10, 100}, Color::blue);
  Canvas canvas(100, 100);
  plot.draw_marks(canvas);
  const std::vector<std::pair<double, double>> expected{{0, 100}, {50, 50}, {100, 0}};
  const auto found = vertices(canvas.body());
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i].first, expected[i].first, 0.051);
    EXPECT_NEAR(found[i].second, expected[i].second, 0.051);
  }
}

TEST(Plot, LongLinesAreThinnedButKeepTheirSpikes) {
  constexpr int kPoints = 200000;
  std::vector<double> x(kPoints), y(kPoints);
  for (int i = 0; i < kPoints; ++i) x[static_cast<size_t>(i)] = i, y[static_cast<size_t>(i)] = 0.5 + 0.01 * std::sin(i);
  y[77777] = 0.9;
  y[123456] = 0.1;
  Plot plot({0, 0, 400, 100}, Axis{"", Scale::linear, {0, kPoints}, {}}, Axis{"", Scale::linear, {0, 1}, {}});
  plot.line(x, y, Color::blue);
  Canvas canvas(400, 100);
  plot.draw_marks(canvas);
  EXPECT_LT(canvas.body().size(), 20000u);
  double lowest = 100, highest = 0;
  for (const auto& [px, py] : vertices(canvas.body())) lowest = std::min(lowest, py), highest = std::max(highest, py);
  EXPECT_NEAR(lowest, 10, 0.11);
  EXPECT_NEAR(highest, 90, 0.11);
}

TEST(Plot, StepsKeepTheValueUntilTheNextAbscissa) {
  Plot plot({0, 0, 100, 100}, Axis{"", Scale::linear, {0, 4}, {}}, Axis{"", Scale::linear, {0, 4}, {}});
  plot.steps(std::vector<double>{0, 2, 4}, std::vector<double>{1, 1, 3}, Color::blue);
  Canvas canvas(100, 100);
  plot.draw_marks(canvas);
  const std::vector<std::pair<double, double>> expected{{0, 75}, {100, 75}, {100, 25}};
  EXPECT_EQ(vertices(canvas.body()), expected);
}

TEST(Loss, SpikesAreCountedAndDoNotSqueezeTheCurve) {
  std::vector<double> step(2000), loss(2000);
  for (size_t i = 0; i < step.size(); ++i)
    step[i] = static_cast<double>(i), loss[i] = 1 + 0.1 * std::sin(static_cast<double>(i));
  loss[500] = 1e9;
  loss[501] = kNan;
  loss[502] = -1;
  const Figure figure = loss_curve({{"run", step, loss}}, {.smoothing = 0});
  ASSERT_EQ(figure.notes.size(), 2u);
  EXPECT_EQ(figure.notes[0], "1 record outside the axis.");
  EXPECT_EQ(figure.notes[1], "Not drawn: 1 not finite, 1 not positive on a log axis.");
}

TEST(Clock, ZeroAtTheStartIsNotReportedAsLostOnALogAxis) {
  EXPECT_TRUE(clock_paths({{"c", matrix(2, 3, {0, 1, 2, 0, 3, 4})}}).notes.empty());
  const Figure broken = clock_paths({{"c", matrix(1, 3, {0, 0, 2})}});
  ASSERT_EQ(broken.notes.size(), 1u);
  EXPECT_EQ(broken.notes[0], "Not drawn in c: 1 not positive on a log axis.");
}

TEST(Tail, RadiiAreDistances) {
  const at::Tensor points = matrix(2, 2, {3, 4, 1e200, 1e200});
  EXPECT_DOUBLE_EQ(radii(points)[0], 5);
  EXPECT_DOUBLE_EQ(radii(points)[1], std::sqrt(2.0) * 1e200) << "no overflow in the squares";
  EXPECT_DOUBLE_EQ(radii(points, std::vector<double>{3, 0})[0], 4);
  EXPECT_THROW(radii(points, std::vector<double>{1, 2, 3}), InputError);
}

TEST(Tail, CountsEveryValueThatHasNoPlace) {
  std::vector<double> data(3000, 2.0);
  for (size_t i = 0; i < 700; ++i) data[i] = 0;
  for (size_t i = 700; i < 705; ++i) data[i] = kNan;
  const Figure figure = radial_tail({"data", data}, {});
  ASSERT_EQ(figure.notes.size(), 2u);
  EXPECT_EQ(figure.notes[0], "Left out of data: 5 of 3,000 not finite.");
  EXPECT_EQ(figure.notes[1], "Left out of data: 700 of 3,000 not positive on a log axis.");
}

TEST(Tail, OneSampleAstrayIsCountedAndDoesNotStretchTheAxis) {
  const std::vector<double> data{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<double> astray = data;
  astray.push_back(1e30);
  const Figure figure = radial_tail({"data", data}, {{"model", astray}});
  ASSERT_EQ(figure.notes.size(), 1u);
  EXPECT_TRUE(figure.notes[0].starts_with("1 sample beyond the axis"));
  EXPECT_EQ(occurrences(figure.tiles[0].body, "10²"), 0);
}

}  // namespace
}  // namespace htfm::report
