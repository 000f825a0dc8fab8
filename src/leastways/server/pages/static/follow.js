// Fetches the options for the current entries and shows them. The previous options stay until new ones arrive.
//
// One request at a time: the service records every answer, and the last recorded one must belong to the last entries.
// Entries changed meanwhile are sent as soon as the response is there. A slow request is aborted for a newer one; the
// service then records the newer one only.

const PAUSE = 60; // ms without a further change before a request: a dragged slider is one request
const TYPING = 500; // the same for typed text, so that half a number is not sent
const SLOW = 1500; // ms after which the page says so, and a newer request aborts this one
const GIVE_UP = 20000; // ms after which a request has failed
const RELOAD = ["expired", "changed", "superseded"]; // only reloading the page helps
const USELESS = ["refinement_limit", "gone"]; // no retry helps

export class Follower {
  constructor(form, options, live) {
    this.form = form;
    this.options = options;
    this.live = live;
    this.status = live.querySelector("#status");
    this.again = live.querySelector("#again");
    this.again.addEventListener("click", () => (this.old ? window.location.reload() : this.now()));
    window.addEventListener("online", () => this.again.hidden || this.now());
    this.timer = 0;
    this.asking = null; // the open request
    this.wanted = false; // whether entries changed since it was sent
    this.old = false; // whether the page itself is outdated
  }

  soon(typed = false) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(), typed ? TYPING : PAUSE);
  }

  /** Send pending changes now. */
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

  /** Request the options. Returns them, or why there are none. */
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
      // Something between us and the service may answer in its place, such as the sign-in page of a network.
      return page.content.querySelector("#headline") ? { page } : { why: "failed" };
    } catch (error) {
      return { why: signal.aborted || navigator.onLine ? "failed" : "offline" };
    }
  }

  /** Return the name of the message that came instead of options, if the form has a text for it. */
  named(page) {
    const name = page.content.querySelector("[data-message]")?.dataset.message;
    return name in this.form.dataset ? name : undefined;
  }

  /** Show new options; keep typed text, scroll position and focus. */
  show(page) {
    const reason = this.options.querySelector("#reason")?.value ?? "";
    const open = this.options.querySelector(".refuse details")?.open ?? false;
    const aside = this.options.querySelector(".scroll")?.scrollLeft ?? 0;
    const focused = this.options.contains(document.activeElement) ? document.activeElement.id : null;
    const pressed = document.activeElement === this.again; // it will be hidden, so the focus moves
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
    const headline = this.options.querySelector("#headline").dataset.announce;
    this.status.textContent = this.mark() || this.form.dataset.updated.replace("{headline}", () => headline);
    this.options.dispatchEvent(new CustomEvent("followed", { bubbles: true }));
  }

  /** Mark the fields that cannot be used. Returns what is wrong with them. */
  mark() {
    const links = [...this.options.querySelectorAll("[data-problem]")];
    for (const field of this.form.querySelectorAll('input[type="text"]')) {
      const wrong = links.some((link) => field.name.startsWith(`${link.dataset.problem}-`));
      if (wrong) field.setAttribute("aria-invalid", "true");
      else field.removeAttribute("aria-invalid");
      if (wrong) field.setAttribute("aria-describedby", "status");
      else field.removeAttribute("aria-describedby");
    }
    this.form.querySelectorAll(".limits .wrong").forEach((old) => old.remove()); // of a page rendered without scripts
    return links.map((link) => link.textContent).join(" ");
  }

  tell(what) {
    this.status.textContent = this.form.dataset[what];
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
