// Fetches the options for the form as it stands, and puts them in place. The last good ones stay until there are new.

const PAUSE = 60; // ms without a further change before asking: a dragged slider is one question
const SLOW = 1500; // ms after which waiting is told
const GIVE_UP = 20000; // ms after which it has failed

export class Follower {
  constructor(form, options, live) {
    this.form = form;
    this.options = options;
    this.live = live;
    this.told = live.querySelector("#told");
    this.again = live.querySelector("#again");
    this.again.addEventListener("click", () => this.now());
    this.timer = 0;
    this.asking = null;
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(), PAUSE);
  }

  async now() {
    clearTimeout(this.timer);
    this.asking?.abort();
    const asking = (this.asking = new AbortController());
    const slow = setTimeout(() => this.tell("slow"), SLOW);
    const late = setTimeout(() => asking.abort("late"), GIVE_UP);
    try {
      const response = await fetch(this.form.action, {
        method: "POST",
        body: new URLSearchParams(new FormData(this.form)),
        headers: { "X-Fragment": "options" },
        credentials: "same-origin",
        signal: asking.signal,
      });
      const text = await response.text();
      if (asking !== this.asking) return;
      if (response.ok) this.show(text);
      else this.fail({ 403: "expired", 429: "busy", 503: "busy" }[response.status] ?? "failed");
    } catch (error) {
      if (asking === this.asking) this.fail(asking.signal.aborted || navigator.onLine ? "failed" : "offline");
    } finally {
      clearTimeout(slow);
      clearTimeout(late);
    }
  }

  /** Put new options in place; keep what the person is typing there, and where they are. */
  show(text) {
    const reason = this.options.querySelector("#reason")?.value ?? "";
    const open = this.options.querySelector(".refuse details")?.open ?? false;
    const focused = this.options.contains(document.activeElement) ? document.activeElement.id : null;
    this.options.innerHTML = text;
    const box = this.options.querySelector("#reason");
    if (box && (reason || open)) {
      box.value = reason;
      box.closest("details").open = open;
    }
    if (focused !== null) (document.getElementById(focused) ?? this.options).focus();
    this.options.classList.remove("stale");
    this.live.classList.remove("bad");
    this.again.hidden = true;
    const wrong = this.mark();
    const headline = this.options.querySelector("#headline").textContent;
    this.told.textContent = wrong ? this.form.dataset.problems : this.form.dataset.updated.replace("{headline}", headline);
    this.options.dispatchEvent(new CustomEvent("followed", { bubbles: true }));
  }

  /** Mark the fields that cannot be used, and only those. Returns how many there are. */
  mark() {
    const wrong = [...this.options.querySelectorAll("[data-problem]")].map((link) => link.dataset.problem);
    for (const field of this.form.querySelectorAll('input[type="number"]')) {
      if (wrong.some((place) => field.name.startsWith(`${place}-`))) field.setAttribute("aria-invalid", "true");
      else field.removeAttribute("aria-invalid");
    }
    return wrong.length;
  }

  tell(what) {
    this.told.textContent = this.form.dataset[what];
  }

  fail(why) {
    this.tell(why);
    this.live.classList.add("bad");
    this.options.classList.add("stale");
    this.again.hidden = false;
  }
}
