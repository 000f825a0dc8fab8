// Fetches the options for the form as it stands, and puts them in place. The last good ones stay until there are new.
//
// One question at a time: the service records every answer, and what was asked last must be what it recorded last, or
// whoever comes back finds something else than they said. What changes meanwhile is asked as soon as the answer is in.
// One that is slow is given up for a newer one; the service then records the newer one alone.

const PAUSE = 60; // ms without a further change before asking: a dragged slider is one question
const TYPING = 500; // the same for what is typed: half a number is not what anybody means
const SLOW = 1500; // ms after which waiting is told, and a newer question no longer waits
const GIVE_UP = 20000; // ms after which it has failed
const RELOAD = ["expired", "changed", "overtaken"]; // only another page helps: asking again fails again
const USELESS = ["spent", "gone"]; // nothing helps

export class Follower {
  constructor(form, options, live) {
    this.form = form;
    this.options = options;
    this.live = live;
    this.told = live.querySelector("#told");
    this.again = live.querySelector("#again");
    this.again.addEventListener("click", () => (this.old ? window.location.reload() : this.now()));
    window.addEventListener("online", () => this.again.hidden || this.now());
    this.timer = 0;
    this.asking = null; // the question on its way
    this.wanted = false; // whether something changed since it was asked
    this.old = false; // whether the page itself is no longer good
  }

  soon(typed = false) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(), typed ? TYPING : PAUSE);
  }

  /** Ask now if something is still waiting to be asked. */
  hurry() {
    if (this.timer !== 0) this.now();
  }

  now() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.wanted = true;
    if (this.asking === null) this.ask();
    else if (this.asking.slow) this.asking.abort();
  }

  async ask() {
    const asking = (this.asking = new AbortController());
    this.wanted = false;
    const slow = setTimeout(() => {
      asking.slow = true;
      if (this.wanted) asking.abort();
      else this.tell("slow");
    }, SLOW);
    const late = setTimeout(() => asking.abort(), GIVE_UP);
    const answer = await this.fetched(asking.signal);
    clearTimeout(slow);
    clearTimeout(late);
    this.asking = null;
    if (this.wanted) this.ask();
    else if (answer.page) this.show(answer.page);
    else this.fail(answer.why);
  }

  /** Ask for the options. Returns them, or why there are none. */
  async fetched(signal) {
    try {
      const response = await fetch(this.form.action, {
        method: "POST",
        body: new URLSearchParams(new FormData(this.form)),
        headers: { "X-Fragment": "options", "X-Language": document.documentElement.lang },
        credentials: "same-origin",
        signal,
      });
      const page = document.createElement("template");
      page.innerHTML = await response.text();
      if (!response.ok) return { why: this.named(page) ?? { 403: "expired", 404: "gone", 409: "changed", 429: "busy", 503: "busy" }[response.status] ?? "failed" };
      // Something between us and the service may answer in its place: a sign-in page of a network, say.
      return page.content.querySelector("#headline") ? { page } : { why: "failed" };
    } catch (error) {
      return { why: signal.aborted || navigator.onLine ? "failed" : "offline" };
    }
  }

  /** Which of our messages came instead of options, if the form has words for it: a status alone can mean several. */
  named(page) {
    const name = page.content.querySelector("[data-message]")?.dataset.message;
    return name in this.form.dataset ? name : undefined;
  }

  /** Put new options in place; keep what the person is typing there, and where they are. */
  show(page) {
    const reason = this.options.querySelector("#reason")?.value ?? "";
    const open = this.options.querySelector(".refuse details")?.open ?? false;
    const aside = this.options.querySelector(".scroll")?.scrollLeft ?? 0;
    const focused = this.options.contains(document.activeElement) ? document.activeElement.id : null;
    const pressed = document.activeElement === this.again; // it will be hidden, and a focus needs a place
    this.options.replaceChildren(page.content);
    const box = this.options.querySelector("#reason");
    if (box && (reason || open)) {
      box.value = reason;
      box.closest("details").open = open;
    }
    this.options.querySelector(".scroll")?.scrollTo({ left: aside, behavior: "instant" });
    if (focused !== null || pressed) (document.getElementById(focused) ?? this.options).focus();
    document.getElementById("hope").hidden = this.options.querySelector(".card") === null;
    this.options.classList.remove("stale");
    this.live.classList.remove("bad");
    this.again.hidden = true;
    const headline = this.options.querySelector("#headline").dataset.told;
    this.told.textContent = this.mark() || this.form.dataset.updated.replace("{headline}", () => headline);
    this.options.dispatchEvent(new CustomEvent("followed", { bubbles: true }));
  }

  /** Mark the fields that cannot be used, and only those. Returns what is wrong with them. */
  mark() {
    const links = [...this.options.querySelectorAll("[data-problem]")];
    for (const field of this.form.querySelectorAll('input[type="text"]')) {
      const wrong = links.some((link) => field.name.startsWith(`${link.dataset.problem}-`));
      if (wrong) field.setAttribute("aria-invalid", "true");
      else field.removeAttribute("aria-invalid");
      if (wrong) field.setAttribute("aria-describedby", "told");
      else field.removeAttribute("aria-describedby");
    }
    this.form.querySelectorAll(".limits .wrong").forEach((old) => old.remove()); // of a page made without scripts
    return links.map((link) => link.textContent).join(" ");
  }

  tell(what) {
    this.told.textContent = this.form.dataset[what];
  }

  fail(why) {
    this.tell(why);
    this.live.classList.add("bad");
    this.options.classList.add("stale");
    const pressed = document.activeElement === this.again;
    this.old = RELOAD.includes(why);
    this.again.textContent = this.form.dataset[this.old ? "reload" : "again"];
    this.again.hidden = USELESS.includes(why);
    if (pressed && this.again.hidden) this.options.focus();
  }
}
