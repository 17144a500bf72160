// Makes tables sortable, and renews what is live on a page of the dashboard. Every page can be read without it.
"use strict";
(() => {
  const order = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const NOTHING = new Set(["", "–"]);

  const text = (row, column) => {
    const cell = row.cells[column];
    return cell ? cell.dataset.sort ?? cell.textContent.trim() : "";
  };
  const number = value => (/^[0-9][0-9,]*(\.[0-9]+)?( |$)/.test(value) ? parseFloat(value.replaceAll(",", "")) : NaN);
  const compare = (one, other) => number(one) - number(other) || order.compare(one, other);

  // What says nothing stays at the end.
  const sort = (table, column, sign) => {
    const body = table.tBodies[0];
    const rows = [...body.rows].map(row => [text(row, column), row]);
    rows.sort(([one], [other]) => NOTHING.has(one) - NOTHING.has(other) || sign * compare(one, other));
    body.append(...rows.map(([, row]) => row));
  };

  const press = (table, heading) => {
    const before = heading.getAttribute("aria-sort");
    const isNumber = heading.classList.contains("n");
    const falling = before ? before === "ascending" : isNumber;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
    sort(table, heading.cellIndex, falling ? -1 : 1);
  };

  for (const table of document.querySelectorAll("table.sorts")) {
    for (const heading of table.tHead.rows[0].cells) {
      if (heading.classList.contains("fixed")) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => press(table, heading));
    }
  }

  const open = () => {
    const part = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = part && part.closest("details");
    if (fold) {
      fold.open = true;
      part.scrollIntoView();
    }
  };
  addEventListener("hashchange", open);
  open();

  const seconds = Number(document.body.dataset.live);
  let failures = 0;
  const renew = async () => {
    if (document.hidden) return;
    const answer = await fetch(document.body.dataset.from || location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!page.body.dataset.live) {
      location.reload(); // the crawl has ended: everything on the page may have changed
      return;
    }
    for (const part of document.querySelectorAll("[data-renew]")) {
      const now = page.getElementById(part.id);
      if (now && now.innerHTML !== part.innerHTML) part.replaceChildren(...now.childNodes);
    }
  };
  const turn = async () => {
    try {
      await renew();
      failures = 0;
    } catch {
      failures += 1; // the dashboard may be starting again
    }
    if (failures < 20) setTimeout(turn, 1000 * seconds);
  };
  if (seconds) setTimeout(turn, 1000 * seconds);
})();
