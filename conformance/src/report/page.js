// Shows the report in #data (its keys: report_data.h).

const text = index => data.strings[index];

// ---- small helpers ----

/** Text with `code` in it as nodes. */
function prose(words) {
  return words.split('`').map((part, i) => i % 2 ? h('code', null, part) : part);
}

const signed = n => (n > 0 ? '+' : n < 0 ? '\u2212' : '') + number(Math.abs(n));

function number(value) {
  if (typeof value !== 'number') return String(value);
  if (Object.is(value, -0)) return '-0';
  return String(value);
}

function compact(n) {
  return Math.abs(n) < 1e6 ? String(n) : n.toExponential(1).replace('e+', 'e');
}

function duration(microseconds) {
  if (microseconds < 1000) return `${microseconds} µs`;
  if (microseconds < 1e6) return `${(microseconds / 1000).toFixed(1)} ms`;
  return `${(microseconds / 1e6).toFixed(1)} s`;
}

/** As one word of a POSIX shell. */
function quoted(word) {
  return /^[\w/.:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

// ---- the report as objects ----

const kinds = {
  pass: {sign: '✓', tone: 'good', label: 'pass'},
  fail: {sign: '✗', tone: 'bad', label: 'fail'},
  unsupported: {sign: '○', tone: 'mute', label: 'unsupported'},
  crash: {sign: '!', tone: 'warn', label: 'crash', broken: true},
  timeout: {sign: '!', tone: 'warn', label: 'timeout', broken: true},
  protocol_error: {sign: '!', tone: 'warn', label: 'protocol error', broken: true},
  expected_fail: {sign: '▿', tone: 'mute', label: 'expected fail'},
  unexpected_pass: {sign: '±', tone: 'bad', label: 'unexpected pass'},
  self: {sign: '=', tone: 'mute', label: 'self'},
  bad_expectation: {sign: '✗', tone: 'bad', label: 'bad expectation'},
  bad_golden: {sign: '✗', tone: 'bad', label: 'bad golden'},
};
const spaced = name => name.replaceAll('_', ' ');
const outcomes = data.outcomes.map(name => ({name, ...kinds[name]}));
const isProblem = outcome => outcome.tone === 'bad' || outcome.tone === 'warn';

const runs = data.rows.map(row => ({...row, key: [row.name, row.arithmetic].filter(Boolean).join('/'),
                                    label: [row.name, row.arithmetic].filter(Boolean).join(' ')}));
const cases = data.cases.map(([id, spec, why, where, op, level, tags]) => ({
  id, spec: text(spec), why: text(why), where: text(where).replace(`${data.suite}/`, ''), op: text(op) || 'other',
  level: text(level), tags: tags.map(text)}));
const results = runs.flatMap(run => run.results.map(([index, outcome, time, expectation, diagnosis, detail]) => ({
  run, index, it: cases[index], outcome: outcomes[outcome], time, expectation: spaced(text(expectation)), diagnosis,
  detail: detail ?? {}})));
results.forEach((result, number) => { result.number = number; });
const keyOf = result => `${result.it.id}@${result.run.key}`;

function tally(list) {
  const counts = new Map();
  for (const result of list) counts.set(result.outcome, (counts.get(result.outcome) ?? 0) + 1);
  return counts;
}
const describe = counts => outcomes.filter(outcome => counts.get(outcome))
  .map(outcome => `${count(counts.get(outcome))} ${outcome.label}`).join(', ');

// ---- state, kept in the address ----

const totals = tally(results);
const seen = outcomes.filter(outcome => totals.get(outcome));
const problems = seen.filter(isProblem);
const usual = (problems.length ? problems : seen).map(outcome => outcome.name);
const blank = {q: '', run: '', op: '', level: '', outcome: usual, case: ''};
let state = readState();

function readState() {
  const given = new URLSearchParams(location.hash.slice(1));
  const next = {...blank};
  for (const key of ['q', 'run', 'op', 'level', 'case']) next[key] = given.get(key) ?? '';
  if (given.has('outcome')) next.outcome = given.get('outcome').split(',').filter(name => kinds[name]);
  return next;
}

function writeState() {
  const given = new URLSearchParams();
  for (const key of ['q', 'run', 'op', 'level', 'case']) if (state[key]) given.set(key, state[key]);
  if (state.outcome.join() !== usual.join()) given.set('outcome', state.outcome.join());
  const hash = given.toString();
  try {
    history.replaceState(null, '', hash ? `#${hash}` : location.pathname + location.search);
  } catch {
    // A frame without an origin has no address to keep it in.
  }
}

function change(next) {
  state = {...state, ...next};
  writeState();
  showFilters();
  showList();
}

/** Filters the list to what was clicked on above it, and goes there. */
function goTo(next) {
  change({...blank, outcome: seen.map(outcome => outcome.name), ...next});
  $('#cases').scrollIntoView({block: 'start'});
}

// ---- head, backends, findings ----

function showHead() {
  const bad = runs.filter(run => !run.conforms);
  const verdict = bad.length === 0
    ? (runs.length === 1 ? `${runs[0].label} conforms` : `All ${runs.length} runs conform`)
    : runs.length === 1 ? `${runs[0].label} does not conform`
      : `${bad.length} of ${runs.length} runs do${bad.length === 1 ? 'es' : ''} not conform`;
  $('#verdict').classList.add(bad.length ? 'bad' : 'good');
  $('#verdict').append(h('span', {class: 'sign', 'aria-hidden': 'true'}, bad.length ? '✗' : '✓'),
                       verdict);
  document.title = `QTX conformance: ${verdict}`;
  const facts = [[results.length, 'answers'], ...seen.map(o => [totals.get(o), o.label])];
  $('#about').append(...facts.flatMap(([n, label]) => [h('b', null, count(n)), ` ${label} · `]),
                     `${plural(cases.length, 'case')} of ${data.suite}`);
}

/** What made the report: a line for each run, which opens to its facts. */
function showProvenance() {
  const told = data.runs.filter(facts => facts.length);
  for (const facts of told) {
    const fact = Object.fromEntries(facts);
    $('#provenance').append(h('details', null,
      h('summary', null, `qtx ${fact.qtx.replace(/[0-9a-f]{40}/, id => id.slice(0, 12))} · ${fact.date} · ${fact.processor}`),
      h('dl', null, facts.map(([label, value]) => [h('dt', null, label), h('dd', null, value)]))));
  }
  const programs = new Set(told.map(facts => Object.fromEntries(facts).qtx));
  if (programs.size > 1) {
    $('#provenance').append(h('p', {class: 'bad'}, `These runs are of ${programs.size} commits of qtx.`));
  }
}

const runColumns = () => outcomes.filter(o => o.name === 'pass' || o.name === 'fail' ||
                                              runs.some(run => run.counts[outcomes.indexOf(o)]));

function bar(run) {
  const parts = {pass: 0, bad: 0, mute: 0};
  outcomes.forEach((o, i) => {
    parts[o.name === 'pass' ? 'pass' : isProblem(o) ? 'bad' : 'mute'] += run.counts[i];
  });
  const element = h('div', {class: 'bar', 'aria-hidden': 'true'});
  for (const part of ['pass', 'bad', 'mute']) {
    const piece = h('span', {class: part});
    piece.style.flex = `${parts[part]} 0 ${parts[part] ? '2px' : '0'}`;
    element.append(piece);
  }
  return element;
}

function runRow(run, columns) {
  const verdict = run.error !== undefined ? 'no answer' : run.conforms ? 'conforming' : 'not conforming';
  const numbers = columns.map(outcome => {
    const n = run.counts[outcomes.indexOf(outcome)];
    const tone = n === 0 ? 'zero' : isProblem(outcome) ? 'is-bad' : '';
    return h('td', {class: `n ${tone}`}, count(n));
  });
  return h('tr', {'data-run': run.key},
    h('th', {scope: 'row', title: run.label}, h('button', {type: 'button', class: 'link name',
      onclick: () => goTo({run: run.key})}, run.name), run.arithmetic ? ` ${run.arithmetic}` : ''),
    h('td', null, h('span', {class: `mark ${run.conforms ? 'good' : 'bad'}`},
                    `${run.conforms ? '✓' : '✗'} `, h('span', {class: 'word'}, verdict))),
    run.error !== undefined ? h('td', {colspan: columns.length + data.expectations.length + 1, class: 'error'}, run.error)
                            : [h('td', null, bar(run)), ...numbers, ...run.passes.map(
                                n => h('td', {class: `n ${n ? '' : 'zero'}`}, count(n)))],
    h('td', {class: 'n zero'}, count(run.not_applicable)),
    h('td', {class: 'n'}, duration(Math.round(run.seconds * 1e6))),
    h('td', {class: 'faint'}, [run.version, run.device].filter(Boolean).join(', ')));
}

const kRuns = 6;

/** Hides rows behind a button; the wrong ones come first and stay. */
function fold(rows) {
  const set = folded => {
    for (const row of rows) row.classList.toggle('folded', folded);
    button.setAttribute('aria-expanded', String(!folded));
    button.textContent = folded ? `Show ${rows.length} more, all conforming` : 'Show fewer';
  };
  const button = h('button', {type: 'button', class: 'small', onclick: () =>
    set(button.getAttribute('aria-expanded') === 'true')});
  set(true);
  $('#runs').append(h('p', {class: 'fold'}, button));
}

function showRuns() {
  const columns = runColumns();
  const head = h('tr', null, h('th', {scope: 'col'}, 'backend, arithmetic'),
    h('th', {scope: 'col'}, 'verdict'),
    h('th', {scope: 'col'}, h('span', {class: 'hide'}, 'shares')),
    columns.map(outcome => h('th', {scope: 'col', class: 'n'}, outcome.label)),
    data.expectations.map(name => h('th', {scope: 'col', class: 'n',
      title: 'passes by the source of what is expected'}, spaced(name))),
    h('th', {scope: 'col', class: 'n', title: 'cases that do not hold for this arithmetic'},
      'n/a'),
    h('th', {scope: 'col', class: 'n'}, 'time'), h('th', {scope: 'col'}, 'version, device'));
  const ordered = [...runs].sort((a, b) => a.conforms - b.conforms);
  const rows = ordered.map(run => runRow(run, columns));
  $('#runs .scroll').append(h('table', {class: 'runs'}, h('thead', null, head), h('tbody', null, rows)));
  const kept = Math.max(kRuns, runs.filter(run => !run.conforms).length);
  if (rows.length > kept + 2) fold(rows.slice(kept));
  $('#runs').hidden = false;
}

/** The first few of a finding's operators, and how many more. */
function someOf(operators) {
  const most = 8;
  if (operators.length <= most + 1) return operators.join(', ');
  return `${operators.slice(0, most).join(', ')} and ${operators.length - most} more`;
}

function findingItem(run, finding) {
  const explained = finding.candidate !== '';
  return h('li', {class: explained ? '' : 'unexplained'},
    h('p', {class: 'says'},
      h('b', {title: finding.operators.join(', ')}, someOf(finding.operators)), ': ', prose(finding.says),
      ` (${count(finding.explained)} of ${plural(finding.failing, 'wrong answer')}`,
      finding.confirmed > 0 ? `, and ${plural(finding.confirmed, 'fresh question')})` : ')'),
    finding.places.map(place => h('p', {class: 'place'},
      h('b', null, place.op), place.says === '' ? '' : `: ${place.says}`,
      place.form === '' ? '' : [h('br'), h('code', null, place.form)])),
    h('p', {class: 'of'}, run.label, explained ? [' · ', h('code', null, finding.candidate)] : ''),
    h('button', {type: 'button', class: 'small', onclick: () => goTo({
      run: run.key, op: finding.operators.join(','), outcome: problems.map(o => o.name)})},
      'Show cases'));
}

function showFindings() {
  const stale = data.stale_expectations.map(line => h('li', {class: 'unexplained'},
    h('p', {class: 'says'}, 'An expected failure matches no case of the suite: ', h('code', null, line))));
  const items = runs.flatMap(run => run.findings.map(finding => findingItem(run, finding))).concat(stale);
  $('#findings').hidden = items.length === 0;
  $('#findings ul').append(...items);
}

// ---- matrix: operators by runs ----

const cellKinds = {
  pass: {sign: '✓', says: 'all pass'},
  some: {sign: '◐', says: 'pass, or unsupported, or compared with itself'},
  none: {sign: '○', says: 'none judged: unsupported, expected to fail, or compared with itself'},
  fail: {sign: '✗', says: 'wrong answers'},
  broken: {sign: '!', says: 'no answer: crash, timeout or protocol error'},
};

/** The worst that came about decides: kind, and the number that goes with it. */
function judge(counts) {
  const sum = wanted => outcomes.reduce((n, o) => n + (wanted(o) ? counts.get(o) ?? 0 : 0), 0);
  const wrong = sum(o => o.tone === 'bad');
  const broken = sum(o => o.tone === 'warn');
  const passed = sum(o => o.name === 'pass');
  const rest = sum(o => o.tone === 'mute');
  if (wrong) return {kind: 'fail', shown: wrong + broken};
  if (broken) return {kind: 'broken', shown: broken};
  if (passed) return {kind: rest ? 'some' : 'pass', shown: passed};
  return {kind: 'none', shown: rest};
}

function matrixData() {
  const rows = new Map();
  for (const result of results) {
    if (!rows.has(result.it.op)) rows.set(result.it.op, {op: result.it.op, bad: 0, cells: new Map()});
    const row = rows.get(result.it.op);
    if (!row.cells.has(result.run)) row.cells.set(result.run, new Map());
    const cell = row.cells.get(result.run);
    cell.set(result.outcome, (cell.get(result.outcome) ?? 0) + 1);
    if (isProblem(result.outcome)) ++row.bad;
  }
  return [...rows.values()];
}

function matrixCell(row, run) {
  const counts = row.cells.get(run);
  if (!counts) return h('td', null);
  const {kind, shown} = judge(counts);
  const label = `${row.op}, ${run.label}: ${describe(counts)}`;
  const chosen = isProblem({tone: {fail: 'bad', broken: 'warn'}[kind]})
    ? problems : seen;
  const text = `${cellKinds[kind].sign} ${shown}`;
  return h('td', null, h('button', {type: 'button', class: `cell ${kind}`, tabindex: '-1',
    title: label, 'aria-label': `${text}: ${label}`, 'data-op': row.op, 'data-run': run.key,
    onclick: () => goTo({run: run.key, op: row.op, outcome: chosen.map(o => o.name)})}, text));
}

function matrixRow(row, columns) {
  return h('tr', null,
    h('th', {scope: 'row'}, h('button', {type: 'button', tabindex: '-1',
      title: row.op, onclick: () => goTo({op: row.op})}, row.op)),
    h('td', null, h('span', {class: 'cell sum'}, row.bad ? count(row.bad) : '')),
    columns.map(run => matrixCell(row, run)));
}

const orders = {
  op: {ascending: (a, b) => a.op < b.op ? -1 : 1, descending: (a, b) => a.op < b.op ? 1 : -1},
  bad: {ascending: (a, b) => a.bad - b.bad || orders.op.ascending(a, b),
        descending: (a, b) => b.bad - a.bad || orders.op.ascending(a, b)},
};

function sortMatrix(table, rows, columns, key, direction) {
  for (const head of table.querySelectorAll('[data-sort]')) {
    if (head.dataset.sort === key) head.setAttribute('aria-sort', direction);
    else head.removeAttribute('aria-sort');
  }
  table.tBodies[0].replaceChildren(
    ...rows.sort(orders[key][direction]).map(row => matrixRow(row, columns)));
  const first = $('button', table.tBodies[0]);
  if (first) first.tabIndex = 0;
}

function showMatrix() {
  const rows = matrixData();
  const columns = runs.filter(run => run.results.length);
  if (rows.length === 0) return;
  const table = h('table', {class: `matrix ${columns.length > 8 ? 'many' : ''}`});
  const sorter = (key, label, usualDirection) => h('th', {scope: 'col', 'data-sort': key},
    h('button', {type: 'button', class: 'sort', onclick: event => {
      const now = event.target.closest('th').getAttribute('aria-sort');
      const other = now === 'ascending' ? 'descending' : 'ascending';
      sortMatrix(table, rows, columns, key, now ? other : usualDirection);
    }}, label));
  table.append(
    h('thead', null, h('tr', null, sorter('op', 'operator', 'ascending'),
      sorter('bad', 'wrong', 'descending'),
      columns.map(run => h('th', {scope: 'col', class: 'run'},
        h('button', {type: 'button', title: run.label, onclick: () => goTo({run: run.key})},
          run.label))))),
    h('tbody'));
  sortMatrix(table, rows, columns, problems.length ? 'bad' : 'op',
             problems.length ? 'descending' : 'ascending');
  table.addEventListener('keydown', moveInMatrix);
  $('#matrix .scroll').append(table);
  $('#matrix-legend').append(...Object.entries(cellKinds).map(([kind, {sign, says}]) =>
    h('span', null, h('span', {class: `cell ${kind}`}, sign), ` ${says}`)));
  $('#matrix').hidden = false;
}

/** One stop for the Tab key, arrows within. */
function moveInMatrix(event) {
  const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
  const cell = event.target.closest('tbody td, tbody th');
  if (!step || !cell) return;
  event.preventDefault();
  const body = cell.closest('tbody');
  let row = cell.parentElement.sectionRowIndex;
  let column = cell.cellIndex;
  for (;;) {
    row += step[0];
    column += step[1];
    const next = body.rows[row]?.cells[column];
    if (!next) return;
    const button = $('button', next);
    if (!button) continue;
    event.target.tabIndex = -1;
    button.tabIndex = 0;
    button.focus();
    return;
  }
}

// ---- filters ----

const form = $('.filters');

function options(select, all, values) {
  select.replaceChildren(h('option', {value: ''}, all),
                         ...values.map(([value, label]) => h('option', {value}, label)));
}

function setUpFilters() {
  const unique = values => [...new Set(values)].filter(Boolean).sort().map(value => [value, value]);
  options(form.run, 'all', runs.map(run => [run.key, run.label]));
  options(form.op, 'all', unique(cases.map(it => it.op)));
  options(form.level, 'all', unique(cases.map(it => it.level)));
  $('fieldset', form).append(...seen.map(outcome => h('label', {class: `mark ${outcome.tone}`},
    h('input', {type: 'checkbox', name: 'outcome', value: outcome.name}),
    h('span', null, `${outcome.sign} ${outcome.label} `), count(totals.get(outcome)))));
  form.addEventListener('input', () => change({
    q: form.q.value, run: form.run.value, op: form.op.value, level: form.level.value, case: '',
    outcome: [...form.querySelectorAll('[name=outcome]:checked')].map(box => box.value)}));
  form.addEventListener('reset', event => {
    event.preventDefault();
    change(blank);
  });
  form.addEventListener('submit', event => event.preventDefault());
}

function showFilters() {
  if (form.q.value !== state.q) form.q.value = state.q;
  for (const key of ['run', 'op', 'level']) {
    const select = form[key];
    // Several operators at once come from a finding or from a link.
    if (state[key] && ![...select.options].some(option => option.value === state[key])) {
      select.append(h('option', {value: state[key]}, state[key].replaceAll(',', ', ')));
    }
    select.value = state[key];
  }
  for (const box of form.querySelectorAll('[name=outcome]')) {
    box.checked = state.outcome.includes(box.value);
  }
}

// ---- list ----

const list = $('.list');
const moreButton = $('.more button');
const kStep = 60;
let matching = [];
let shown = 0;

const haystacks = cases.map(it =>
  [it.id, it.spec, it.op, it.level, it.why, it.tags.join(' '), it.where].join('\n').toLowerCase());
const diagnosisHaystacks = new Map();

function diagnosisHaystack(index) {
  if (index === undefined) return '';
  if (!diagnosisHaystacks.has(index)) diagnosisHaystacks.set(index, text(index).toLowerCase());
  return diagnosisHaystacks.get(index);
}

function filtered() {
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  const ops = new Set(state.op.split(',').filter(Boolean));
  const wanted = new Set(state.outcome);
  return results.filter(result => wanted.has(result.outcome.name) &&
    (!state.run || result.run.key === state.run) && (!ops.size || ops.has(result.it.op)) &&
    (!state.level || result.it.level === state.level) &&
    words.every(word => haystacks[result.index].includes(word) ||
                        diagnosisHaystack(result.diagnosis).includes(word)));
}

function listItem(result) {
  const {it, outcome} = result;
  const id = `d${result.number}`;
  const diagnosis = result.diagnosis === undefined ? '' : text(result.diagnosis);
  const facts = [it.op, runs.length > 1 ? result.run.label : '', it.spec].filter(Boolean).join(' · ');
  const button = h('button', {type: 'button', class: 'row', 'aria-expanded': 'false',
    'aria-controls': id, onclick: () => toggle(item, result)},
    h('span', null, h('span', {class: `mark ${outcome.tone}`}, `${outcome.sign} ${outcome.label}`)),
    h('span', {class: 'id'}, it.id), h('span', {class: 'facts'}, facts),
    diagnosis ? h('span', {class: 'short'}, prose(diagnosis)) : null);
  const item = h('li', {'data-key': keyOf(result)}, h('h3', null, button),
                 h('div', {class: 'detail', id, hidden: true}));
  return item;
}

function toggle(item, result, open = !item.classList.contains('open')) {
  const detail = $('.detail', item);
  item.classList.toggle('open', open);
  $('.row', item).setAttribute('aria-expanded', String(open));
  detail.hidden = !open;
  if (open && !detail.hasChildNodes()) showDetail(detail, result);
  state = {...state, case: open ? keyOf(result) : ''};
  writeState();
}

function showMore() {
  const next = matching.slice(shown, shown + kStep);
  list.append(...next.map(listItem));
  shown += next.length;
  moreButton.hidden = shown >= matching.length;
  moreButton.textContent = `Show more (${count(matching.length - shown)} left)`;
}

function showList() {
  matching = filtered();
  shown = 0;
  list.replaceChildren();
  showMore();
  const all = matching.length === results.length ? '' : ` of ${count(results.length)}`;
  $('.count').textContent = matching.length
    ? `${count(matching.length)}${all} answers` : 'No answer matches these filters.';
}

/** Opens the case the address names, whatever the filters. */
function openNamed() {
  if (!state.case) return;
  const result = results.find(candidate => keyOf(candidate) === state.case);
  if (!result) return;
  if (!matching.includes(result)) {
    state = {...blank, outcome: [result.outcome.name], case: state.case};
    showFilters();
    showList();
  }
  while (matching.indexOf(result) >= shown) showMore();
  const item = list.children[matching.indexOf(result)];
  toggle(item, result, true);
  item.scrollIntoView({block: 'start'});
}

function moveInList(event) {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  if (!event.target.classList.contains('row')) return;
  event.preventDefault();
  const item = event.target.closest('li');
  if (event.key === 'ArrowDown' && !item.nextElementSibling) showMore();
  const next = event.key === 'ArrowDown' ? item.nextElementSibling : item.previousElementSibling;
  if (next) $('.row', next).focus();
}

// ---- one case ----

function command(result) {
  const suite = /(conformance|qtx)\/cases\/?$/.test(data.suite) ? '' : ` --suite ${quoted(data.suite)}`;
  const arithmetic = result.run.arithmetic ? ` --arithmetic ${quoted(result.run.arithmetic)}` : '';
  return `qtx validate${suite} --backend ${quoted(result.run.source || result.run.name)}` +
         `${arithmetic} --filter '${result.it.id.replaceAll("'", "'\\''")}'`;
}

async function copy(code, button) {
  try {
    await navigator.clipboard.writeText(code.textContent);
  } catch {
    getSelection().selectAllChildren(code);
    document.execCommand('copy');
  }
  button.textContent = 'Copied';
  setTimeout(() => { button.textContent = 'Copy'; }, 1500);
}

function commandBlock(result) {
  const code = h('code', {class: 'reproduce'}, command(result));
  return h('div', {class: 'command'}, h('span', {class: 'faint'}, 'Reproduce'), h('pre', null, code),
    h('button', {type: 'button', class: 'small', onclick: event => copy(code, event.target)}, 'Copy'));
}

/** Name and value pairs; the first, the reason of the case, has a line of its own. */
function facts(result) {
  const {it, run} = result;
  const diagnosis = result.diagnosis === undefined ? '' : text(result.diagnosis);
  const equals = (result.detail.explained_by ?? []).filter(name => !diagnosis.includes(`\`${name}\``));
  const entries = [
    ['Why', it.why], ['Clause', it.spec], ['Where', it.where], ['Operator', it.op],
    ['Level', it.level], ['Tags', it.tags.length ? it.tags.map(tag => h('code', {class: 'tag'}, tag)) : ''],
    ['Backend', run.label], ['Expectation from', result.expectation], ['Time', duration(result.time)],
    ['Equals', equals.map(name => h('code', {class: 'tag'}, name))],
  ];
  return h('dl', null, entries.filter(([, value]) => value.length)
    .map(([name, value]) => h('div', null, h('dt', null, name),
      h('dd', null, typeof value === 'string' ? prose(value) : value))));
}

function showDetail(root, result) {
  const {detail} = result;
  const differences = detail.differences ?? [];
  const diagnosis = result.diagnosis === undefined ? '' : text(result.diagnosis);
  root.append(...[
    diagnosis ? h('p', {class: 'diagnosis'}, prose(diagnosis)) : null,
    facts(result), commandBlock(result)].filter(Boolean));
  for (const difference of differences) showDifference(root, difference);
  if (detail.inputs?.length) {
    root.append(h('h4', null, 'Inputs'),
                h('div', {class: 'tensors'}, detail.inputs.map(tensor => tensorFigure(tensor, 'input'))));
  } else if (differences.length && !detail.inputs) {
    root.append(h('p', {class: 'faint'}, 'Inputs and whole outputs are not on this page, which ' +
      'keeps those of the smallest wrong answers only.'));
  }
  if (detail.error_output) {
    root.append(h('h4', null, 'Error output of the process'),
                h('pre', {class: 'output-text', tabindex: '0'}, detail.error_output));
  }
}

function showDifference(root, difference) {
  const name = ['Output ', h('code', null, difference.output)];
  if (difference.mismatch) {
    root.append(h('h4', null, name, ` has ${difference.mismatch}`));
    if (difference.tensor && difference.instead) {
      root.append(h('div', {class: 'tensors'}, tensorFigure(difference.tensor, 'expected'),
                    tensorFigure(difference.instead, 'got')));
    }
    return;
  }
  root.append(h('h4', null, name,
    `: ${count(difference.differing)} of ${count(difference.elements)} elements differ` +
    (difference.tolerance ? ` by more than ${difference.tolerance}` : '')));
  const values = difference.at ? new Deltas(difference) : null;
  root.append(h('div', {class: 'figures'}, values ? heatMap(values) : firstElements(difference),
                histogram(difference, values)));
  if (values) root.append(tensorPair(values));
}

function firstElements(difference) {
  return h('figure', null, h('figcaption', null, 'First differing elements'),
    h('table', {class: 'elements'},
      h('thead', null, h('tr', null, ['element', 'got', 'expected'].map(
        name => h('th', {scope: 'col'}, name)))),
      h('tbody', null, difference.first.map(([index, got, want]) => h('tr', null,
        h('th', {scope: 'row'}, String(index)), h('td', null, got), h('td', null, want))))));
}

/** What differs, by element. */
class Deltas {
  constructor(difference) {
    this.difference = difference;
    this.tensor = difference.tensor;
    this.dims = difference.tensor.dims;
    this.elements = difference.elements;
    this.slot = new Map(difference.at.map((element, i) => [element, i]));
  }
  /** got - expected; 0 where equal, null where only one is NaN. */
  delta(i) {
    const slot = this.slot.get(i);
    return slot === undefined ? 0 : this.difference.delta[slot];
  }
  want(i) {
    const slot = this.slot.get(i);
    return slot === undefined ? this.tensor.data[i] : this.difference.want[slot];
  }
  got(i) {
    const slot = this.slot.get(i);
    return slot === undefined ? this.tensor.data[i] : this.difference.got[slot];
  }
  /** Whether the tolerance lets the difference pass. */
  allowed(i) {
    return Boolean(this.difference.allowed?.[this.slot.get(i)]);
  }
  /** 'minus', 'plus', 'nan', or '' for equal and for within the tolerance. */
  sign(i) {
    const delta = this.delta(i);
    if (delta === null) return 'nan';
    if (delta === 0 || this.allowed(i)) return '';
    return delta < 0 ? 'minus' : 'plus';
  }
  first() {
    return this.difference.at.find(i => this.sign(i)) ?? 0;
  }
  most() {
    return this.difference.delta.reduce((most, delta) => Math.max(most, Math.abs(delta ?? 0)), 1);
  }
}

// ---- indices and real values ----

function coordinates(index, dims) {
  const result = [];
  for (let axis = dims.length - 1; axis >= 0; --axis) {
    result.unshift(index % dims[axis]);
    index = Math.floor(index / dims[axis]);
  }
  return result;
}

/** scale * (stored - offset), or undefined where the page lacks the parameters. */
function realValue(tensor, index, stored) {
  if (!tensor.scale?.length || typeof stored !== 'number') return undefined;
  const at = coordinates(index, tensor.dims);
  let parameter = 0;
  (tensor.axis ?? []).forEach((axis, i) => {
    const block = tensor.block?.[i] ?? 1;
    parameter = parameter * Math.ceil(tensor.dims[axis] / block) + Math.floor(at[axis] / block);
  });
  const scale = tensor.scale[tensor.scale.length === 1 ? 0 : parameter];
  const offset = tensor.offset?.length === 1 ? tensor.offset[0] : tensor.offset?.[parameter] ?? 0;
  return scale === undefined ? undefined : Math.fround(scale) * (stored - offset);
}

function readOut(values, i) {
  const {tensor, difference} = values;
  const show = value => {
    if (value === undefined) return 'unknown';
    const real = realValue(tensor, i, value);
    return number(value) + (real === undefined ? '' : ` (${Number(real.toPrecision(7))})`);
  };
  const delta = values.delta(i);
  const distance = delta === 0 ? 'equal' : delta === null ? 'only one is NaN'
    : `${signed(delta)} ${difference.unit}`;
  return `[${coordinates(i, values.dims).join(', ')}] got ${show(values.got(i))}, ` +
         `expected ${show(values.want(i))}, ${distance}`;
}

// ---- heat map ----

const kMaxTiles = 48;
const kMaxSide = 224;
const kWrap = 32;

/** Slices over the last two axes: where each starts and its size; a long vector is folded. */
function tiling(values) {
  const {dims, elements} = values;
  const last = dims.at(-1) ?? 1;
  const height = dims.length >= 3 ? dims.at(-2) : elements / Math.max(last, 1);
  const flat = dims.length < 3 && height <= 2 && last > kWrap;
  const columns = flat ? kWrap : last;
  const rows = flat ? Math.ceil(elements / kWrap) : height;
  const size = flat ? elements : last * height;
  const tiles = Array.from({length: Math.round(elements / Math.max(size, 1))}, (_, i) => i * size);
  const used = new Set(values.difference.at.map(i => Math.floor(i / size) * size));
  const kept = (tiles.length > kMaxTiles ? tiles.filter(start => used.has(start)) : tiles)
    .slice(0, kMaxTiles);
  return {columns, rows, size, total: tiles.length, starts: kept};
}

const channels = color => color.match(/\w\w/g).map(hex => parseInt(hex, 16));
function palette() {
  const style = getComputedStyle(document.documentElement);
  const read = name => {
    const value = style.getPropertyValue(name).trim().slice(1);
    return channels(value.length === 3 ? value.replace(/./g, '$&$&') : value);
  };
  return {minus: read('--minus'), zero: read('--zero'), plus: read('--plus'), nan: read('--nan'),
          ink: style.getPropertyValue('--text'), ground: style.getPropertyValue('--ground')};
}

/** Logarithmic, so that 1 shows beside 255; never so pale that it passes for equal or allowed. */
function strength(delta, most) {
  return 0.35 + 0.65 * Math.log2(1 + Math.abs(delta)) / Math.log2(1 + most);
}

function colorOf(delta, most, allowed, colors) {
  if (delta === 0) return `rgb(${colors.zero})`;
  if (delta === null) return `rgb(${colors.nan})`;
  const t = allowed ? 0.15 : strength(delta, most);
  const end = delta < 0 ? colors.minus : colors.plus;
  return `rgb(${colors.zero.map((from, i) => Math.round(from + t * (end[i] - from)))})`;
}

class Tile {
  constructor(values, layout, start, side, report) {
    Object.assign(this, {values, layout, start, side, report, cursor: null});
    this.columns = Math.min(layout.columns, kMaxSide);
    this.rows = Math.min(layout.rows, kMaxSide);
    this.canvas = h('canvas', {tabindex: '0', role: 'img', 'aria-label': this.label(),
      onpointermove: event => this.point(event), onpointerdown: event => this.point(event),
      onpointerleave: () => this.moveTo(null), onkeydown: event => this.key(event),
      onblur: () => this.moveTo(null)});
    this.draw();
  }
  label() {
    const size = `${this.rows} by ${this.columns} elements`;
    return `Difference map, ${size}; arrow keys read the elements, Home the first that differs`;
  }
  index(row, column) {
    const i = this.start + row * this.layout.columns + column;
    return i < this.values.elements ? i : null;
  }
  draw() {
    const colors = palette();
    const most = this.values.most();
    const ratio = Math.max(1, Math.round(devicePixelRatio || 1));
    const {canvas, side} = this;
    canvas.width = this.columns * side * ratio;
    canvas.height = this.rows * side * ratio;
    canvas.style.width = `${this.columns * side}px`;
    const pen = canvas.getContext('2d');
    pen.scale(ratio, ratio);
    const gap = side >= 6 ? 1 : 0;
    for (let row = 0; row < this.rows; ++row) {
      for (let column = 0; column < this.columns; ++column) {
        const i = this.index(row, column);
        if (i !== null) this.paint(pen, i, column * side, row * side, side - gap, colors, most);
      }
    }
    this.paintCursor(pen, colors);
  }
  paint(pen, i, x, y, side, colors, most) {
    const delta = this.values.delta(i);
    pen.fillStyle = colorOf(delta, most, this.values.allowed(i), colors);
    pen.fillRect(x, y, side, side);
    const sign = this.values.sign(i);
    if (!sign || side < 11) return;
    const strong = delta === null || strength(delta, most) > 0.6;
    pen.fillStyle = strong ? colors.ground : colors.ink;
    pen.font = `bold ${Math.round(side * 0.75)}px system-ui, sans-serif`;
    pen.textAlign = 'center';
    pen.textBaseline = 'middle';
    pen.fillText({minus: '\u2212', plus: '+', nan: '×'}[sign], x + side / 2, y + side / 2 + 0.5);
  }
  paintCursor(pen, colors) {
    if (!this.cursor) return;
    const [row, column] = this.cursor;
    pen.strokeStyle = colors.ink;
    pen.lineWidth = 2;
    pen.strokeRect(column * this.side + 1, row * this.side + 1, this.side - 2, this.side - 2);
  }
  moveTo(cursor) {
    const i = cursor && this.index(...cursor);
    if (cursor && i === null) return;
    this.cursor = cursor;
    this.draw();
    if (cursor) this.report(i);
  }
  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top) / box.height * this.rows);
    const column = Math.floor((event.clientX - box.left) / box.width * this.columns);
    if (row >= 0 && column >= 0 && row < this.rows && column < this.columns) this.moveTo([row, column]);
  }
  key(event) {
    const [row, column] = this.cursor ?? [0, 0];
    const next = {ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
                  ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], Home: this.first()}[event.key];
    if (!next) return;
    event.preventDefault();
    const inside = next[0] >= 0 && next[1] >= 0 && next[0] < this.rows && next[1] < this.columns;
    if (inside) this.moveTo(this.cursor || event.key === 'Home' ? next : [row, column]);
  }
  first() {
    const {difference} = this.values;
    const i = difference.at.find(at => at >= this.start && at < this.start + this.layout.size);
    const offset = (i ?? this.start) - this.start;
    return [Math.floor(offset / this.layout.columns), offset % this.layout.columns];
  }
}

const drawn = new Set();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const tile of drawn) tile.draw();
});

function sideOf(layout) {
  const room = layout.starts.length > 1 ? 150 : Math.min(520, innerWidth - 90);
  return Math.max(2, Math.min(layout.starts.length > 1 ? 18 : 24, Math.floor(room / layout.columns)));
}

function heatMap(values) {
  const layout = tiling(values);
  const side = sideOf(layout);
  const read = h('output', {class: 'read num'}, 'Point at an element, or use the arrow keys.');
  const report = i => { read.textContent = readOut(values, i); };
  const tiles = layout.starts.map(start => {
    const tile = new Tile(values, layout, start, side, report);
    drawn.add(tile);
    const prefix = coordinates(start, values.dims).slice(0, -2);
    return h('div', {class: 'tile'}, layout.total > 1 ? h('span', null, `[${prefix.join(', ')}]`) : null,
             tile.canvas);
  });
  const left = layout.total - layout.starts.length;
  const cut = layout.rows > kMaxSide || layout.columns > kMaxSide;
  const notes = ['Difference, got − expected', left ? `${plural(left, 'slice')} not shown` : '',
                 cut ? `the first ${kMaxSide} rows and columns` : '',
                 values.difference.differing > values.difference.at.length
                   ? `the first ${count(values.difference.at.length)} that differ` : ''];
  return h('figure', {class: 'heat'}, h('figcaption', null, notes.filter(Boolean).join('; ')),
           h('div', {class: 'tiles'}, tiles), scaleLegend(values), read);
}

function scaleLegend(values) {
  const most = compact(values.most());
  const {unit} = values.difference;
  return h('div', {class: 'scale'}, h('span', null, `−${most}`),
           h('i', {role: 'img', 'aria-label': 'colour scale, logarithmic: blue is too low, orange too high'}),
           h('span', null, `+${most} ${unit}`));
}

// ---- histogram ----

/** [[distance, elements]] of all that differ, as far as the report knows them. */
function distances(difference, values) {
  if (!values || difference.differing > difference.at.length) return difference.histogram;
  const counts = new Map();
  for (const i of difference.at) {
    if (values.sign(i) === '' || values.delta(i) === null) continue;
    counts.set(values.delta(i), (counts.get(values.delta(i)) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => a[0] - b[0]);
}

/** Bins: each distance while they are near each other, else powers of two on both sides of 0. */
function bins(entries) {
  const low = Math.min(-1, ...entries.map(([distance]) => distance));
  const high = Math.max(1, ...entries.map(([distance]) => distance));
  if (high - low <= 24) {
    return Array.from({length: high - low + 1}, (_, i) => ({
      label: signed(low + i), sign: Math.sign(low + i),
      n: entries.find(([distance]) => distance === low + i)?.[1] ?? 0}));
  }
  const power = distance => distance === 0 ? 0 : Math.sign(distance) * (1 + Math.floor(Math.log2(Math.abs(distance))));
  const first = power(low);
  const result = Array.from({length: power(high) - first + 1}, (_, i) => {
    const p = first + i;
    return {label: p === 0 ? '0' : (p > 0 ? '+' : '\u2212') + compact(2 ** (Math.abs(p) - 1)),
            sign: Math.sign(p), n: 0};
  });
  for (const [distance, n] of entries) result[power(distance) - first].n += n;
  return result;
}

function histogram(difference, values) {
  const entries = distances(difference, values);
  if (entries.length === 0) return h('figure', null, h('figcaption', null, 'No distances: NaN differs'));
  const bars = bins(entries);
  const total = entries.reduce((sum, [, n]) => sum + n, 0);
  const powers = bars.at(-1).label !== signed(bars.length - 1 + Number(bars[0].label.replace('\u2212', '-')));
  const nans = values ? difference.delta.filter(delta => delta === null).length : 0;
  const rest = difference.differing - total - nans;
  const caption = `Elements by got − expected, ${difference.unit}` +
    (powers ? ', in powers of two' : '') + (nans ? `; ${count(nans)} where only one is NaN` : '') +
    (rest > 0 ? `; ${count(rest)} more not counted here` : '');
  return h('figure', {class: 'histogram'}, h('figcaption', null, caption), chart(bars, difference.unit));
}

function niceStep(most) {
  const raw = most / 3;
  const base = 10 ** Math.floor(Math.log10(Math.max(raw, 1)));
  return Math.max(1, [1, 2, 5, 10].map(m => m * base).find(step => step >= raw));
}

function chart(bars, unit) {
  const [width, height, left, bottom, top] = [380, 190, 44, 40, 16];
  const step = niceStep(Math.max(...bars.map(({n}) => n)));
  const most = Math.ceil(Math.max(...bars.map(({n}) => n)) / step) * step;
  const x = i => left + (i + 0.5) * (width - left) / bars.length;
  const y = n => height - bottom - n / most * (height - bottom - top);
  const wide = Math.min(34, (width - left) / bars.length * 0.72);
  const every = Math.ceil(bars.length / 12);
  const zero = Math.max(0, bars.findIndex(({sign}) => sign === 0));
  const root = svg('svg', {class: 'chart', viewBox: `0 0 ${width} ${height}`, role: 'img',
    'aria-label': bars.filter(({n}) => n).map(({label, n}) => `${label} ${unit}: ${n}`).join('; ')});
  for (let n = 0; n <= most; n += step) {
    root.append(svg('line', {class: n ? 'grid' : '', x1: left, x2: width, y1: y(n), y2: y(n)}),
                svg('text', {x: left - 6, y: y(n) + 4, 'text-anchor': 'end'}, count(n)));
  }
  bars.forEach(({label, sign, n}, i) => {
    root.append(svg('rect', {class: sign < 0 ? 'minus' : 'plus', x: x(i) - wide / 2, y: y(n),
      width: wide, height: y(0) - y(n), 'data-label': label, 'data-count': n},
      svg('title', null, `${label} ${unit}: ${plural(n, 'element')}`)));
    if (n && bars.length <= 16) {
      root.append(svg('text', {class: 'count', x: x(i), y: y(n) - 4, 'text-anchor': 'middle'}, count(n)));
    }
    if ((i - zero) % every === 0) {
      root.append(svg('text', {x: x(i), y: height - bottom + 15, 'text-anchor': 'middle'}, label));
    }
  });
  root.append(svg('text', {x: (left + width) / 2, y: height - 6, 'text-anchor': 'middle'},
                  `got − expected (${unit})`),
              svg('text', {x: 12, y: (height - bottom + top) / 2, 'text-anchor': 'middle',
                           transform: `rotate(-90 12 ${(height - bottom + top) / 2})`}, 'elements'));
  return root;
}

// ---- tensors ----

const kLines = 24;

/** A scale as it reads best: a power of two as such, else the shortest decimal. */
function scaleText(value) {
  const power = Math.log2(Math.fround(value));
  return Number.isInteger(power) && Math.abs(power) > 6 ? `2^${power}` : number(value);
}

function parameters(values, name, axis) {
  if (!values?.length) return '';
  const shownValues = values.slice(0, 6).map(name === 'scale' ? scaleText : number).join(', ') + (values.length > 6 ? ', …' : '');
  if (values.length === 1) return ` · ${name} ${shownValues}`;
  return ` · ${name} [${shownValues}] (${values.length}) along axis ${(axis ?? []).join(', ')}`;
}

function tensorCaption(tensor, role) {
  return h('figcaption', null, h('b', null, role === 'input' ? tensor.name : role),
    ` ${tensor.type} [${tensor.dims.join(', ')}]`, parameters(tensor.scale, 'scale', tensor.axis),
    parameters(tensor.offset, 'offset', tensor.axis),
    tensor.block?.some(size => size !== 1) ? ` · blocks of ${tensor.block.join(' by ')}` : '',
    tensor.min !== undefined || tensor.max !== undefined
      ? ` · range ${tensor.min ?? ''}..${tensor.max ?? ''}` : '');
}

/** Lines of a tensor: rows along the last axis, those too long to read folded. */
function linesOf(dims, elements, longest) {
  const last = dims.at(-1) ?? 1;
  const fold = longest <= 5 ? 16 : longest <= 10 ? 8 : 4;
  const width = last <= fold + fold / 2 ? Math.max(last, 1) : fold;
  const perRow = Math.max(1, Math.ceil(last / width));
  const lines = last === 0 ? 0 : Math.round(elements / last) * perRow;
  return {width, lines, lineOf: i => Math.floor(i / last) * perRow + Math.floor(i % last / width),
          span: line => {
            const from = Math.floor(line / perRow) * last + line % perRow * width;
            return [from, Math.min(from + width, (Math.floor(line / perRow) + 1) * last)];
          },
          folded: perRow > 1};
}

function lineLabel(index, dims, folded) {
  const at = coordinates(index, dims);
  if (dims.length === 0) return '';
  at[at.length - 1] = folded ? `${at.at(-1)}…` : '·';
  return `[${at.join(', ')}]`;
}

function tensorTable(dims, layout, from, valueAt, classAt) {
  const lines = Array.from({length: Math.min(kLines, layout.lines - from)}, (_, i) => from + i);
  return h('table', null, h('tbody', null, lines.map(line => {
    const [begin, end] = layout.span(line);
    const cells = Array.from({length: end - begin}, (_, i) => begin + i);
    return h('tr', null, h('th', {scope: 'row'}, lineLabel(begin, dims, layout.folded)),
      cells.map(i => h('td', {class: classAt(i) || null}, valueAt(i) === undefined ? '…' : number(valueAt(i)))));
  })));
}

/** Figures that page through their lines together. */
function pagedFigures(layout, start, figures) {
  let from = Math.max(0, Math.min(start, layout.lines - kLines));
  const holders = figures.map(() => h('div', {class: 'tensor'}));
  const where = h('span', {class: 'faint', role: 'status'});
  const show = () => {
    holders.forEach((holder, i) => {
      holder.replaceChildren(figures[i].table(from));
    });
    where.textContent = `lines ${from + 1} to ${Math.min(from + kLines, layout.lines)} of ${layout.lines}`;
    back.disabled = from === 0;
    next.disabled = from + kLines >= layout.lines;
  };
  const go = step => () => {
    from = Math.max(0, Math.min(from + step, layout.lines - 1));
    show();
  };
  const back = h('button', {type: 'button', class: 'small', onclick: go(-kLines)}, 'Previous');
  const next = h('button', {type: 'button', class: 'small', onclick: go(kLines)}, 'Next');
  show();
  return h('div', null, layout.lines > kLines ? h('div', {class: 'pages'}, back, next, where) : null,
    h('div', {class: 'tensors'}, figures.map(({caption, name}, i) => {
      setProps(holders[i], {tabindex: '0', role: 'group', 'aria-label': name});
      return h('figure', {'data-role': name}, caption, holders[i]);
    })));
}

const longestOf = values => values.reduce((most, value) => Math.max(most, number(value).length), 1);

function tensorFigure(tensor, role) {
  if (tensor.data.length === 0) return h('figure', null, tensorCaption(tensor, role));
  const elements = tensor.dims.reduce((product, dim) => product * dim, 1);
  const layout = linesOf(tensor.dims, elements, longestOf(tensor.data));
  return pagedFigures(layout, 0, [{name: role === 'input' ? tensor.name : role,
    caption: tensorCaption(tensor, role),
    table: from => tensorTable(tensor.dims, layout, from, i => tensor.data[i], () => '')}]);
}

function tensorPair(values) {
  const {tensor, dims} = values;
  const longest = Math.max(longestOf(tensor.data), longestOf(values.difference.got));
  const layout = linesOf(dims, values.elements, longest + 1);
  const figure = (name, valueAt) => ({name, caption: tensorCaption(tensor, name),
    table: from => tensorTable(dims, layout, from, valueAt, i => values.sign(i))});
  return pagedFigures(layout, Math.max(0, layout.lineOf(values.first()) - 2),
    [figure('got', i => values.got(i)), figure('expected', i => values.want(i))]);
}

// ---- start ----

function start() {
  showHead();
  showProvenance();
  showFindings();
  showRuns();
  showMatrix();
  setUpFilters();
  $('#cases').hidden = results.length === 0;
  moreButton.addEventListener('click', showMore);
  new IntersectionObserver(entries => {
    if (entries.some(entry => entry.isIntersecting) && shown < matching.length) showMore();
  }, {rootMargin: '400px'}).observe($('.more'));
  list.addEventListener('keydown', moveInList);
  document.addEventListener('keydown', event => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || /INPUT|SELECT/.test(event.target.tagName)) return;
    event.preventDefault();
    form.q.focus();
  });
  $('.skip').addEventListener('click', event => {
    event.preventDefault();
    $('#cases').focus();
  });
  addEventListener('hashchange', () => {
    state = readState();
    showFilters();
    showList();
    openNamed();
  });
  showFilters();
  showList();
  openNamed();
}
start();
