// Lists and searches the datasets of a release. A page that is opened as a file may load scripts and nothing else: each
// part of the list is one, page/datasets-N.js, which calls loaded(). Texts of catalogues become texts, never markup.
"use strict";
const loaded = (() => {
  const { sources, parts } = JSON.parse(document.getElementById("about").textContent);
  const [words, source, status, list, more] = ["words", "source", "status", "found", "more"].map(id => document.getElementById(id));
  const SHOWN = 50;
  const KEPT = 30; // parts in memory
  const rows = new Map(); // by the number of their part
  const waiting = new Map();

  const folded = text => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

  const load = number => {
    if (rows.has(number)) return rows.get(number);
    return new Promise((done, failed) => {
      const script = document.createElement("script");
      waiting.set(number, done);
      script.src = parts[number][1];
      script.addEventListener("error", () => failed(new Error(parts[number][1])));
      script.addEventListener("load", () => script.remove());
      document.head.append(script);
    });
  };

  const accept = (number, some) => {
    const known = some.map(row => ({ row, text: folded(`${row.join(" ")} ${sources[parts[number][0]]}`) }));
    if (rows.size >= KEPT) rows.delete(rows.keys().next().value);
    rows.set(number, known);
    waiting.get(number)?.(known);
    waiting.delete(number);
  };

  const element = (name, text, className) => {
    const made = document.createElement(name);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  };

  const item = ([title, url, publisher, license, formats, modified], from) => {
    const made = document.createElement("li");
    const heading = element(url ? "a" : "span", "", "title");
    heading.append(element("bdi", title));
    if (url) heading.href = url;
    const about = element("p", "", "of");
    for (const text of [publisher, sources[from], formats, license, modified]) {
      if (!text) continue;
      const one = document.createElement("span");
      one.append(element("bdi", text));
      about.append(one);
    }
    made.append(heading, about);
    return made;
  };

  // One search at a time: another one, or a word more, ends it.
  let current = 0;
  let next = async () => {};

  const search = () => {
    const own = ++current;
    const wanted = folded(words.value).split(/\s+/).filter(Boolean);
    const asked = parts.map((part, number) => number).filter(number => source.value === "" || parts[number][0] === Number(source.value));
    const total = asked.reduce((sum, number) => sum + parts[number][2], 0);
    let at = 0; // of asked
    let row = 0; // of that part
    let count = 0;
    list.replaceChildren();

    next = async () => {
      const until = count + SHOWN;
      more.hidden = true;
      while (at < asked.length && count < until) {
        if (wanted.length) status.textContent = `Searching, part ${at + 1} of ${asked.length} …`;
        let known;
        try {
          known = await load(asked[at]);
        } catch (error) {
          status.textContent = `${error.message} can't be loaded: the folder of the release is not whole.`;
          return;
        }
        if (own !== current) return;
        const items = document.createDocumentFragment();
        for (; row < known.length && count < until; row++) {
          if (!wanted.every(word => known[row].text.includes(word))) continue;
          items.append(item(known[row].row, parts[asked[at]][0]));
          count++;
        }
        list.append(items);
        if (row === known.length) [at, row] = [at + 1, 0];
      }
      const isEnd = at === asked.length;
      more.hidden = isEnd;
      const all = wanted.length ? count : total;
      const shown = count.toLocaleString("en");
      if (isEnd || !wanted.length) status.textContent = all === 1 ? "1 dataset." : `${all.toLocaleString("en")} datasets${isEnd ? "" : `, the first ${shown} shown`}.`;
      else status.textContent = `The first ${shown} datasets.`;
      if (isEnd && !count) status.textContent = "No dataset has all of these words.";
    };
    next();
  };

  let pause;
  words.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(search, 150);
  });
  source.addEventListener("change", search);
  more.addEventListener("click", () => next());
  document.querySelector("form").addEventListener("submit", event => {
    event.preventDefault();
    search();
  });
  setTimeout(search);
  return accept;
})();
