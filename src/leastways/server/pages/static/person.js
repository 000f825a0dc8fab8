// The person's page: when an entry changes, the options are updated. Without this script the form's button does that.
import { Follower } from "./follow.js";

document.documentElement.classList.add("script");

const form = document.getElementById("preferences");
const words = form ? JSON.parse(form.dataset.words) : [];

/** Show the position of a slider in words, also to screen readers. */
function name(slider) {
  const word = words[Number(slider.value)];
  slider.setAttribute("aria-valuetext", word);
  form.querySelector(`output[for="${slider.id}"]`).value = word;
}

if (form) {
  const sliders = form.querySelectorAll('input[type="range"]');
  sliders.forEach(name);
  const changed = [...form.querySelectorAll("input:not([type=hidden])")].some((one) =>
    one.type === "checkbox" ? one.checked !== one.defaultChecked : one.value !== one.defaultValue,
  );
  const follower = new Follower(form, document.getElementById("options"), document.getElementById("live"));
  if (changed) follower.now(); // changed while this script was loading
  form.addEventListener("input", (event) => {
    if (event.target.type === "range") name(event.target);
    if (event.target.type === "checkbox") follower.now();
    else follower.soon(event.target.type === "text");
  });
  form.addEventListener("change", () => follower.hurry()); // leaving a field ends typing
  form.addEventListener("click", (event) => {
    const wanted = event.target.dataset.tick;
    if (!wanted) return;
    const ticks = event.target.closest(".limits").querySelectorAll(".ticks input");
    ticks.forEach((tick) => (tick.checked = wanted === "all"));
    follower.soon(); // some ticks follow soon
  });
  form.addEventListener("submit", (event) => {
    if (event.submitter && event.submitter.name === "fresh") return; // starting over loads the page again
    event.preventDefault();
    follower.now();
  });
}

// On a phone the facts would push the options far down, so they are folded.
if (window.matchMedia("(max-width: 40rem)").matches) document.querySelector("details.facts")?.removeAttribute("open");

document.getElementById("print")?.addEventListener("click", () => window.print());

// Folded parts are opened for print, and closed again.
let folded = [];
window.addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:is(.facts, .more):not([open])")];
  folded.forEach((part) => (part.open = true));
});
window.addEventListener("afterprint", () => folded.forEach((part) => (part.open = false)));
