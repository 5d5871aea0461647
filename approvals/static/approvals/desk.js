// What the pages need beyond htmx: nothing typed is lost, a failure is said, times are local.
// Everything works without this file.
"use strict";

(() => {
  const TYPED = "content tags comment expires_at".split(" ");

  const draftKey = (form) => {
    const card = form.closest("article");
    return card && `draft ${card.id} ${new URL(form.action).pathname}`;
  };

  // What is typed outlives an expired session and a reload, in this tab only.
  document.addEventListener("input", ({ target }) => {
    const key = target.form && TYPED.includes(target.name) && draftKey(target.form);
    if (!key) return;
    const draft = JSON.parse(sessionStorage.getItem(key) || "{}");
    draft[target.name] = target.value;
    sessionStorage.setItem(key, JSON.stringify(draft));
  });

  // Approve takes the proposal as it stands: where something else was typed, say so there.
  const mark = (form) => {
    const note = form.closest("article")?.querySelector(".as-it-stands");
    if (!note || !form.matches(".edit")) return;
    note.hidden = [...form.elements].every((field) =>
      field.type === "checkbox"
        ? field.checked === field.defaultChecked
        : !TYPED.includes(field.name) || field.value === field.defaultValue,
    );
  };
  document.addEventListener("input", ({ target }) => target.form && mark(target.form));

  const restore = (root) => {
    for (const form of root.querySelectorAll("article form")) {
      const draft = JSON.parse(sessionStorage.getItem(draftKey(form)) || "{}");
      for (const [name, value] of Object.entries(draft)) {
        const field = form.elements.namedItem(name);
        if (field && field.value === field.defaultValue) field.value = value;
      }
      mark(form);
    }
    // A proposal that is no longer pending has no use for a draft.
    for (const card of root.querySelectorAll("article:not([data-status='pending'])")) {
      forget(card.id);
    }
  };

  const forget = (id) => {
    for (const key of Object.keys(sessionStorage)) {
      if (key.startsWith(`draft ${id} `)) sessionStorage.removeItem(key);
    }
  };

  const local = (root) => {
    const style = { dateStyle: "full", timeStyle: "long" };
    for (const time of root.querySelectorAll("time[datetime]")) {
      time.title = new Date(time.dateTime).toLocaleString(undefined, style);
    }
  };

  const say = (text) => {
    const status = document.getElementById("status");
    status.dataset.kind = "trouble";
    status.classList.remove("over");
    status.querySelector("p").textContent = text;
  };

  // An Undo that would only be refused any more is put away.
  const putAway = (root) => {
    for (const form of root.querySelectorAll(".undo[data-until]")) {
      const left = new Date(form.dataset.until) - Date.now();
      setTimeout(() => form.parentElement?.classList.add("over"), Math.max(0, left));
    }
  };

  // The second click of a double click would decide the card that came meanwhile.
  document.addEventListener(
    "click",
    (event) => {
      if (event.detail > 1 && event.target.closest?.("article button, .undo button")) event.preventDefault();
    },
    true,
  );

  // A swap that does not come would leave a dead button: say so, and give the focus back.
  const failed = (text) => ({ detail }) => {
    say(text);
    const form = detail.elt;
    setTimeout(() => (form.querySelector?.("button") ?? form).focus?.(), 0);
  };
  document.addEventListener("htmx:responseError", ({ detail }) =>
    failed(
      detail.xhr.status === 404
        ? "This proposal is not there any more, or not yours to see."
        : "That did not work, and nothing was decided here. Reload the page.",
    )({ detail }),
  );
  for (const silence of ["htmx:sendError", "htmx:timeout"]) {
    const text = "Ampsite cannot be reached. Look again before you repeat it.";
    document.addEventListener(silence, failed(text));
  }

  // Once a card has given way to another page or card, its draft has served.
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    const card = detail.elt.closest?.("article");
    if (!card || detail.requestConfig.verb !== "post") return;
    const away = detail.xhr.getResponseHeader("HX-Redirect");
    const back = away?.startsWith("/login/") || away?.includes(card.id.replace("proposal-", ""));
    if (away ? !back : !document.getElementById(card.id)) forget(card.id);
  });
  document.addEventListener("htmx:afterSettle", () => {
    restore(document);
    local(document);
    putAway(document);
  });
  document.addEventListener("DOMContentLoaded", () => {
    restore(document);
    local(document);
    putAway(document);
  });
})();
