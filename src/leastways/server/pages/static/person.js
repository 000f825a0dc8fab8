// The person's page: an answer changes, the options follow. Without this script the form's button does the same.
import { Follower } from "./follow.js";

document.documentElement.classList.add("script");

const form = document.getElementById("wishes");
const words = form ? JSON.parse(form.dataset.words) : [];

/** Say in words where a slider stands, for eyes and for screen readers. */
function name(slider) {
  const word = words[Number(slider.value)];
  slider.setAttribute("aria-valuetext", word);
  form.querySelector(`output[for="${slider.id}"]`).value = word;
}

if (form) {
  const sliders = form.querySelectorAll('input[type="range"]');
  sliders.forEach(name);
  const said = [...form.querySelectorAll("input:not([type=hidden])")].some((one) =>
    one.type === "checkbox" ? one.checked !== one.defaultChecked : one.value !== one.defaultValue,
  );
  const follower = new Follower(form, document.getElementById("options"), document.getElementById("live"));
  if (said) follower.now(); // while this script was on its way, over a slow connection
  form.addEventListener("input", (event) => {
    if (event.target.type === "range") name(event.target);
    if (event.target.type === "checkbox") follower.now();
    else follower.soon(event.target.type === "text");
  });
  form.addEventListener("change", () => follower.hurry()); // whoever leaves a field has written what they mean
  form.addEventListener("click", (event) => {
    const wanted = event.target.dataset.tick;
    if (!wanted) return;
    const ticks = event.target.closest(".limits").querySelectorAll(".ticks input");
    ticks.forEach((tick) => (tick.checked = wanted === "all"));
    follower.soon(); // whoever ticks none goes on to tick some
  });
  form.addEventListener("submit", (event) => {
    if (event.submitter && event.submitter.name === "fresh") return; // starting over loads the page anew
    event.preventDefault();
    follower.now();
  });
}

// On a phone the facts would push the options far down: they are folded, one touch away.
if (window.matchMedia("(max-width: 40rem)").matches) document.querySelector("details.facts")?.removeAttribute("open");

document.getElementById("print")?.addEventListener("click", () => window.print());

// Paper has no folds: what is folded away is opened for print, and closed again.
let folded = [];
window.addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:is(.facts, .more):not([open])")];
  folded.forEach((part) => (part.open = true));
});
window.addEventListener("afterprint", () => folded.forEach((part) => (part.open = false)));
