// Shows the model in #data (its keys: html.cc): what looks wrong, errors of a report, the graph, and beside
// it the nodes in their order, with a histogram of each value, the range of its type and its channels.

const shownFindings = 12;
const outlierRatio = 8;  // as in findings.cc

const values = new Map(data.values.map(value => [value.name, value]));
const findingsOf = new Map();
for (const finding of data.findings) {
  if (!findingsOf.has(finding.value)) findingsOf.set(finding.value, []);
  findingsOf.get(finding.value).push(finding);
}

// What `qtx quantize --report` says of values: its keys are those of its JSON.
const layers = data.report?.layers ?? [];
const reportOf = new Map([...layers.flatMap(layer => [layer.output, layer.weights, layer.bias]), ...(data.report?.outputs ?? [])]
  .filter(Boolean).map(report => [report.name, report]));

/** Six digits, without noise. */
function real(x) {
  if (x === null || x === undefined) return '?';
  if (x === 0) return '0';
  const size = Math.abs(x);
  return size >= 1e6 || size < 1e-4 ? x.toExponential(3).replace('e+', 'e') : String(Number(x.toPrecision(5)));
}

function spread(list) {
  const low = list.reduce((a, b) => Math.min(a, b), Infinity);
  const high = list.reduce((a, b) => Math.max(a, b), -Infinity);
  return low === high ? real(low) : `${real(low)} … ${real(high)}`;
}

const lowestOf = list => list.reduce((a, b) => Math.min(a, b), Infinity);
const highestOf = list => list.reduce((a, b) => Math.max(a, b), -Infinity);

// ---- figures ----

/** The reals that a figure of `value` spans: extremes, histogram, zero, and the range of its type. A range
    far beyond what was seen, as a bias has it, would hide that: it is left out, and `ranged` false. */
function span(value) {
  const seen = [0];
  for (const key of ['lowest', 'highest']) if (value[key]) seen.push(lowestOf(value[key]), highestOf(value[key]));
  if (value.histogram) seen.push(value.histogram.lower, value.histogram.upper);
  let [low, high] = [lowestOf(seen), highestOf(seen)];
  const [lower, upper] = value.lower ? [lowestOf(value.lower), highestOf(value.upper)] : [0, 0];
  const ranged = Boolean(value.lower) && (seen.length === 1 || upper - lower < 32 * (high - low));
  if (ranged) [low, high] = [Math.min(low, lower), Math.max(high, upper)];
  if (low === high) [low, high] = [low - 1, high + 1];
  return {low, high, ranged};
}

/** Bars of the histogram as paths, those inside the range and those beyond it. Heights are square
    roots of the counts, so that tails are seen; one bar far above all others, as the zeros of a Relu are,
    is cut off. */
function bars(value, x, bottom, height) {
  const {lower, upper, counts} = value.histogram;
  const width = (upper - lower) / counts.length;
  const [first, second] = [...counts].sort((a, b) => b - a);
  const most = Math.sqrt(second > 0 && first > 9 * second ? 2 * second : first) || 1;
  const [low, high] = value.lower ? [lowestOf(value.lower), highestOf(value.upper)] : [-Infinity, Infinity];
  const paths = {in: '', out: ''};
  counts.forEach((n, i) => {
    if (n === 0) return;
    const left = lower + i * width;
    const tall = Math.min(height, Math.max(1, Math.sqrt(n) / most * height));
    const wide = Math.max(.6, x(left + width) - x(left));
    const where = left + width <= low || left >= high ? 'out' : 'in';
    paths[where] += `M${x(left).toFixed(2)} ${bottom}v${-tall.toFixed(2)}h${wide.toFixed(2)}V${bottom}z`;
  });
  return [paths.in && svg('path', {class: 'bars', d: paths.in}), paths.out && svg('path', {class: 'bars out', d: paths.out})]
    .filter(Boolean);
}

function mini(value) {
  const known = value && (value.histogram || value.lowest || value.lower);
  const figure = svg('svg', {class: 'mini', viewBox: '0 0 140 22', 'aria-hidden': 'true'});
  if (!known) return figure;
  const {low, high, ranged} = span(value);
  const x = r => 2 + (r - low) / (high - low) * 136;
  if (ranged) {
    const left = x(lowestOf(value.lower)), right = x(highestOf(value.upper));
    figure.append(svg('rect', {class: 'range', x: left, y: 1, width: Math.max(1, right - left), height: 20}));
  }
  if (value.histogram) figure.append(...bars(value, x, 21, 19));
  else if (value.lowest) {
    figure.append(svg('line', {class: 'span', x1: x(lowestOf(value.lowest)), x2: x(highestOf(value.highest)), y1: 11, y2: 11}));
  }
  figure.append(svg('line', {class: 'zero', x1: x(0), x2: x(0), y1: 1, y2: 21}));
  return figure;
}

function label(words, x, y, anchor = 'middle') {
  return svg('text', {x, y, 'text-anchor': anchor}, document.createTextNode(words));
}

function histogram(value) {
  const {low, high, ranged} = span(value);
  const x = r => 10 + (r - low) / (high - low) * 480;
  const chart = svg('svg', {class: 'chart', viewBox: '0 0 500 190', role: 'img',
    'aria-label': `Histogram of ${value.name}`});
  if (ranged) {
    const [left, right] = [lowestOf(value.lower), highestOf(value.upper)];
    chart.append(svg('rect', {class: 'range', x: x(left), y: 20, width: Math.max(1, x(right) - x(left)), height: 140}));
    for (const [end, anchor] of [[left, 'start'], [right, 'end']]) {
      chart.append(svg('line', {class: 'edge', x1: x(end), x2: x(end), y1: 16, y2: 160}), label(real(end), x(end), 12, anchor));
    }
  }
  chart.append(...bars(value, x, 160, 132));
  chart.append(svg('line', {class: 'axis', x1: 10, x2: 490, y1: 160, y2: 160}),
    svg('line', {class: 'zero', x1: x(0), x2: x(0), y1: 20, y2: 160}));
  const ends = value.lowest ? [lowestOf(value.lowest), highestOf(value.highest)] : [value.histogram.lower, value.histogram.upper];
  const ticks = ends.filter(r => Math.abs(x(r) - x(0)) > 45);
  for (const r of [0, ...ticks]) chart.append(label(real(r), Math.min(475, Math.max(25, x(r))), 175));
  return h('figure', null, h('figcaption', null, ranged
    ? 'Values (heights are square roots of counts); shaded: what the type holds'
    : 'Values (heights are square roots of counts)'), chart);
}

/** One upright stroke a channel, from its lowest to its highest; the lines are what its type holds. */
function channels(value) {
  const n = value.lowest.length;
  const {low, high, ranged} = span(value);
  const y = r => 150 - (r - low) / ((high - low) || 1) * 135;
  const x = i => 10 + (i + .5) / n * 480;
  const reach = value.lowest.map((r, i) => Math.max(Math.abs(r), Math.abs(value.highest[i])));
  const median = [...reach].sort((a, b) => a - b)[Math.floor(n / 2)];
  const chart = svg('svg', {class: 'chart', viewBox: '0 0 500 180', role: 'img',
    'aria-label': `Ranges of the ${n} channels of ${value.name}`});
  const paths = {in: '', out: ''};
  reach.forEach((far, i) => {
    const tall = Math.max(.8, y(value.lowest[i]) - y(value.highest[i]));
    paths[median > 0 && far > outlierRatio * median ? 'out' : 'in'] += `M${x(i).toFixed(2)} ${y(value.highest[i]).toFixed(2)}v${tall.toFixed(2)}`;
  });
  const width = Math.max(.5, Math.min(6, 480 / n * .6));
  if (paths.in) chart.append(svg('path', {class: 'channel', d: paths.in, 'stroke-width': width}));
  if (paths.out) chart.append(svg('path', {class: 'channel out', d: paths.out, 'stroke-width': width}));
  for (const key of ['lower', 'upper']) {
    if (!ranged || ![1, n].includes(value[key].length)) continue;
    const ends = value[key].length === n ? value[key] : Array(n).fill(value[key][0]);
    chart.append(svg('path', {class: 'band', d: steps(ends, i => 10 + i / n * 480, y)}));
  }
  chart.append(svg('line', {class: 'zero', x1: 10, x2: 490, y1: y(0), y2: y(0)}),
    label(real(high), 10, 10, 'start'), label(real(low), 10, 163, 'start'),
    label('0', 10, 178, 'start'), label(String(n - 1), 490, 178, 'end'));
  return h('figure', null, h('figcaption', null, `Lowest to highest of each ${along(value)}${ranged ? '; lines: what its type holds' : ''}`), chart);
}

const steps = (list, x, y) => list.map((r, i) => `${i ? 'V' : 'M' + x(0).toFixed(2) + ' '}${y(r).toFixed(2)}H${x(i + 1).toFixed(2)}`).join('');

/** Scales of the channels on a logarithmic axis. */
function scales(value) {
  const n = value.scale.length;
  const logs = value.scale.map(Math.log2);
  const low = Math.floor(lowestOf(logs)), high = Math.max(low + 1, Math.ceil(highestOf(logs)));
  const y = r => 150 - (r - low) / (high - low) * 135;
  const chart = svg('svg', {class: 'chart', viewBox: '0 0 500 180', role: 'img', 'aria-label': `Scales of ${value.name}`});
  chart.append(svg('path', {class: 'band', d: steps(logs, i => 10 + i / n * 480, y)}),
    svg('line', {class: 'axis', x1: 10, x2: 490, y1: 150, y2: 150}),
    label('0', 10, 170, 'start'), label(String(n - 1), 490, 170, 'end'),
    label(`2^${high}`, 10, 10, 'start'), label(`2^${low}`, 490, 145, 'end'));
  return h('figure', null, h('figcaption', null, `Scale of each ${along(value)}, logarithmic`), chart);
}

const along = value => (value.block ?? []).some(b => b > 1) ? 'block' : value.axis?.length === 1 ? `channel (axis ${value.axis[0]})` : 'channel';

// ---- values ----

function typeOf(value) {
  if (!value) return '';
  return (value.annotated ? `${value.type} as ${value.annotated}` : value.type) + value.shape;
}

const inferredMark = value => value?.inferred ? ' inferred' : '';

function facts(value) {
  const list = [];
  const add = (term, words) => list.push(h('div', null, h('dt', null, term), h('dd', null, words)));
  add('type', typeOf(value) + inferredMark(value));
  if (value.scale) {
    add('parameters', value.axis ? `${count(value.parameters)}, axis ${value.axis.join(',')}` +
      ((value.block ?? []).some(b => b > 1) ? `, blocks of ${value.block.join('×')}` : '') : 'per tensor');
    add('scale', spread(value.scale));
    add('offset', value.offset ? spread(value.offset) : '0');
    if (value.scheme !== 'unspecified') add('scheme', value.scheme);
    if (value.quant_min !== undefined || value.quant_max !== undefined)
      add('stored range', `${value.quant_min ?? ''} … ${value.quant_max ?? ''}`);
  }
  if (value.lower) add('range', `${real(lowestOf(value.lower))} … ${real(highestOf(value.upper))}`);
  if (value.lowest) add('seen', `${real(lowestOf(value.lowest))} … ${real(highestOf(value.highest))}`);
  const s = value.statistics;
  if (s?.mean) add('mean', spread(s.mean));
  if (s?.std) add('std', spread(s.std));
  if (s?.count) add('count', count(s.count));
  if (s?.nan || s?.infinity) add('NaN, infinity', `${count(s.nan)}, ${count(s.infinity)}`);
  if (value.saturated) add('saturated', `${(100 * value.saturated).toPrecision(2)} %`);
  if (s?.source) add('source', s.source);
  return h('dl', null, list);
}

const decibels = x => x === null || x === undefined ? 'exact' : `${x.toFixed(1)} dB`;

/** How far the value lies from that of the float model, and how its range was chosen. */
function errorFacts(report) {
  const {errors, ranges} = report;
  const list = [];
  const add = (term, words) => list.push(h('div', null, h('dt', null, term), h('dd', null, words)));
  if (errors.count) {
    add('SQNR', decibels(errors.sqnr_db));
    add('cosine', errors.cosine.toFixed(6));
    add('largest error', real(errors.max_error) + (errors.max_error_lsb ? `, ${real(errors.max_error_lsb)} LSB` : ''));
    add('mean error', real(errors.mean_error));
  }
  const methods = [...new Set(ranges.map(range => range.method))];
  if (ranges.length) add('range chosen', `${real(lowestOf(ranges.map(r => r.min)))} … ${real(highestOf(ranges.map(r => r.max)))} by ${methods.join(', ')}`);
  return h('dl', {class: 'errors'}, list);
}

const roles = {input: 'graph input', output: 'graph output', constant: 'constant'};

function describe(name) {
  const value = values.get(name);
  if (!value) return h('div', {class: 'value'}, h('h4', null, h('code', null, name), h('span', {class: 'mark mute'}, 'no type')));
  const report = reportOf.get(name);
  const figures = [];
  // Of a quantized constant the float values it was made of, where a report has them.
  const drawn = report?.histogram ? {...value, histogram: report.histogram, lowest: report.channels.length ?
    report.channels.map(r => r.min) : value.lowest, highest: report.channels.length ? report.channels.map(r => r.max) : value.highest} : value;
  if (drawn.histogram) figures.push(histogram(drawn));
  if (drawn.lowest?.length > 1) figures.push(channels(drawn));
  if (value.scale?.length > 1) figures.push(scales(value));
  return h('div', {class: 'value', 'data-value': name},
    h('h4', null, h('code', null, name), roles[value.role] && h('span', {class: 'mark mute'}, roles[value.role])),
    h('ul', {class: 'notes'}, (findingsOf.get(name) ?? []).map(f => h('li', null, f.message))),
    facts(value), report && errorFacts(report), h('div', {class: 'figures'}, figures));
}

// ---- the list: graph inputs, then nodes ----

const producer = new Map();
const readers = new Map();
const items = [
  ...data.values.filter(value => value.role === 'input').map(value => ({op: 'input', name: '', inputs: [], outputs: [value.name]})),
  ...data.nodes,
];
items.forEach((item, i) => {
  item.index = i;
  for (const name of item.outputs) if (name) producer.set(name, item);
  for (const name of item.inputs) if (name) readers.set(name, [...(readers.get(name) ?? []), item]);
});
for (const item of items) {
  item.constants = item.inputs.filter(name => values.get(name)?.role === 'constant' && !producer.has(name));
  item.wrong = [...item.outputs, ...item.constants].reduce((n, name) => n + (findingsOf.get(name)?.length ?? 0), 0);
  item.search = [item.op, item.name, ...item.inputs, ...item.outputs, ...item.outputs.map(n => typeOf(values.get(n)))].join(' ').toLowerCase();
}

function links(item) {
  const to = (words, others) => others.length === 0 ? null : h('p', {class: 'links'}, h('span', {class: 'faint'}, words + ' '),
    others.map(other => h('button', {type: 'button', class: 'link', onclick: () => show(other)}, `${other.op} ${other.name || other.outputs[0]}`)));
  const before = [...new Set(item.inputs.map(name => producer.get(name)).filter(Boolean))];
  const after = [...new Set(item.outputs.flatMap(name => readers.get(name) ?? []))];
  return [to('from', before), to('to', after)];
}

/** Opens or closes the row of an item; the graph, unless the choice came from there, goes to it. */
function toggle(item, open = !item.element.classList.contains('open'), told = true) {
  const {element} = item;
  element.classList.toggle('open', open);
  $('.row', element).setAttribute('aria-expanded', String(open));
  $('.detail', element)?.remove();
  if (open) element.append(h('div', {class: 'detail'}, links(item), [...item.outputs, ...item.constants].filter(Boolean).map(describe)));
  if (open && told) drawing?.choose(item);
}

function chooseInGraph(item) {
  drawing.choose(item, false);
  if (item.element.hidden) { form.reset(); filter(); }
  toggle(item, true, false);
  if (besides.matches) item.element.scrollIntoView({block: 'start'});
}

function show(item) {
  if (item.element.hidden) { form.reset(); filter(); }
  toggle(item, true);
  item.element.scrollIntoView({block: 'start'});
  $('.row', item.element).focus({preventScroll: true});
}

function row(item) {
  const main = item.outputs[0] ?? '';
  const button = h('button', {type: 'button', class: 'row', 'aria-expanded': 'false', onclick: () => toggle(item)},
    h('span', {class: 'n'}, String(item.index)), h('span', {class: 'op'}, item.op),
    h('span', {class: 'names id', title: item.name || main}, item.name || main),
    h('span', {class: inferredMark(values.get(main)) ? 'type inferred' : 'type'}, typeOf(values.get(main)) + inferredMark(values.get(main))), mini(values.get(main)),
    item.wrong ? h('span', {class: 'warn', title: plural(item.wrong, 'finding')}, '▲') : h('span'));
  item.element = h('li', null, h('h3', null, button));
  return item.element;
}

const form = $('.filters');
function filter() {
  const words = form.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
  const wrong = form.elements.wrong.checked;
  let shown = 0;
  for (const item of items) {
    item.element.hidden = !(words.every(word => item.search.includes(word)) && (!wrong || item.wrong));
    shown += item.element.hidden ? 0 : 1;
  }
  $('.count').textContent = shown === items.length ? plural(shown, 'row') : `${count(shown)} of ${plural(items.length, 'row')}`;
}
form.addEventListener('input', filter);
form.addEventListener('submit', event => event.preventDefault());

// ---- the graph ----

const besides = matchMedia('(min-width: 64rem)');  // as in page.css: the list is beside the graph
const firstBoxes = 60;
let drawing = null;

function edgesOf() {
  const to = (item, names) => [...new Set(names)].filter(name => producer.has(name)).map(name => ({from: producer.get(name), to: item, name}));
  return [...items.flatMap(item => to(item, item.inputs)), ...data.bodies.flatMap(body => to(data.nodes[body.node], body.outputs))];
}

function draw() {
  if (items.length === 0) return;
  const bar = $('.tools');
  let overlay = overlays.names;
  setScopes(data.nodes, data.bodies);
  const root = treeOf(items);
  openUpTo(root, firstBoxes);
  drawing = new Drawing($('.graph'), root, edgesOf(), {
    overlay: (list, single) => overlayOf(overlay, list, single),
    value: name => ({words: (typeOf(values.get(name)) || 'no type'), inferred: Boolean(values.get(name)?.inferred)}),
    wrong: list => list.reduce((n, item) => n + item.wrong, 0),
    choose: chooseInGraph,
  });
  drawing.draw();
  drawing.begin();
  const act = {in: () => drawing.setZoom(drawing.zoom * 1.25), out: () => drawing.setZoom(drawing.zoom / 1.25), fit: () => drawing.fit(),
    close: () => drawing.setAll(false), open: () => drawing.setAll(true)};
  for (const button of bar.querySelectorAll('button')) button.addEventListener('click', act[button.name]);
  bar.elements.open.disabled = items.length > mostOpen;
  if (items.length > mostOpen) bar.elements.open.title = `Of at most ${mostOpen} nodes`;
  bar.elements.overlay.append(...Object.entries(overlays).filter(([name]) => name !== 'error' || layers.length > 0)
    .map(([name, {title}]) => h('option', {value: name}, title)));
  bar.addEventListener('submit', event => event.preventDefault());
  bar.elements.overlay.addEventListener('change', event => {
    overlay = overlays[event.target.value];
    drawing.draw();
    $('.kinds').replaceChildren(...Object.entries(overlay.kinds).map(([kind, words]) => h('li', null, h('span', {class: `chip ${kind}`}), words)));
  });
}

// ---- head, findings, errors ----

function where(name) {
  return producer.get(name) ?? (readers.get(name) ?? [])[0];
}

function finding(f) {
  const item = where(f.value);
  return h('li', null, h('p', {class: 'says'}, f.message), h('p', {class: 'of'}, h('code', null, f.value)),
    item && h('button', {type: 'button', class: 'small', onclick: () => show(item)}, 'Show'));
}

/** Whether channels are zero everywhere since those of the node's constant are, which is told of that one. */
function hasCause({kind, value, message}) {
  const constants = producer.get(value)?.constants ?? [];
  return kind === 'empty_channels' && data.findings.some(f => f.kind === kind && f.message === message && constants.includes(f.value));
}

function findings() {
  if (data.findings.length === 0) return;
  $('#findings').hidden = false;
  const list = $('.findings');
  const told = data.findings.filter(f => !hasCause(f));
  list.append(...told.slice(0, shownFindings).map(finding));
  const rest = told.slice(shownFindings);
  if (rest.length === 0) return;
  const more = $('#all-findings');
  more.hidden = false;
  more.textContent = `Show ${count(rest.length)} more`;
  more.addEventListener('click', () => { list.append(...rest.map(finding)); more.hidden = true; });
}

const kWorst = 3;  // layers that the head names

/** A report leads with the error of its outputs and the worst layers; what looks wrong is below. */
function lead() {
  const signed = ({name, errors: e}) => `${name} ${e.count ? decibels(e.sqnr_db) : 'not compared'}`;
  $('h1').textContent = `QTX quantization: ${data.title}`;
  $('#verdict').className = 'verdict';
  $('#verdict').textContent = `Error of the output: ${data.report.outputs.map(signed).join(', ')}`;
  const worst = layers.filter(({output}) => output.errors.count && output.errors.sqnr_db !== null).slice(0, kWorst);
  $('#about').prepend(worst.length > 0 ? `Worst layers: ${worst.map(({output}) => signed(output)).join(', ')}. ` : '',
    findingsOf.size > 0 ? `${plural(findingsOf.size, 'value')} to look at. ` : '');
  $('#findings').before($('#errors'));
}

/** The layers of a report, worst first, as it lists them. */
function errors() {
  if (data.report) lead();
  if (layers.length === 0) return;
  $('#errors').hidden = false;
  $('#errors-about').textContent = `${plural(data.report.samples, 'sample')}; float: ${data.report.real_by}, quantized: ${data.report.quantized_by}`;
  const number = words => h('td', {class: 'n'}, words);
  const line = ({op_type: op, output}) => {
    const {errors: e} = output;
    const item = producer.get(output.name);
    return h('tr', null,
      h('td', null, item ? h('button', {type: 'button', class: 'link id', title: output.name, onclick: () => show(item)}, output.name) : h('code', null, output.name)),
      h('td', null, op), h('td', null, output.elem_type),
      h('td', {class: e.sqnr_db !== null && e.sqnr_db < 10 ? 'n bad' : 'n'}, e.count ? decibels(e.sqnr_db) : '–'),
      number(e.count ? e.cosine.toFixed(5) : '–'), number(e.max_error_lsb ? real(e.max_error_lsb) : '–'),
      number(e.count ? real(e.max_error) : '–'), number(e.saturated ? `${(100 * e.saturated).toPrecision(2)} %` : '0'),
      h('td', null, output.ranges[0]?.method ?? ''));
  };
  $('#errors .scroll').append(h('table', null,
    h('thead', null, h('tr', null, ['value', 'operator', 'type', 'SQNR', 'cosine', 'largest, LSB', 'largest', 'saturated', 'range by'].map(
      (words, i) => h('th', {scope: 'col', class: i > 2 && i < 8 ? 'n' : null}, words)))),
    h('tbody', null, layers.map(line))));
}

function head() {
  $('h1').textContent = `QTX model: ${data.title}`;
  const wrong = findingsOf.size;
  const judged = data.judged_wholly + data.judged_in_part;
  const [kind, sign, words] = wrong ? ['bad', '▲', `${plural(wrong, 'value')} to look at`]
    : judged === 0 ? ['mute', '–', 'Nothing was judged']
    : ['good', '✓', data.judged_in_part + data.not_judged === 0 ? 'Nothing looks wrong'
      : `Nothing looks wrong in the ${count(judged)} of ${plural(judged + data.not_judged, 'value')} that were judged`];
  verdict.classList.add(kind);
  verdict.append(h('span', {class: 'sign'}, sign), words);
  $('#judged').textContent = `Judged: ${data.judged}.`;
  const quantized = data.values.filter(value => value.scale).length;
  const measured = data.values.filter(value => value.statistics).length;
  const inferred = data.values.filter(value => value.inferred).length;
  $('#about').textContent = [plural(data.nodes.length, 'node'), plural(data.values.length, 'value'),
    `${count(quantized)} quantized`, `${count(measured)} with statistics`,
    inferred ? `${count(inferred)} with an inferred shape` : '', data.produced].filter(Boolean).join(' · ');
}

function legend() {
  const sample = {lower: [-1], upper: [2], histogram: {lower: -2, upper: 2, counts: [1, 2, 8, 30, 60, 30, 8, 2]}};
  $('#legend').append('Each row: ', mini(sample), ' what was seen, on the range of its type (shaded); beyond it in orange; dashes are zero.');
}

head();
findings();
errors();
legend();
for (const item of items) $('.list').append(row(item));
filter();
draw();
