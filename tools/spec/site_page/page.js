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

reach('.line, .lines');

// Search.
const kShown = 40;
const kSnippet = 150;  // characters
const query = $('.search input');
const found = $('#found');
const list = $('#results');
const status = $('.search [role=status]');
let entries = null;  // {href, place, title, clause, text, others, lower…}
let vocabulary = null;  // each word of the entries -> how often it is there
let selected = -1;

// Words that say nothing of what is looked for; too short ones are found in every other word.
const kStopWords = new Set(('a an and are as at be been but by can do does for from had has have how if in into is it its ' +
  'of on or so such than that the their then there these they this to was were what when where which who why will with')
  .split(' '));

/** Called by search.js. */
function searchIndex(index) {
  entries = index.entries.map(([page, anchor, title, clause, text, section, others]) => {
    const name = index.pages[page][1];
    return {
      href: data.root + index.pages[page][0] + '#' + encodeURIComponent(anchor),
      place: [name, section].filter(part => part !== '' && part !== title).join(', '),
      title, clause: clause === 1, text, others: (others ?? '').split(', ').filter(other => other !== ''),
      lowerTitle: title.toLowerCase(), lowerPage: name.toLowerCase(), lower: text.toLowerCase(),
      lowerOthers: spaced(others ?? ''), spacedText: spaced(text),
    };
  });
  show();
}

/** In lower case; "zero_point" and "zero-point" are "zero point". */
const spaced = text => text.toLowerCase().replace(/[_-]/g, ' ');

function loadIndex() {
  if ($('#index')) return;
  document.head.append(h('script', {id: 'index', src: data.root + 'search.js'}));
}

/** 0 where a word is not there; else the greater the better. */
function score(entry, words, phrase) {
  let sum = 0;
  for (const word of words) {
    let points = 0;
    if (entry.lowerTitle === word) points = 100;
    else if (entry.lowerTitle.startsWith(word)) points = 40;
    else if (entry.lowerTitle.includes(word)) points = 20;
    else if (entry.lowerPage.includes(word)) points = 10;
    const at = entry.lower.indexOf(word);
    if (at >= 0) points += at === 0 || !/\w/.test(entry.lower[at - 1]) ? 6 : 2;
    if (entry.lowerOthers.includes(spaced(word))) points += 8;
    if (points === 0) return 0;
    sum += points;
  }
  if (entry.others.length > 0 && entry.others.some(other => spaced(other) === phrase)) sum += 100;
  if (words.length > 1 && entry.spacedText.includes(phrase)) sum += 12;
  return sum + (entry.clause ? 1 : 0);
}

/** The fewest letters left out, added, changed or swapped with the next one; more than `most` is `most` + 1. */
function distance(a, b, most) {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let [before, last] = [[], [...Array(b.length + 1).keys()]];
  for (let i = 1; i <= a.length; ++i) {
    const row = [i];
    for (let j = 1; j <= b.length; ++j) {
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    if (Math.min(...row) > most) return most + 1;
    [before, last] = [last, row];
  }
  return last[b.length];
}

/** The word of the text that is spelled most like this one; the word itself where it is there, or none is near. */
function nearest(word) {
  const there = ({lower, lowerTitle, lowerPage, lowerOthers}) =>
    lower.includes(word) || lowerTitle.includes(word) || lowerPage.includes(word) || lowerOthers.includes(spaced(word));
  if (word.length < 4 || entries.some(there)) return word;
  if (vocabulary === null) {
    vocabulary = new Map();
    for (const {lower, lowerTitle, lowerOthers} of entries) {
      for (const [known] of `${lowerTitle} ${lower} ${lowerOthers}`.matchAll(/[a-z][a-z0-9_]{3,}/g)) {
        vocabulary.set(known, (vocabulary.get(known) ?? 0) + 1);
      }
    }
  }
  let best = {word, off: word.length < 8 ? 2 : 3, times: 0};  // one letter in a short word, two in a long one
  for (const [known, times] of vocabulary) {
    const off = distance(word, known, best.off);
    if (off < best.off || (off === best.off && best.times > 0 && times > best.times)) best = {word: known, off, times};
  }
  return best.word;
}

function search(text) {
  const typed = text.toLowerCase().split(/\s+/).map(word => word.replace(/[?!.,;:]+$/, '')).filter(word => word !== '');
  const telling = typed.filter(word => !kStopWords.has(word));
  const asked = telling.length > 0 ? telling : typed;
  const words = asked.map(nearest);
  const hits = [];
  for (const entry of words.length > 0 ? entries : []) {
    const points = score(entry, words, spaced(words.join(' ')));
    if (points > 0) hits.push({entry, points});
  }
  hits.sort((a, b) => b.points - a.points);  // stable: the text's order among equals
  return {words, hits, respelled: words.filter((word, i) => word !== asked[i])};
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
  const {words, hits, respelled} = search(query.value);
  const rows = hits.slice(0, kShown).map(({entry}, i) => h('a',
      {href: entry.href, role: 'option', id: 'found-' + i, tabindex: -1, 'aria-selected': 'false'},
      h('b', {class: entry.clause ? 'id' : null}, entry.title),
      h('span', {class: 'of'}, entry.place),
      entry.others.length > 0 ? h('span', {class: 'others'}, `Others say: ${entry.others.join(', ')}`) : null,
      snippet(entry.text, entry.lower, words)));
  const notes = [];
  if (respelled.length > 0) notes.push(`Spelled as in the text: ${respelled.join(', ')}`);
  if (words.length > 0 && rows.length === 0) notes.push('Nothing has all of these words.');
  if (hits.length > kShown) notes.push(`The first ${kShown} of ${count(hits.length)}`);
  list.replaceChildren(...rows);
  list.hidden = rows.length === 0;
  found.querySelector('p').textContent = notes.join('. ');
  toggle(words.length > 0);
  status.textContent = words.length > 0 ? [plural(hits.length, 'result'), ...notes].join('. ') : '';
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
