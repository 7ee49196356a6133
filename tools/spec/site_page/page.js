// The site: folds and chapters on narrow screens, and the search. Its index is a script, since a
// page opened from a folder may not fetch a file.

for (const button of document.querySelectorAll('.fold')) {
  button.addEventListener('click', () => {
    button.setAttribute('aria-expanded', button.getAttribute('aria-expanded') !== 'true');
  });
}

const menu = $('#menu');
menu.addEventListener('click', () => {
  const open = $('#chapters').classList.toggle('open');
  menu.setAttribute('aria-expanded', open);
  if (open) scrollTo(0, 0);
});
$('#chapters [aria-current]')?.scrollIntoView({block: 'nearest'});

// Search.
const kShown = 40;
const kSnippet = 150;  // characters
const query = $('.search input');
const found = $('#found');
const status = $('.search [role=status]');
let entries = null;  // {href, page, title, clause, text, lower}
let selected = -1;

/** Called by search.js. */
function searchIndex(index) {
  entries = index.entries.map(([page, anchor, title, clause, text]) => ({
    href: data.root + index.pages[page][0] + '#' + encodeURIComponent(anchor),
    page: index.pages[page][1], title, clause: clause === 1, text,
    lowerTitle: title.toLowerCase(), lowerPage: index.pages[page][1].toLowerCase(), lower: text.toLowerCase(),
  }));
  show();
}

function loadIndex() {
  if ($('#index')) return;
  document.head.append(h('script', {id: 'index', src: data.root + 'search.js'}));
}

/** 0 where not every word is there; else the greater the better. */
function score(entry, words) {
  let sum = 0;
  for (const word of words) {
    let points = 0;
    if (entry.lowerTitle === word) points = 100;
    else if (entry.lowerTitle.startsWith(word)) points = 40;
    else if (entry.lowerTitle.includes(word)) points = 20;
    else if (entry.lowerPage.includes(word)) points = 10;
    const at = entry.lower.indexOf(word);
    if (at >= 0) points += at === 0 || !/\w/.test(entry.lower[at - 1]) ? 6 : 2;
    if (points === 0) return 0;
    sum += points;
  }
  return sum + (entry.clause ? 1 : 0);
}

function search(text) {
  const words = text.toLowerCase().split(/\s+/).filter(word => word !== '');
  if (words.length === 0) return {words, hits: []};
  const hits = [];
  for (const entry of entries) {
    const points = score(entry, words);
    if (points > 0) hits.push({entry, points});
  }
  hits.sort((a, b) => b.points - a.points);  // stable: the text's order among equals
  return {words, hits};
}

/** The part of the text where a word comes first, with the words marked. */
function snippet(text, lower, words) {
  const first = Math.min(...words.map(word => lower.indexOf(word)).filter(at => at >= 0), text.length);
  let from = first === text.length ? 0 : Math.max(0, first - 40);
  if (from > 0) from = text.indexOf(' ', from) + 1;
  const part = text.slice(from, from + kSnippet);
  const nodes = [from > 0 ? '… ' : ''];
  const lowerPart = part.toLowerCase();
  for (let at = 0; at < part.length;) {
    let next = part.length;
    let length = 0;
    for (const word of words) {
      const place = lowerPart.indexOf(word, at);
      if (place >= 0 && place < next) [next, length] = [place, word.length];
    }
    nodes.push(part.slice(at, next));
    if (length > 0) nodes.push(h('mark', {}, part.slice(next, next + length)));
    at = next + length;
  }
  if (from + kSnippet < text.length) nodes.push(' …');
  return h('span', {class: 'snippet'}, nodes);
}

function show() {
  if (entries === null) return;
  const {words, hits} = search(query.value);
  const rows = hits.slice(0, kShown).map(({entry}, i) => h('a',
      {href: entry.href, role: 'option', id: 'found-' + i, tabindex: -1, 'aria-selected': 'false'},
      h('b', {class: entry.clause ? 'id' : null}, entry.title),
      h('span', {class: 'of'}, entry.page === entry.title ? null : entry.page),
      snippet(entry.text, entry.lower, words)));
  if (words.length > 0 && rows.length === 0) rows.push(h('p', {}, 'Nothing has all of these words.'));
  if (hits.length > kShown) rows.push(h('p', {}, `${count(hits.length - kShown)} more`));
  found.replaceChildren(...rows);
  toggle(words.length > 0);
  status.textContent = words.length > 0 ? plural(hits.length, 'result') : '';
  select(hits.length > 0 ? 0 : -1);
}

function toggle(open) {
  found.hidden = !open;
  query.setAttribute('aria-expanded', open);
}

function select(index) {
  const rows = found.querySelectorAll('a');
  rows[selected]?.setAttribute('aria-selected', 'false');
  selected = rows.length === 0 ? -1 : (index + rows.length) % rows.length;
  rows[selected]?.setAttribute('aria-selected', 'true');
  rows[selected]?.scrollIntoView({block: 'nearest'});
  if (selected >= 0) query.setAttribute('aria-activedescendant', 'found-' + selected);
  else query.removeAttribute('aria-activedescendant');
}

query.addEventListener('focus', () => {
  loadIndex();
  show();
});
query.addEventListener('input', show);
query.addEventListener('keydown', event => {
  if (event.key === 'ArrowDown') select(selected + 1);
  else if (event.key === 'ArrowUp') select(selected - 1);
  else if (event.key === 'Escape') toggle(false);
  else return;
  event.preventDefault();
});
$('.search').addEventListener('submit', event => {
  event.preventDefault();
  found.querySelectorAll('a')[selected]?.click();
});
found.addEventListener('click', () => {
  toggle(false);
  query.blur();
});
document.addEventListener('click', event => {
  if (!$('.search').contains(event.target)) toggle(false);
});
document.addEventListener('keydown', event => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? '');
  if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  query.focus();
  query.select();
});
