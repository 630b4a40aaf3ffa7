// Text in PNG images, the legends of maps; SVG figures have <text>. Letters of 5 x 7, a row of bits each, the left one
// first. Upper case is drawn as lower case.
#include <cctype>

#include "htfm/report/field_map.h"

namespace htfm::report {
namespace {

struct Letter {
  char character;
  std::array<uint8_t, 7> rows;
};

constexpr Letter kLetters[] = {
    {'0', {14, 17, 19, 21, 25, 17, 14}}, {'1', {4, 12, 4, 4, 4, 4, 14}},    {'2', {14, 17, 1, 6, 8, 16, 31}},
    {'3', {31, 2, 4, 2, 1, 17, 14}},     {'4', {2, 6, 10, 18, 31, 2, 2}},   {'5', {31, 16, 30, 1, 1, 17, 14}},
    {'6', {6, 8, 16, 30, 17, 17, 14}},   {'7', {31, 1, 2, 4, 8, 8, 8}},     {'8', {14, 17, 17, 14, 17, 17, 14}},
    {'9', {14, 17, 17, 15, 1, 2, 12}},   {'.', {0, 0, 0, 0, 0, 12, 12}},    {'-', {0, 0, 0, 31, 0, 0, 0}},
    {'+', {0, 4, 4, 31, 4, 4, 0}},       {'/', {1, 2, 2, 4, 8, 8, 16}},     {'(', {2, 4, 8, 8, 8, 4, 2}},
    {')', {8, 4, 2, 2, 2, 4, 8}},        {'%', {25, 25, 2, 4, 8, 19, 19}},  {'*', {0, 4, 21, 14, 21, 4, 0}},
    {'^', {4, 10, 17, 0, 0, 0, 0}},      {',', {0, 0, 0, 0, 12, 4, 8}},     {'a', {0, 0, 14, 1, 15, 17, 15}},
    {'b', {16, 16, 30, 17, 17, 17, 30}}, {'c', {0, 0, 15, 16, 16, 16, 15}}, {'d', {1, 1, 15, 17, 17, 17, 15}},
    {'e', {0, 0, 14, 17, 31, 16, 14}},   {'f', {6, 9, 8, 28, 8, 8, 8}},     {'g', {0, 15, 17, 17, 15, 1, 14}},
    {'h', {16, 16, 30, 17, 17, 17, 17}}, {'i', {4, 0, 12, 4, 4, 4, 14}},    {'j', {2, 0, 6, 2, 2, 18, 12}},
    {'k', {16, 16, 18, 20, 24, 20, 18}}, {'l', {12, 4, 4, 4, 4, 4, 14}},    {'m', {0, 0, 26, 21, 21, 21, 21}},
    {'n', {0, 0, 30, 17, 17, 17, 17}},   {'o', {0, 0, 14, 17, 17, 17, 14}}, {'p', {0, 30, 17, 17, 30, 16, 16}},
    {'q', {0, 15, 17, 17, 15, 1, 1}},    {'r', {0, 0, 22, 25, 16, 16, 16}}, {'s', {0, 0, 15, 16, 14, 1, 30}},
    {'t', {8, 8, 30, 8, 8, 9, 6}},       {'u', {0, 0, 17, 17, 17, 19, 13}}, {'v', {0, 0, 17, 17, 17, 10, 4}},
    {'w', {0, 0, 17, 17, 21, 21, 10}},   {'x', {0, 0, 17, 10, 4, 10, 17}},  {'y', {0, 17, 17, 17, 15, 1, 14}},
    {'z', {0, 0, 31, 2, 4, 8, 31}},
};
constexpr int64_t kWidth = 6;  // with the space behind a letter

const Letter* letter_of(char c) {
  for (const Letter& l : kLetters)
    if (l.character == std::tolower(static_cast<unsigned char>(c))) return &l;
  return nullptr;
}

}  // namespace

int64_t letters_width(const std::string& text, int64_t scale) {
  return static_cast<int64_t>(text.size()) * kWidth * scale;
}

void draw_text(at::Tensor& image, int64_t x, int64_t y, const std::string& text, int64_t scale) {
  const int64_t h = image.size(1), w = image.size(2);
  auto* p = image.mutable_data_ptr<uint8_t>();
  for (const char c : text) {
    if (const Letter* letter = letter_of(c))
      for (int64_t j = 0; j < 7 * scale; ++j)
        for (int64_t i = 0; i < 5 * scale; ++i) {
          if (!(letter->rows[static_cast<size_t>(j / scale)] >> (4 - i / scale) & 1)) continue;
          if (y + j < 0 || y + j >= h || x + i < 0 || x + i >= w) continue;
          for (int64_t channel = 0; channel < 3; ++channel) p[(channel * h + y + j) * w + x + i] = 0;
        }
    x += kWidth * scale;
  }
}

}  // namespace htfm::report
