"""The look of the page that stands alone."""

CSS = """
:root { color-scheme: light dark; --ink: #1a1a1a; --soft: #595959; --line: #d5d5d5; --page: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #eee; --soft: #b5b5b5; --line: #444; --page: #161616; }
  figure svg { background: #fff; } }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 70rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.8rem; }
h2 { font-size: 1.3rem; margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; }
figure { margin: 1.5rem 0; } figcaption { font-weight: 600; margin-bottom: .4rem; }
figure svg { max-width: 100%; height: auto; } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .3rem .7rem; border-bottom: 1px solid var(--line); }
td { white-space: nowrap; }
td small, .note { color: var(--soft); font-size: .85em; }
@media print { body { font-size: 11px; } h2 { break-after: avoid; } figure { break-inside: avoid; } }
"""
