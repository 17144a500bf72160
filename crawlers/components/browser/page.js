// The JavaScript that examines a page: it runs among the page's own, so that its answers are not trusted.
({
  // The links and the text, as numbers: two pages with the same numbers are taken for the same.
  state: () => {
    let links = 0, text = 0, count = 0;
    const mixed = (sum, words) => {
      for (let at = 0; at < words.length; at++) sum = (Math.imul(sum, 31) + words.charCodeAt(at)) | 0;
      return sum;
    };
    for (const link of document.querySelectorAll('a[href], area[href]')) {
      links = mixed(links, link.getAttribute('href')); count++;
    }
    const whole = document.body ? document.body.textContent : '';
    text = mixed(text, whole.length > 1e6 ? whole.slice(0, 5e5) + whole.slice(-5e5) : whole);
    return [links, count, text, whole.length];
  },

  // The page's current HTML, or `null` if it is larger than `most`.
  html: most => {
    const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) + '\n' : '';
    const html = document.documentElement ? type + document.documentElement.outerHTML : type;
    return typeof html === 'string' && html.length <= most ? html : null;
  },

  // The element to click, or why there is none: gone, disabled. `what` is button, number, dots or current.
  find: want => {
    const CLICKABLE = 'a, button, summary, [role=button], [role=link], [onclick], input[type=button], ' +
      'input[type=submit], input[type=image]';
    const ENDS = /^[\s«»‹›<>→←▶►·|:.…]+|[\s«»‹›<>→←▶►·|:.…]+$/g;
    const LESS = ('less fewer collapse hide weniger einklappen ausblenden moins réduire menos ocultar meno nascondi ' +
      'minder verberg færre mindre färre vähemmän mniej ukryj méně menej skrýt kevesebb puțin меньше скрыть менше ' +
      'сховати λιγότερα az gizle').split(' ');
    const takesAway = words => words.split(/[^\p{L}]+/u).some(word => LESS.includes(word));
    const plain = words => {
      const whole = String(words === null || words === undefined ? '' : words).replace(/\s+/g, ' ').trim().toLowerCase();
      return whole.replace(ENDS, '') || whole;
    };
    const names = element => {
      const image = element.querySelector('img[alt]');
      const said = [element.textContent, element.getAttribute('aria-label'), element.getAttribute('title')];
      if (element.matches('input')) said.push(element.getAttribute('value'), element.getAttribute('alt'));
      if (image) said.push(image.getAttribute('alt'));
      return said.map(plain);
    };
    const isShown = element => element.checkVisibility({visibilityProperty: true});
    const isMarked = element =>
      element.hasAttribute('disabled') || element.getAttribute('aria-disabled') === 'true' ||
      (element.getAttribute('class') || '').split(/\s+/).some(name => /(^|[-_])disabled$/i.test(name));
    const isDisabled = element =>
      isMarked(element) || (element.parentElement && isMarked(element.parentElement)) ||
      !!element.closest('fieldset[disabled]') || getComputedStyle(element).pointerEvents === 'none';
    const chosen = found => {
      const shown = found.filter(isShown), able = shown.filter(element => !isDisabled(element));
      if (!able.length) return shown.length ? 'disabled' : 'gone';
      const link = able[0].closest('a[target]');
      if (link) link.removeAttribute('target');
      return able[0];
    };
    const evaluated = path => {
      const found = document.evaluate(path, document, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE, null), all = [];
      for (let at = 0; at < found.snapshotLength; at++)
        if (found.snapshotItem(at).nodeType === 1) all.push(found.snapshotItem(at));
      return all;
    };
    const within = (scopes, selector) => {
      const all = [];
      for (const scope of scopes) all.push(...scope.querySelectorAll(selector));
      return all;
    };
    const leaves = (scopes, test) =>
      within(scopes, '*').filter(element => !element.childElementCount && test(plain(element.textContent)));
    const dots = words => words === '...' || words === '…';

    if (want.what === 'button') {
      if (want.xpath) return chosen(evaluated(want.xpath));
      const last = want.clicked;  // by whatever name it goes now
      if (last && last.isConnected && isShown(last) && !isDisabled(last))
        return names(last).some(takesAway) ? 'gone' : last;
      const texts = want.texts.map(plain).filter(Boolean), scopes = [document];
      const isOne = words => !!words && texts.includes(words);
      const begins = words => texts.some(text => text.length > 4 && words.length < text.length + 30 &&
        words.startsWith(text) && !/[\p{L}\p{N}]/u.test(words.charAt(text.length)));  // Load more (20 of 300)
      const clickable = within(scopes, CLICKABLE);
      const found = clickable.filter(element => names(element).some(isOne));
      if (found.length) return chosen(found);
      const alike = clickable.filter(element => names(element).some(begins));
      return chosen(alike.length ? alike : leaves(scopes, isOne));
    }

    const scopes = want.xpath ? evaluated(want.xpath) : [document.body];
    const number = String(want.number), beside = [want.number - want.step, want.number + want.step].map(String);
    const isBeside = words => beside.includes(words) || dots(words);
    const isPager = element => {
      if (want.xpath) return true;
      for (let at = element, up = 0; at && up < 4; at = at.parentElement, up++)
        if (leaves([at], isBeside).some(other => other !== element && !element.contains(other))) return true;
      return false;
    };
    const clickable = within(scopes, CLICKABLE);
    const said = leaves(scopes, words => words === number).filter(isPager);
    const isCurrent = element => {
      for (let at = element, up = 0; at && up < 3 && leaves([at], () => true).length < 2; at = at.parentElement, up++)
        if (!['false', null].includes(at.getAttribute('aria-current')) ||
            (at.getAttribute('class') || '').split(/\s+/).some(name => /(^|[-_])(current|active|selected)$/i.test(name)))
          return true;
      return false;
    };
    if (want.what === 'current')
      return said.some(element => isShown(element) &&
        (isCurrent(element) || !element.closest('a[href], button:not([disabled])')));
    if (want.what === 'number') {
      const found = clickable.filter(element => plain(element.textContent) === number && isPager(element));
      return chosen(found.length ? found : said);
    }
    const isShownNow = element => plain(element.textContent) === beside[0] && isShown(element) &&
      !element.closest('a[href], button, select');
    const links = new Set(clickable);
    const isNumber = element => links.has(element) && /^\d+$/.test(plain(element.textContent));
    const numbers = within(scopes, '*').filter(element =>
      (isNumber(element) || (!element.childElementCount && isShownNow(element))) && isPager(element));
    const last = numbers[numbers.length - 1];  // dots before it lead back
    const after = clickable.filter(element => dots(plain(element.textContent)) &&
      (!last || last.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING));
    return chosen(after);
  },

  // Scroll everything to the bottom, or so far above it that the bottom is out of sight.
  scroll: back => {
    const root = document.scrollingElement || document.documentElement;
    const isLong = element => element.scrollHeight > element.clientHeight + 40 && element.clientHeight > 100 &&
      /auto|scroll|overlay/.test(getComputedStyle(element).overflowY);
    for (const element of [root, ...document.querySelectorAll('body, main, section, article, div, ul, ol, table, tbody')])
      if (element === root || isLong(element))
        element.scrollTop = element.scrollHeight - (back ? 2 * element.clientHeight + 100 : 0);
  },
})
