"""How a study's form looks, on top of the sheet that reports use: for desks and for phones, in light and dark."""

FORM_SHEET = """
html { scroll-padding-bottom: 6rem; } /* clear of .bar */
main { padding-top: 1.5rem; padding-bottom: 6.5rem; }
.js .page { display: none; }
.js .page.shown { display: block; }
h2 { margin-top: 0; }
h1:focus, h2:focus { outline: none; }
.who { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: 1.25rem 2.5rem; }
.who h3 { margin-bottom: .35rem; }
.facts { margin: 0; }
.facts div { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem;
  border-bottom: 1px solid var(--faint); padding: .12rem 0; }
.facts dt { flex: 1 1 5rem; font-weight: 400; margin: 0; color: var(--soft); }
.facts dd { text-align: right; font-variant-numeric: tabular-nums; }
.facts :is(dt, dd) { max-width: 100%; overflow-wrap: break-word; } /* a name may be one long word */
small { color: var(--soft); }
.wishes { list-style: none; margin: 0; padding: 0; }
.wishes li { display: grid; grid-template-columns: 1fr auto; gap: 0 1rem; padding: .12rem 0 .3rem; }
.wishes span { min-width: 5rem; overflow-wrap: anywhere; }
.wishes b { font-weight: 600; font-variant-numeric: tabular-nums; }
.wishes > li > i { grid-column: 1 / -1; height: .45rem; border-radius: .25rem; background: var(--faint);
  overflow: hidden; }
.wishes i i { display: block; height: 100%; background: var(--one); }
.sets { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1.25rem; margin: 1.5rem 0;
  align-items: start; }
.set { overflow-wrap: break-word; border: 2px solid var(--faint); border-radius: .6rem; padding: .8rem 1.1rem 1rem; }
.set h3 { font-size: 1.15rem; }
.set ol { list-style: none; margin: 0; padding: 0; }
.set ol > li { border-top: 1px solid var(--faint); margin-top: .55rem; padding-top: .5rem; }
.set ul { margin: 0; padding-left: 1.15rem; list-style: disc; }
.number { font-size: .85rem; color: var(--soft); }
.questions { display: grid; grid-template-columns: 1.5fr 1fr 1fr; gap: 1rem; }
fieldset { border: 1px solid var(--faint); border-radius: .6rem; background: var(--panel); margin: 0;
  padding: .7rem 1rem .9rem; min-width: 0; }
legend { float: left; width: 100%; padding: 0; margin-bottom: .5rem; font-weight: 600; }
.choices { clear: both; display: flex; flex-wrap: wrap; gap: .5rem; }
.choices label { display: flex; align-items: center; gap: .45rem; flex: 1 1 auto; max-width: 100%; min-height: 44px;
  overflow-wrap: anywhere;
  padding: .3rem .9rem .3rem .7rem; border: 2px solid var(--faint); border-radius: .5rem; background: var(--page);
  cursor: pointer; }
.choices label:has(:checked) { border-color: var(--one); }
.choices label:has(:focus-visible) { outline: 3px solid var(--one); outline-offset: 2px; }
.choices input { flex: none; width: 1.15rem; height: 1.15rem; margin: 0; accent-color: var(--one); }
.open { color: var(--two); font-size: .9rem; font-weight: 600; margin: .5rem 0 0; }
.bar { display: none; position: fixed; inset: auto 0 0 0; flex-wrap: wrap; justify-content: space-between;
  gap: .4rem 1rem; align-items: center; background: var(--panel);
  border-top: 1px solid var(--faint); padding: .6rem max(1.25rem, calc((100% - 65.5rem) / 2));
  padding-bottom: calc(.6rem + env(safe-area-inset-bottom)); }
.js .bar { display: flex; }
.done { flex: 1 1 4.5rem; text-align: center; font-size: .9rem; color: var(--soft); }
progress { display: block; width: 100%; height: .5rem; margin-top: .2rem; accent-color: var(--one); }
button { font: inherit; min-height: 44px; padding: .3rem 1.2rem; border: 2px solid var(--faint);
  border-radius: .5rem; background: var(--page); color: var(--ink); cursor: pointer; }
button.main { background: #0067a0; border-color: #0067a0; color: #ffffff; font-weight: 600; }
button:disabled { visibility: hidden; }
button:focus-visible, summary:focus-visible, input[type=file]:focus-visible, textarea:focus-visible {
  outline: 3px solid var(--one); outline-offset: 2px; }
#missing ul { display: flex; flex-wrap: wrap; gap: .5rem; list-style: none; padding: 0; }
#missing button { min-width: 3rem; padding: .3rem .6rem; }
.bad { color: var(--two); font-weight: 600; }
textarea { width: 100%; font: .85rem/1.4 monospace; background: var(--panel); color: var(--ink);
  border: 1px solid var(--faint); border-radius: .5rem; padding: .5rem; }
@media (max-height: 24rem), (max-width: 15rem) { /* enlarged: the bar would cover half of the screen */
  .bar { position: static; }
  main { padding-bottom: 2rem; }
}
@media (max-width: 48rem) {
  .questions { grid-template-columns: 1fr; }
}
@media (max-width: 40rem) {
  .sets { grid-template-columns: minmax(0, 1fr); gap: .9rem; }
  .set { padding: .7rem .9rem .8rem; }
  .bar { padding-left: .9rem; padding-right: .9rem; gap: .7rem; }
  main { padding-left: .9rem; padding-right: .9rem; }
}
"""
