"""What the audit's page adds to the looks of a report."""

from leastways.report.css import SHEET

AUDIT_SHEET = (
    SHEET
    + """
:root { --line-2: #00785a; --line-3: #a3487c; --line-4: #8a5f10; --line-5: #57606a; --bad: #a84300; }
@media (prefers-color-scheme: dark) {
  :root { --line-2: #5fd3ac; --line-3: #e59bc4; --line-4: #d9b45b; --line-5: #a3acb6; --bad: #f0a35e; }
}
.findings { border-left: .3rem solid var(--one); background: var(--panel); padding: .6rem 1rem; margin: 1rem 0; }
.findings.mind { border-color: var(--two); }
.findings ul { margin: 0; padding-left: 1.1rem; max-width: 58rem; }
.findings li { margin: .25rem 0; }
table.groups { width: 100%; }
table.groups th[scope=row] { font-weight: 600; min-width: 7rem; overflow-wrap: anywhere; }
table.groups td { min-width: 6rem; }
table.groups small { display: block; color: var(--soft); font-weight: 400; font-size: .8rem; white-space: nowrap; }
table.groups .verdict { display: block; font-size: .82rem; font-weight: 600; white-space: nowrap; }
table.people td:last-child { min-width: 14rem; }
.better { color: var(--good); }
.worse { color: var(--bad); }
.unsure { color: var(--soft); }
.same { color: var(--ink); font-weight: 400 !important; }
section h3 { margin: 1.4rem 0 .3rem; }
figure h3, .findings h3 { margin-top: 0; }
section > .pictures { margin-top: 1.6rem; }
@media (max-width: 40rem) {
  table.groups th[scope=row] { position: sticky; left: 0; background: var(--page); max-width: 8rem; }
}
@page { margin: 14mm; }
@media print {
  :root { --line-2: #00785a; --line-3: #a3487c; --line-4: #8a5f10; --line-5: #555; --bad: #a84300; --good: #00614a; }
  table.groups { font-size: .82rem; }
  table.groups td { min-width: 0; }
  .findings { break-inside: avoid; }
}
"""
)
