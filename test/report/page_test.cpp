#include "htfm/report/page.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "htfm/base/error.h"
#include "htfm/report/figures.h"
#include "test/report/support.h"

namespace htfm::report {
namespace {

const std::string kHostileText = "</style></td><script>alert('x')</script> & \"q\" onload=x `a`b` \x01\xff ]]>";

Figure small_figure() { return line_chart({{"a", {1, 2}, {3, 4}}}, {.label = "small"}); }
Figure wide_figure() { return scatter_panels({{"a", {}}, {"b", {}}, {"c", {}}}); }

TEST(XmlChecker, SeesWhatIsWrong) {
  EXPECT_EQ(XmlChecker::problem("<!DOCTYPE html>\n<a b=\"c &amp; d\"><e/>α</a>\n"), "");
  for (const char* bad :
       {"", "text", "<a>", "<a></b>", "<a/><a/>", "<a b=c/>", "<a b=\"<\"/>", "<a b=\"1\" b=\"2\"/>", "<a>&nbsp;</a>",
        "<a>&</a>", "<a>\x01</a>", "<a>\xff</a>", "<a b=\"1\"c=\"2\"/>", "<a> < </a>"})
    EXPECT_NE(XmlChecker::problem(bad), "") << bad;
}

TEST(Page, EscapesEverything) {
  Page page(kHostileText, kHostileText);
  Table table{kHostileText, {{kHostileText}, {kHostileText, Best::highest}}, {}};
  table.add({kHostileText, kHostileText});
  page.section(kHostileText)
      .heading(kHostileText)
      .text(kHostileText + "\n\n" + kHostileText)
      .highlights({{kHostileText, kHostileText, kHostileText}});
  page.remark(kHostileText)
      .warning(kHostileText)
      .configuration({{kHostileText, kHostileText}, {"group." + kHostileText, kHostileText}})
      .table(table);
  page.figure(line_chart({{kHostileText, {1, 2}, {3, 4}}}, {.label = kHostileText, .title = kHostileText}),
              kHostileText)
      .code(kHostileText, kHostileText);
  page.section(kHostileText).section(kHostileText).provenance({{kHostileText, kHostileText}});
  const std::string html = page.html();
  EXPECT_EQ(XmlChecker::problem(html), "");
  EXPECT_EQ(occurrences(html, "<script"), 0);
  EXPECT_EQ(occurrences(html, "</style>"), 1);
}

TEST(Page, IsWholeAndWellFormedAtEveryStage) {
  Page page("title");
  const auto check = [&] {
    const std::string html = page.html();
    EXPECT_EQ(XmlChecker::problem(html), "");
    EXPECT_EQ(html, page.html()) << "html() changes nothing";
  };
  check();
  page.figure(small_figure(), "before any section");
  check();
  page.section("one").text("a\n\n\n\nb").configuration({}).highlights({}).table({});
  check();
  page.section("two").figure(wide_figure(), "");
  check();
}

TEST(Page, NeedsNoNetworkAndNoScript) {
  Page page("title");
  page.section("a").figure(small_figure(), "x").section("b").section("c").provenance({{"k", "v"}});
  const std::string html = page.html();
  EXPECT_EQ(occurrences(html, "<script"), 0);
  EXPECT_EQ(occurrences(html, "<link"), 0);
  EXPECT_EQ(occurrences(html, "src="), 0);
  EXPECT_EQ(occurrences(html, "url("), 0);
  EXPECT_EQ(occurrences(html, "@import"), 0);
  EXPECT_EQ(occurrences(html, "http://") + occurrences(html, "https://"), 1) << "only the namespace";
  EXPECT_EQ(occurrences(html, "href=\""), occurrences(html, "href=\"#s")) << "only links inside the page";
}

TEST(Page, SectionLinksLead) {
  Page page("title");
  for (const char* name : {"one", "two", "three"}) page.section(name);
  const std::string html = page.html();
  for (const char* id : {"s1", "s2", "s3"}) {
    EXPECT_EQ(occurrences(html, std::string("href=\"#") + id + "\""), 1);
    EXPECT_EQ(occurrences(html, std::string(" id=\"") + id + "\""), 1);
  }
}

TEST(Page, SmallFiguresGoInPairs) {
  const auto classes = [](int small, bool wide_between) {
    Page page("title");
    for (int i = 0; i < small; ++i) {
      page.figure(small_figure(), "");
      if (wide_between) page.figure(wide_figure(), "");
    }
    const std::string html = page.html();
    return std::pair(occurrences(html, "<figure class=\"solo\">"), occurrences(html, "<figure>"));
  };
  EXPECT_EQ(classes(1, false), std::pair(int64_t{1}, int64_t{0}));
  EXPECT_EQ(classes(2, false), std::pair(int64_t{0}, int64_t{2}));
  EXPECT_EQ(classes(3, false), std::pair(int64_t{1}, int64_t{2}));
  EXPECT_EQ(classes(2, true), std::pair(int64_t{2}, int64_t{0}));
}

TEST(Page, FiguresAreNamedForReaders) {
  Page page("title");
  page.figure(small_figure(), "Caption").figure(wide_figure(), "Other");
  const std::string html = page.html();
  EXPECT_EQ(occurrences(html, "role=\"img\""), 4);
  EXPECT_EQ(occurrences(html, "aria-label=\"small\""), 1);
  EXPECT_EQ(occurrences(html, "<figcaption>"), 2);
}

TEST(Page, ConfigurationIsGroupedByPrefixInOrder) {
  Page page("title");
  page.configuration(
      {{"seed", "0"}, {"clock.family", "stable"}, {"train.lr", "0.001"}, {"clock.alpha", "1.6"}, {"empty", ""}});
  const std::string html = page.html();
  EXPECT_EQ(occurrences(html, "<h4>"), 3);
  EXPECT_LT(html.find("<h4>general"), html.find("<h4>clock"));
  EXPECT_LT(html.find(">alpha<"), html.find("<h4>train"));
}

TEST(Table, MarksTheBestAsPrinted) {
  Table table{"", {{"name"}, {"score", Best::highest, 2}, {"distance", Best::lowest, 2}}, {}};
  table.add({"a", 0.911, 3.0});
  table.add({"b", 0.909, 1.0});
  table.add({"c", 0.8, std::numeric_limits<double>::infinity()});
  table.add({"d", std::numeric_limits<double>::quiet_NaN(), Cell()});
  table.add({"two fresh draws", 0.99, 0.1}).reference = true;
  const std::string html = table.html();
  EXPECT_EQ(occurrences(html, "<strong>0.91</strong>"), 2) << "equal as printed";
  EXPECT_EQ(occurrences(html, "<strong>1.00</strong>"), 1);
  EXPECT_EQ(occurrences(html, "<strong>"), 3) << "references and values that are not finite are never the best";
}

TEST(Table, ShowsSpreadAndThePapersValue) {
  Table table{"", {{"name"}, {"f1"}, {"n"}}, {}};
  table.add({"a", Cell(0.9512).spread(0.0021).paper(0.943), 24000});
  table.add({"b", 0.9, 1});
  const std::string html = table.html();
  EXPECT_EQ(occurrences(html, "0.951<span class=\"pm\">± 0.002</span></td><td class=\"paper\">0.943</td>"), 1);
  EXPECT_EQ(occurrences(html, "<td class=\"paper\">–</td>"), 1);
  EXPECT_EQ(occurrences(html, ">24,000<"), 1);
  EXPECT_EQ(occurrences(html, "colspan=\"2\""), 1);
}

TEST(Table, RefusesRowsOfAnotherLength) {
  Table table{"", {{"name"}, {"score"}}, {}};
  table.add({"a"});
  EXPECT_THROW(table.html(), InputError);
}

using Rgb = std::array<double, 3>;

Rgb linear_light(std::string_view hex) {
  Rgb out;
  for (size_t i = 0; i < 3; ++i) {
    const double c = std::stoi(std::string(hex.substr(1 + 2 * i, 2)), nullptr, 16) / 255.0;
    out[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  return out;
}

double contrast(std::string_view a, std::string_view b) {
  const auto luminance = [](const Rgb& c) { return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; };
  const double x = luminance(linear_light(a)), y = luminance(linear_light(b));
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

/// CIE L*a*b* of linear light after simulating a complete lack of one cone (Machado et al. 2009).
Rgb seen_as(const Rgb& c, const std::array<Rgb, 3>& sight) {
  Rgb s;
  for (size_t i = 0; i < 3; ++i)
    s[i] = std::clamp(sight[i][0] * c[0] + sight[i][1] * c[1] + sight[i][2] * c[2], 0.0, 1.0);
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f((0.4124 * s[0] + 0.3576 * s[1] + 0.1805 * s[2]) / 0.95047),
               y = f(0.2126 * s[0] + 0.7152 * s[1] + 0.0722 * s[2]),
               z = f((0.0193 * s[0] + 0.1192 * s[1] + 0.9505 * s[2]) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

TEST(Palette, HasEnoughContrastInLightAndDark) {
  for (const bool dark : {false, true}) {
    std::map<std::string_view, std::string_view> color;
    for (const PaletteEntry& entry : palette()) color[entry.name] = dark ? entry.dark : entry.light;
    // The Web Content Accessibility Guidelines ask 4.5 of text and 3 of graphics.
    for (const char* text : {"ink", "soft", "accent"})
      for (const char* ground : {"paper", "panel"})
        EXPECT_GE(contrast(color[text], color[ground]), 4.5) << text << " on " << ground << dark;
    for (const char* ground : {"best", "warn"}) EXPECT_GE(contrast(color["ink"], color[ground]), 4.5) << ground << dark;
    EXPECT_GE(contrast(color["soft"], color["best"]), 4.5) << dark;
    for (int k = 0; k < kColors; ++k)
      EXPECT_GE(contrast(color["k" + std::to_string(k)], color["paper"]), 3.0) << k << dark;
  }
}

TEST(Palette, SeriesDifferWithColourBlindness) {
  const std::array<std::array<Rgb, 3>, 4> sights{{
      {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
      {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
      {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},
      {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}},
  }};
  for (const bool dark : {false, true}) {
    std::vector<Rgb> series;
    for (const PaletteEntry& entry : palette())
      if (entry.name[0] == 'k') series.push_back(linear_light(dark ? entry.dark : entry.light));
    ASSERT_EQ(series.size(), static_cast<size_t>(kColors));
    for (const auto& sight : sights) {
      for (size_t i = 0; i < series.size(); ++i) {
        for (size_t j = 0; j < i; ++j) {
          const Rgb a = seen_as(series[i], sight), b = seen_as(series[j], sight);
          // About 2.3 is just noticeable side by side; thin lines apart need several times that.
          EXPECT_GE(std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]), 11)
              << "k" << j << " and k" << i << (dark ? " dark" : " light");
        }
      }
    }
  }
}

TEST(Palette, StyleSheetsUseOnlyColoursThatExist) {
  const std::string style = page_style();
  for (size_t at = style.find("var(--"); at != std::string::npos; at = style.find("var(--", at + 1)) {
    const std::string name = style.substr(at + 6, style.find(')', at) - at - 6);
    if (name == "least" || name == "most") continue;  // set by each figure
    EXPECT_TRUE(std::any_of(palette().begin(), palette().end(), [&](const PaletteEntry& entry) {
      return entry.name == name;
    })) << name;
  }
  EXPECT_EQ(occurrences(standalone_style(), "var("), 0);
  EXPECT_EQ(occurrences(style, "$"), 0);
}

}  // namespace
}  // namespace htfm::report
