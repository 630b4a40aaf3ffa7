#include "htfm/io/unit.h"

#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>

#include "htfm/io/text.h"

namespace htfm {

namespace {

// The names of a unit beside its sign, in small letters.
std::string sign_of(const std::string& name) {
  static const std::map<std::string, std::string> signs = {
      {"kelvin", "K"},
      {"kelvins", "K"},
      {"degk", "K"},
      {"deg_k", "K"},
      {"degree_kelvin", "K"},
      {"celsius", "degC"},
      {"degc", "degC"},
      {"deg_c", "degC"},
      {"degree_c", "degC"},
      {"degrees_c", "degC"},
      {"metre", "m"},
      {"metres", "m"},
      {"meter", "m"},
      {"meters", "m"},
      {"degree_celsius", "degC"},
      {"second", "s"},
      {"seconds", "s"},
      {"sec", "s"},
      {"minute", "min"},
      {"degrees_celsius", "degC"},
      {"minutes", "min"},
      {"hour", "h"},
      {"hours", "h"},
      {"hr", "h"},
      {"hrs", "h"},
      {"day", "d"},
      {"days", "d"},
      {"pascal", "Pa"},
      {"pascals", "Pa"},
      {"hectopascal", "hPa"},
      {"millibar", "hPa"},
      {"mbar", "hPa"},
      {"mb", "hPa"},
      {"millibars", "hPa"},
      {"percent", "%"},
      {"kilogram", "kg"},
      {"kilograms", "kg"},
      {"millimeter", "mm"},
      {"millimeters", "mm"},
      {"millimetre", "mm"},
      {"millimetres", "mm"},
      {"dimensionless", "1"},
      {"joule", "J"},
      {"joules", "J"},
      {"watt", "W"},
      {"watts", "W"},
  };
  const auto found = signs.find(lower_case(name));
  return found == signs.end() ? name : found->second;
}

// Each unit and its power; nothing where a text is no such product.
std::optional<std::map<std::string, int>> powers_of(const std::string& text) {
  std::map<std::string, int> out;
  int sense = 1;
  for (const char* c = text.c_str(); *c != '\0';) {
    if (*c == ' ' || *c == '.' || *c == '*') {
      ++c;
      continue;
    }
    if (*c == '/') {
      sense = -1, ++c;
      continue;
    }
    std::string name;
    while (std::isalpha(static_cast<unsigned char>(*c)) != 0 || *c == '_' || *c == '%') name += *c++;
    if (name.empty() && *c == '1') name = *c++;
    if (name.empty()) return std::nullopt;
    while (*c == '^' || *c == '*') {
      if (*c == '*' && c[1] != '*' && std::isdigit(static_cast<unsigned char>(c[1])) == 0 && c[1] != '-') break;
      ++c;
    }
    int power = 1;
    if (std::isdigit(static_cast<unsigned char>(*c)) != 0 || *c == '-' || *c == '+') {
      char* end = nullptr;
      const long read = std::strtol(c, &end, 10);
      if (end == c || read < -9 || read > 9) return std::nullopt;
      power = static_cast<int>(read), c = end;
    }
    if (const std::string sign = sign_of(name); sign != "1") out[sign] += sense * power;
    sense = 1;
  }
  std::erase_if(out, [](const auto& unit) { return unit.second == 0; });
  return out;
}

}  // namespace

bool is_same_unit(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const std::string share = "(0 - 1)";  // GRIB's and NetCDF's ways to say that a number has no unit
  const auto of_a = powers_of(a == share ? "1" : a), of_b = powers_of(b == share ? "1" : b);
  return of_a && of_b && *of_a == *of_b;
}

bool is_no_unit(const std::string& unit) { return unit.empty() || unit == "unknown" || unit == "~"; }

}  // namespace htfm
