#include "htfm/report/text.h"

#include <gtest/gtest.h>

#include <limits>

namespace htfm::report {
namespace {

TEST(Escape, LeavesNoMarkup) {
  EXPECT_EQ(escape("<script>alert(\"x\" & 'y')</script>"),
            "&lt;script&gt;alert(&quot;x&quot; &amp; &#39;y&#39;)&lt;/script&gt;");
  EXPECT_EQ(escape("α ≥ 1.5, 日本, 🎲"), "α ≥ 1.5, 日本, 🎲");
  EXPECT_EQ(escape("a\tb\nc\r\n"), "a\tb\nc\n");
}

TEST(Escape, ReplacesWhatXmlForbids) {
  const std::string bad = "\uFFFD";
  EXPECT_EQ(escape(std::string_view("a\0b\x1b\x7f", 5)), "a" + bad + "b" + bad + bad);
  EXPECT_EQ(escape("\xff\xc3"), bad + bad);                      // never valid; cut short
  EXPECT_EQ(escape("\xc0\xaf"), bad + bad);                      // overlong "/"
  EXPECT_EQ(escape("\xed\xa0\x80"), bad + bad + bad);            // a surrogate
  EXPECT_EQ(escape("\xef\xbf\xbf"), bad + bad + bad);            // U+FFFF
  EXPECT_EQ(escape("\xf4\x90\x80\x80"), bad + bad + bad + bad);  // beyond Unicode
  EXPECT_EQ(escape("\xe2\x28\xa1"), bad + "(" + bad);            // broken in the middle: the rest is still read
}

TEST(Number, IsShortAndRounded) {
  EXPECT_EQ(number(0.0), "0");
  EXPECT_EQ(number(-0.0), "0");
  EXPECT_EQ(number(0.957), "0.957");
  EXPECT_EQ(number(-2.5), "−2.5");
  EXPECT_EQ(number(9.99996), "10");
  EXPECT_EQ(number(24000), "24,000");
  EXPECT_EQ(number(1234567), "1,234,567");
  EXPECT_EQ(number(1.2e-5), "1.2×10⁻⁵");
  EXPECT_EQ(number(1e12), "10¹²");
  EXPECT_EQ(number(-1e300), "−10³⁰⁰");
  EXPECT_EQ(number(std::numeric_limits<double>::infinity()), "∞");
  EXPECT_EQ(number(-std::numeric_limits<double>::infinity()), "−∞");
  EXPECT_EQ(number(std::numeric_limits<double>::quiet_NaN()), "–") << "there is no such number";
  EXPECT_EQ(number(3.14159, 2), "3.1");
}

TEST(Number, FixedKeepsDecimalsAndHasNoNegativeZero) {
  EXPECT_EQ(fixed(0.9, 3), "0.900");
  EXPECT_EQ(fixed(-0.0001, 3), "0.000");
  EXPECT_EQ(fixed(-1234.5, 1), "−1,234.5");
  EXPECT_EQ(count(72000), "72,000");
  EXPECT_EQ(count(1, "point"), "1 point");
  EXPECT_EQ(count(0, "point"), "0 points");
}

TEST(Shortened, FitsAndKeepsWholeCharacters) {
  EXPECT_EQ(shortened("data", 12, 100), "data");
  const std::string name(10000, 'w'), greek = "αααααααααααααααααααα";
  for (const double width : {30.0, 80.0, 200.0}) {
    EXPECT_LE(text_width(shortened(name, 12, width), 12), width);
    const std::string cut = shortened(greek, 12, width);
    EXPECT_EQ(escape(cut), cut) << "cut inside a character";
  }
  EXPECT_TRUE(shortened(name, 12, 80).ends_with("…"));
}

}  // namespace
}  // namespace htfm::report
