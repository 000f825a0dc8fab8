// A study's form: pages, progress, answers kept in the browser where it allows that, answers saved as a file.
// Plain JavaScript without a library. The answers live in one object; the radio buttons and the browser's store follow.
"use strict";
(function () {
  const about = JSON.parse(document.getElementById("about").textContent);
  const QUESTIONS = ["prefer", "reasonable_A", "reasonable_B"];
  const ALLOWED = { prefer: ["A", "B", "none"], reasonable_A: ["yes", "no"], reasonable_B: ["yes", "no"] };
  const pages = Array.from(document.querySelectorAll(".page"));
  const sheets = pages.filter(page => page.dataset.item);
  const byId = name => document.getElementById(name);
  const answers = {};
  for (const sheet of sheets) answers[sheet.dataset.item] = { prefer: null, reasonable_A: null, reasonable_B: null };
  let current = 0;
  let warned = false;   // whether Next has pointed out open questions on this page
  let unsaved = false;

  // Some browsers keep nothing for files from disk, or throw on the attempt: the form then works without.
  const store = (function () {
    const key = "leastways-study:" + about.study + ":" + about.annotator + ":" + about.form.slice(0, 12);
    try {
      window.localStorage.setItem(key + ":try", "1");
      window.localStorage.removeItem(key + ":try");
    } catch (error) {
      return { read: () => null, write: () => false, works: false };
    }
    return {
      read: () => { try { return JSON.parse(window.localStorage.getItem(key)); } catch (error) { return null; } },
      write: value => {
        try { window.localStorage.setItem(key, JSON.stringify(value)); return true; } catch (error) { return false; }
      },
      works: true,
    };
  })();

  function open(sheet) {
    return QUESTIONS.filter(question => answers[sheet.dataset.item][question] === null);
  }

  function unfinished() {
    return sheets.filter(sheet => open(sheet).length > 0);
  }

  function take(item, question, value) {
    if (!answers[item] || !ALLOWED[question] || !ALLOWED[question].includes(value)) return false;
    answers[item][question] = value;
    return true;
  }

  function boxes(sheet, question) {
    return sheet.querySelectorAll('[data-question="' + question + '"] input');
  }

  function showAnswers() {
    for (const sheet of sheets)
      for (const question of QUESTIONS)
        for (const box of boxes(sheet, question))
          box.checked = box.value === answers[sheet.dataset.item][question];
    showProgress();
  }

  function showProgress() {
    const done = sheets.length - unfinished().length;
    byId("done").textContent = done + " of " + sheets.length + " answered";
    byId("progress").value = sheets.length ? done / sheets.length : 1;
  }

  function keep() {
    return store.write({ answers: answers, page: current });
  }

  /** Say that a question is open: beside it, and to whoever hears the page when they come to its answers. */
  function mark(field, on) {
    const words = field.querySelector(".open");
    words.hidden = !on;
    for (const box of field.querySelectorAll("input"))
      if (on) box.setAttribute("aria-describedby", words.id);
      else box.removeAttribute("aria-describedby");
  }

  function markOpen(sheet, on) {
    for (const field of sheet.querySelectorAll("fieldset"))
      mark(field, on && open(sheet).includes(field.dataset.question));
  }

  function go(place, focus) {
    current = Math.max(0, Math.min(pages.length - 1, place));
    warned = false;
    pages.forEach((page, n) => page.classList.toggle("shown", n === current));
    if (pages[current].dataset.item) markOpen(pages[current], false);
    byId("back").disabled = current === 0;
    byId("next").disabled = current === pages.length - 1;
    byId("next").textContent = current === 0 ? "Begin" : "Next";
    if (pages[current].id === "finish") showFinish();
    keep();
    window.scrollTo(0, 0);
    if (focus) pages[current].querySelector("h1, h2").focus({ preventScroll: true });
  }

  function next() {
    const page = pages[current];
    const left = page.dataset.item ? open(page) : [];
    if (left.length && !warned) {
      warned = true;
      markOpen(page, true);
      byId("next").textContent = "Skip for now";
      const box = boxes(page, left[0])[0];
      box.focus({ preventScroll: true });
      box.closest("fieldset").scrollIntoView({ block: "center" });
      return;
    }
    go(current + 1, true);
  }

  function showFinish() {
    const left = unfinished();
    const place = byId("missing");
    place.textContent = "";
    const words = document.createElement("p");
    place.append(words);
    if (!left.length) {
      words.textContent = "All questions are answered. Thank you!";
      byId("save").textContent = "Save answers";
    } else {
      words.className = "bad";
      words.textContent = "Questions are still open for these people:";
      const list = document.createElement("ul");
      for (const sheet of left) {
        const number = sheets.indexOf(sheet) + 1;
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = String(number);
        button.setAttribute("aria-label", "Go to person " + number);
        button.addEventListener("click", () => go(pages.indexOf(sheet), true));
        const entry = document.createElement("li");
        entry.append(button);
        list.append(entry);
      }
      place.append(list);
      byId("save").textContent = "Save what is there (" + left.length + " still open)";
    }
    byId("saved").textContent = "";
    byId("text").value = asText();
  }

  function asText() {
    const list = sheets.map(sheet => Object.assign({ item: sheet.dataset.item }, answers[sheet.dataset.item]));
    return JSON.stringify(Object.assign({}, about, { saved: new Date().toISOString(), answers: list }), null, 1) + "\n";
  }

  function save() {
    const text = asText();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "answers-" + about.annotator + ".json";
    document.body.append(link);
    link.click();
    link.remove();
    window.setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    byId("text").value = text;
    byId("saved").textContent = "Saved as " + link.download + ", in your downloads. Please send this file back.";
    unsaved = false;
  }

  function load(file) {
    file.text().then(text => {
      const data = JSON.parse(text);
      for (const name of ["format", "study", "annotator", "form"])
        if (data[name] !== about[name]) throw new Error("it belongs to another form");
      let taken = 0;
      for (const answer of data.answers)
        for (const question of QUESTIONS)
          if (take(answer.item, question, answer[question])) taken += 1;
      showAnswers();
      keep();
      byId("loaded").className = "";
      byId("loaded").textContent = taken + " answers were taken from the file.";
    }).catch(error => {
      byId("loaded").className = "bad";
      byId("loaded").textContent = "This file cannot be used: " + error.message + ".";
    });
  }

  document.documentElement.classList.add("js");
  const held = store.read();
  if (held && held.answers)
    for (const item of Object.keys(held.answers))
      for (const question of QUESTIONS) take(item, question, (held.answers[item] || {})[question]);
  byId("kept").textContent = store.works
    ? "Your answers are kept in this browser as you go: you may close the page and come back."
    : "This browser keeps nothing for this page. Save your answers before you close it; you can go on from that file.";
  for (const sheet of sheets)
    for (const question of QUESTIONS)
      for (const box of boxes(sheet, question))
        box.addEventListener("change", () => {
          take(sheet.dataset.item, question, box.value);
          mark(box.closest("fieldset"), false);
          if (!open(sheet).length) byId("next").textContent = "Next";
          showProgress();
          unsaved = !keep();
        });
  byId("back").addEventListener("click", () => go(current - 1, true));
  byId("next").addEventListener("click", next);
  byId("save").addEventListener("click", save);
  byId("load").addEventListener("change", event => { if (event.target.files.length) load(event.target.files[0]); });
  window.addEventListener("beforeunload", event => { if (unsaved) event.preventDefault(); });
  showAnswers();
  go(held && Number.isInteger(held.page) ? held.page : 0, false);
})();
