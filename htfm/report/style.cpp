#include "htfm/report/style.h"

#include <array>

namespace htfm::report {
namespace {

constexpr PaletteEntry kPalette[] = {
    {"paper", "#ffffff", "#15181c"}, {"panel", "#f6f7f9", "#1d2126"},  {"ink", "#1c2026", "#e7eaee"},
    {"soft", "#59616d", "#a3acb8"},  {"rule", "#dfe3e8", "#333a43"},   {"grid", "#e8ebef", "#2a3038"},
    {"axis", "#99a1ac", "#6b7480"},  {"accent", "#0b5c9e", "#78b9f2"}, {"best", "#e3f0e9", "#1f3a30"},
    {"warn", "#fdf1dc", "#3b2e14"},  {"k0", "#454d58", "#c3cad3"},     {"k1", "#005da1", "#3ba6fb"},
    {"k2", "#c24b00", "#f17b2c"},    {"k3", "#108c60", "#4bca94"},     {"k4", "#b35f93", "#e17fc9"},
    {"k5", "#af8548", "#e6b974"},    {"k6", "#029ecb", "#5bdbfd"},     {"k7", "#442fab", "#7e71c1"},
};

constexpr std::string_view kSans =
    "ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'Liberation Sans',sans-serif";

constexpr std::string_view kFigureShapes = R"(
.fig text{font-family:$sans;font-size:11px;font-variant-numeric:tabular-nums}
.fig .lb{font-size:12px}
.fig .ti{font-size:13.5px;font-weight:600}
.fig .halo{paint-order:stroke;stroke-width:3.5px;stroke-linejoin:round}
.fig line{stroke-width:1}
.fig .gm{stroke-opacity:.55}
.fig .ln{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}
.fig .thin{stroke-width:.8;stroke-opacity:.28}
.fig .path{stroke-width:1.15;stroke-opacity:.75}
.fig .strong{stroke-width:2.6}
.fig .dash{stroke-dasharray:6 4}
.fig .rf{fill:none;stroke-width:1.2;stroke-dasharray:2 4;stroke-linecap:round}
.fig .pt{fill:none;stroke-linecap:round}
.fig .ar{fill-opacity:.14;stroke:none}
.fig .mk{stroke-width:1.2}
.fig .ho{stroke-width:1.8}
)";

constexpr std::string_view kFigureColors = R"(
.fig text{fill:var(--soft)}
.fig .lb{fill:var(--soft)}
.fig .ti,.fig .ink{fill:var(--ink)}
.fig .halo{stroke:var(--paper)}
.fig .gr,.fig .gm{stroke:var(--grid)}
.fig .ax{stroke:var(--axis)}
.fig .ln,.fig .pt{stroke:currentColor}
.fig .ar,.fig .mk{fill:currentColor}
.fig .mk{stroke:var(--paper)}
.fig .ho{fill:var(--paper);stroke:currentColor}
.fig .rf{stroke:var(--soft)}
.fig .bg{fill:var(--paper)}
.fig .pn{fill:var(--panel)}
.fig .k0{color:var(--k0)}.fig .k1{color:var(--k1)}.fig .k2{color:var(--k2)}.fig .k3{color:var(--k3)}
.fig .k4{color:var(--k4)}.fig .k5{color:var(--k5)}.fig .k6{color:var(--k6)}.fig .k7{color:var(--k7)}
)";

constexpr std::string_view kPage = R"(
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 $sans;font-variant-numeric:tabular-nums}
.page{max-width:1136px;margin:0 auto;padding:44px 28px 56px}
header{border-bottom:1px solid var(--rule);padding-bottom:20px}
h1{font-size:2rem;line-height:1.18;letter-spacing:-.018em;font-weight:700;margin:0;text-wrap:balance;overflow-wrap:anywhere}
.sub{margin:8px 0 0;color:var(--soft);font-size:1.06rem;max-width:72ch;overflow-wrap:anywhere}
nav{margin-top:16px}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:4px 20px;margin:0;padding:0;font-size:.92rem}
a{color:var(--accent);text-decoration-thickness:1px;text-underline-offset:3px}
nav a{text-decoration:none}
nav a:hover{text-decoration:underline}
section{margin-top:44px}
h2{font-size:1.32rem;line-height:1.25;letter-spacing:-.01em;margin:0 0 12px;overflow-wrap:anywhere}
h3{font-size:1.03rem;margin:28px 0 8px;overflow-wrap:anywhere}
p{margin:0 0 14px;max-width:72ch;overflow-wrap:anywhere}
code,pre,footer dd{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono',monospace}
code,pre{font-size:.875em}
pre code{font-size:1em}
p code,td code{background:var(--panel);border-radius:4px;padding:.1em .35em}
pre{background:var(--panel);border:1px solid var(--rule);border-radius:8px;padding:14px 16px;margin:0;overflow-x:auto;line-height:1.5}
.code{margin:16px 0 20px}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,172px),1fr));gap:14px;margin:26px 0 4px;padding:0}
.card{background:var(--panel);border-radius:10px;padding:14px 16px;display:flex;flex-direction:column;min-width:0}
.card dt{font-size:.84rem;color:var(--soft)}
.card dd{margin:0}
.card .big{font-size:1.62rem;font-weight:650;letter-spacing:-.02em;line-height:1.3;overflow-wrap:anywhere}
.card .more{font-size:.84rem;color:var(--soft)}
.note{border-left:3px solid var(--accent);background:var(--panel);border-radius:0 8px 8px 0;padding:10px 16px;margin:16px 0;max-width:76ch}
.note.warning{border-color:var(--k5);background:var(--warn)}
.note p{margin:0}
.figs{display:grid;grid-template-columns:minmax(0,1fr);gap:34px 40px;margin:20px 0 26px}
figure{margin:0;min-width:0}
figcaption{font-size:.9rem;line-height:1.5;color:var(--soft);margin-top:10px;max-width:82ch;overflow-wrap:anywhere}
figcaption b{color:var(--ink);font-weight:600}
.tiles{display:grid;gap:18px 14px;grid-template-columns:repeat(auto-fit,minmax(min(100%,var(--least)),1fr))}
.tiles>svg{display:block;width:100%;height:auto;max-width:var(--most)}
.scroll{overflow-x:auto}
.scroll:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.scroll>svg{display:block;width:100%;height:auto;min-width:var(--least);max-width:var(--most)}
.tablewrap{margin:18px 0 24px}
table{border-collapse:collapse;font-size:.94rem;line-height:1.4}
.cap{color:var(--soft);font-size:.9rem;margin:0 0 8px;max-width:82ch}
.scores{border-collapse:separate;border-spacing:0}
.scores th,.scores td{padding:6px 14px;text-align:right;white-space:nowrap;border-top:1px solid var(--rule)}
.scores thead th{font-weight:600;vertical-align:bottom;border-top:0}
.scores thead tr.upper th{padding-bottom:2px}
.scores thead tr.upper th[rowspan]{padding-bottom:6px}
.scores thead .part{font-weight:400;color:var(--soft);font-size:.86em;padding-top:0}
.scores .text,.scores tbody th,.scores tr:first-child>th:first-child{text-align:left}
.scores tbody th{font-weight:500;position:sticky;left:0;background:var(--paper)}
.scores tbody tr:last-child>*{border-bottom:1px solid var(--axis)}
.scores tr.rule>*,.scores tbody tr:first-child>*{border-top-color:var(--axis)}
.scores tr.ref>*{color:var(--soft);font-style:italic;font-weight:400}
.scores .pm,.scores .paper,.scores .dir{color:var(--soft)}
.scores .pm{font-size:.86em;margin-left:.35em}
.scores .paper{padding-left:8px}
.scores .dir{font-weight:400;margin-left:.3em}
.scores td.best{background:var(--best)}
.scores td.best strong{font-weight:700}
.groups{columns:290px auto;column-gap:36px;margin:16px 0 8px}
.group{break-inside:avoid;padding-bottom:18px}
.group h4{font-size:.9rem;margin:0 0 4px;padding-bottom:4px;border-bottom:1px solid var(--axis)}
.kv{width:100%;font-size:.88rem;table-layout:auto}
.kv th,.kv td{padding:4px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule);font-weight:400}
.kv th{color:var(--soft);padding-right:16px;overflow-wrap:anywhere;min-width:6em}
.kv td{text-align:right;overflow-wrap:anywhere}
footer{margin-top:56px;border-top:1px solid var(--rule);padding-top:18px;color:var(--soft);font-size:.86rem}
footer h2{font-size:.95rem;color:var(--ink);margin:0 0 8px}
footer dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:3px 20px;margin:0}
footer dt{color:var(--soft)}
footer dd{margin:0;color:var(--ink);overflow-wrap:anywhere;font-size:.94em}
@media (min-width:900px){
.figs{grid-template-columns:repeat(2,minmax(0,1fr))}
.figs .wide{grid-column:1/-1}
.figs .solo{grid-column:1/-1;display:grid;grid-template-columns:minmax(0,600px) minmax(0,1fr);gap:36px;align-items:end}
.figs .solo figcaption{margin:0 0 8px}
}
@media (max-width:560px){
.page{padding:28px 16px 40px}
h1{font-size:1.6rem}
section{margin-top:36px}
.cards{grid-template-columns:repeat(2,minmax(0,1fr));gap:10px}
.card{padding:11px 12px}
.card .big{font-size:1.35rem}
.scores th,.scores td{padding:6px 9px}
footer dl{grid-template-columns:minmax(0,1fr)}
footer dd{margin-bottom:6px}
}
@media (max-width:480px){
.fig text{font-size:12.5px}
.fig .lb{font-size:12.5px}
.fig .ti{font-size:15px}
}
@media print{
.cards{grid-template-columns:repeat(auto-fit,minmax(120px,1fr))}
body{font-size:10.5pt}
.page{max-width:none;padding:0}
nav{display:none}
figure,.card,.group,tr,pre{break-inside:avoid}
h2,h3{break-after:avoid}
.scroll{overflow:visible}
.card,.scores td.best,.note{print-color-adjust:exact;-webkit-print-color-adjust:exact}
}
)";

std::string replaced(std::string_view text, std::string_view what, std::string_view with) {
  std::string out;
  while (true) {
    const size_t at = text.find(what);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += with;
    text.remove_prefix(at + what.size());
  }
}

std::string variables(bool dark) {
  std::string out = ":root{color-scheme:light dark";
  for (const PaletteEntry& entry : kPalette)
    out.append(";--").append(entry.name).append(":").append(dark ? entry.dark : entry.light);
  return out + "}";
}

std::string resolved(bool dark) {
  std::string out(kFigureColors);
  for (const PaletteEntry& entry : kPalette)
    out = replaced(out, "var(--" + std::string(entry.name) + ")", dark ? entry.dark : entry.light);
  return out;
}

}  // namespace

Color color_or(Color chosen, size_t index) {
  return chosen != Color::automatic ? chosen : static_cast<Color>(1 + index % (kColors - 1));
}

std::span<const PaletteEntry> palette() { return kPalette; }

// The dark palette is for screens only: what is printed is light.
std::string page_style() {
  const std::string text = std::string(kFigureShapes).append(kFigureColors).append(kPage);
  return variables(false) + "\n@media screen and (prefers-color-scheme:dark){" + variables(true) + "}" +
         replaced(text, "$sans", kSans);
}

std::string standalone_style() {
  return replaced(kFigureShapes, "$sans", kSans) + resolved(false) + "@media screen and (prefers-color-scheme:dark){" +
         resolved(true) + "}\n";
}

}  // namespace htfm::report
