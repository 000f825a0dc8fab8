"""How the HTML report looks: one sheet for screens in light and dark, for phones, and for paper."""

SHEET = """
:root {
  color-scheme: light dark;
  --page: #ffffff; --ink: #1b1f24; --soft: #57606a; --faint: #d0d7de; --panel: #f6f8fa;
  --one: #0072b2; --two: #d55e00; --good: #00614a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171b; --ink: #e6e9ec; --soft: #a3acb6; --faint: #3a424b; --panel: #1d2228;
    --one: #56b4e9; --two: #f0a35e; --good: #5fd3ac;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main, header, footer { max-width: 68rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2.5rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.3rem; margin: 2.75rem 0 .75rem; padding-bottom: .3rem; border-bottom: 2px solid var(--faint); }
h3 { font-size: 1.05rem; margin: 0; }
p { margin: .5rem 0; max-width: 46rem; }
h1, h2, h3, p, li, dd, figcaption { overflow-wrap: break-word; } /* a name may be one long word */
.lead, .note, figcaption, footer { color: var(--soft); }
.note, figcaption { font-size: .9rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .9rem; margin: 1.2rem 0;
  padding: 0; list-style: none; }
.cards li { background: var(--panel); border: 1px solid var(--faint); border-radius: .5rem; padding: .8rem 1rem; }
.cards strong { display: block; font-size: 1.7rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.cards span { color: var(--soft); font-size: .9rem; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr)); gap: 2rem 1.75rem; }
figure { margin: 0; }
figure h3 { margin-bottom: .4rem; }
figure svg { width: 100%; height: auto; display: block; }
figure svg text { font-family: inherit !important; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); font-size: .9rem; padding: .9rem 0 .3rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .7rem .35rem 0; }
thead th { font-size: .82rem; font-weight: 600; color: var(--soft); border-bottom: 1px solid var(--faint); }
tbody { border-bottom: 1px solid var(--faint); }
tbody th { font-weight: 400; }
.num { text-align: right; }
.figures td { text-align: right; font-weight: 600; }
.figures th { padding-right: 2rem; }
.wide { overflow-x: auto; }
.person { border: 1px solid var(--faint); border-radius: .5rem; padding: 1rem 1.2rem; margin: 1rem 0; }
.person table { width: 100%; margin-top: .6rem; }
.person :is(.what, .now, .then) { min-width: 5rem; overflow-wrap: anywhere; } /* a name may be one long word */
.person .option { font-weight: 700; color: var(--one); }
.person .now { color: var(--soft); text-align: right; }
.person .then { font-weight: 600; }
.person .then::before { content: "\\2192\\a0"; color: var(--soft); font-weight: 400; }
.person .chance { color: var(--good); font-weight: 600; }
.head { display: flex; flex-wrap: wrap; gap: .2rem 1rem; justify-content: space-between; align-items: baseline; }
summary { cursor: pointer; color: var(--soft); }
code { font-size: .88em; overflow-wrap: anywhere; }
dt { font-weight: 600; margin-top: .7rem; }
dd { margin: 0; max-width: 46rem; }
footer { margin-top: 3rem; padding-bottom: 2.5rem; font-size: .85rem; }
@media (max-width: 40rem) {
  html { font-size: 93.75%; } /* of what the reader has chosen */
  header { padding-top: 1.5rem; }
  h1 { font-size: 1.5rem; }
  .cards { grid-template-columns: repeat(auto-fit, minmax(min(100%, 8.5rem), 1fr)); }
  .cards strong { font-size: 1.4rem; }
  .person { padding: .8rem .9rem; }
  .person thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .person table { display: block; }
  .person tbody { display: flex; flex-wrap: wrap; column-gap: .4rem; padding: .6rem 0; }
  .person tr { display: contents; }
  .person th, .person td { display: block; padding: 0; text-align: left; }
  .person .option, .person .what, .person .chance { flex: 0 0 100%; }
  .person .option::before { content: "Option "; }
  .person td.num { order: 1; }
  .person td.num::before { content: attr(data-label) ": "; color: var(--soft); font-weight: 400; }
}
@media print {
  :root { --page: #fff; --ink: #000; --soft: #333; --faint: #ccc; --panel: #fff; --one: #0072b2; --two: #d55e00; }
  html { font-size: 12px; }
  .person, figure, .cards li, tr { break-inside: avoid; }
  h2, h3, h2 + .note { break-after: avoid; }
  .pictures { grid-template-columns: 1fr 1fr; }
  .wide { overflow: visible; }
  details::details-content { content-visibility: visible; block-size: auto; }
  summary { list-style: none; }
}
"""
