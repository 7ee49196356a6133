// The review of a proposal: `data` is what `qtx review --json` writes.
(() => {
  const BATCH = 100; // flips shown before "more" is asked for
  const { proposal, examples, cases, backends, models } = data;
  const number = String(proposal.number).padStart(4, '0');
  const before = proposal.promoted ? 'feature off' : 'current spec';
  const after = `with ${proposal.feature}`;

  const mark = (text, kind) => h('span', { class: `mark ${kind}` }, text);
  const verdictMark = side => !side.expected ? null : side.ok ? mark('✓ ok', 'good') : mark('✗ differs', 'bad');

  function head() {
    const wrong = examples.filter(one => !one.before.ok || !one.after.ok).length;
    $('h1').textContent = `Review of proposal ${number}`;
    $('#verdict').append(proposal.title, h('span', { class: 'tag' },
      mark(proposal.status, { promoted: 'good', accepted: 'good', rejected: 'bad' }[proposal.status] ?? 'mute')));
    $('#about').append(
      wrong ? `${wrong} of ${plural(examples.length, 'result')} of its examples differ from what it says. `
        : `All ${plural(examples.length, 'result')} of its examples are what it says. `,
      h('b', {}, `It flips ${count(cases.flipped_cases)}`), ` of ${plural(cases.cases, 'case')}`,
      `; feature ${proposal.feature}, version ${proposal.version}, ${proposal.date}.`);
    const failing = backends.filter(one => one.newly_fails.length).length;
    const links = [['examples', `Examples ${examples.length}`],
      ...(data.overlay ? [['overlay', `Claims ${data.overlay.claims.length}`]] : []), ['cases', `Flipped cases ${count(cases.flipped_cases)}`],
      ['backends', `Backends ${failing} of ${backends.length} stop conforming`],
      ...(data.models_folder ? [['models', `Models ${count(models.length)}`]] : []), ['text', 'Text']];
    $('#contents').append(...links.map(([id, says]) => h('a', { href: `#${id}` }, says)));
  }

  function side(title, one) {
    return h('div', {}, h('h3', {}, title, verdictMark(one)),
      h('code', { class: 'value' }, one.obtained),
      one.ok ? null : h('p', {}, 'expected ', h('code', {}, one.expected)),
      one.ok ? null : h('p', { class: 'faint' }, one.differs));
  }

  function example(one) {
    return h('li', { class: one.before.ok && one.after.ok ? null : 'bad' },
      h('p', { class: 'top' }, h('span', { class: 'id' }, one.id), h('span', { class: 'faint' }, one.arithmetic),
        h('span', { class: 'faint' }, one.spec)),
      h('p', { class: 'why' }, one.why),
      h('div', { class: 'sides' }, side(before, one.before), side(after, one.after)),
      one.derivation && h('details', {}, h('summary', {}, 'derivation'), h('p', {}, one.derivation)));
  }

  function claim(one) {
    const says = `${count(one.elements)} values of its inputs`;
    return h('li', { class: one.failing ? 'bad' : null },
      h('p', { class: 'top' }, h('span', { class: 'id' }, one.name), h('span', { class: 'faint' }, one.clause),
        one.failing ? mark('✗ fails', 'bad') : mark('✓ holds', 'good')),
      h('p', { class: 'why' }, one.failing ? `for ${count(one.failing)} of ` : 'for ', one.exhaustive ? `all ${says}` : `a sample of ${says}`),
      one.failing ? h('p', {}, 'smallest counterexample: ', h('code', {}, one.counterexample)) : null);
  }

  function overlayList() {
    if (!data.overlay) return;
    $('#overlay').hidden = false;
    const { changes, element_types, claims, affected_cases } = data.overlay;
    const names = (added, title) => {
      const found = changes.filter(one => one.added === added).map(one => one.clause);
      return found.length ? `${title} ${found.join(', ')}. ` : '';
    };
    $('#overlay-say').append(names(false, 'Replaces'), names(true, 'Adds'),
      element_types.map(one => `Adds the element type ${one.name}. `).join(''),
      `Its clauses can change ${plural(affected_cases, 'case')}, of which ${count(cases.cases - data.overlay.not_reached)} were computed.`);
    $('#overlay .list').append(...claims.map(claim));
  }

  const KINDS = { value: 'values change', runs: 'refused → runs', refused: 'runs → refused', reason: 'refused otherwise' };

  function elements(flip) {
    if (!flip.first) return null;
    const rest = flip.differing - flip.first.length;
    return h('details', {}, h('summary', {}, flip.mismatch || `${flip.output}: ${count(flip.differing)} of ${plural(flip.elements, 'element')}`),
      h('table', {}, h('thead', {}, h('tr', {}, ['element', before, after].map(t => h('th', { class: 'faint' }, t)))),
        h('tbody', {}, flip.first.map(e => h('tr', {}, [e.index, e.before, e.after].map(v => h('td', { class: 'num' }, String(v))))))),
      rest > 0 ? h('p', { class: 'faint' }, `and ${count(rest)} more`) : null);
  }

  function flipItem(flip) {
    return h('li', {},
      h('p', { class: 'top' }, h('span', { class: 'id' }, flip.id), h('span', { class: 'faint' }, flip.arithmetic),
        h('span', { class: 'faint' }, flip.spec), mark(KINDS[flip.kind], flip.kind === 'value' ? 'warn' : 'mute'),
        flip.stated ? mark('written out in the case', 'mute') : null),
      h('div', { class: 'sides' },
        h('div', { class: 'minus' }, h('h3', {}, before), h('code', { class: 'value' }, flip.before)),
        h('div', { class: 'plus' }, h('h3', {}, after), h('code', { class: 'value' }, flip.after))),
      elements(flip));
  }

  function flips() {
    const flipped = cases.flips;
    const say = [`This proposal flips ${count(cases.flipped_cases)} of ${plural(cases.cases, 'case')}: `,
      `${count(cases.flipped_results)} of ${plural(cases.results, 'result')} in all their arithmetics. `];
    const stated = flipped.filter(f => f.stated).length;
    if (flipped.length) say.push(`${count(stated)} of them are written out in their case, which would have to change.`);
    if (cases.not_built.length) say.push(` ${plural(cases.not_built.length, 'case')} could not be built: ${cases.not_built.slice(0, 5).join(', ')}.`);
    $('#flips-say').append(...say);
    const form = $('.filters');
    form.hidden = flipped.length < 2;
    let shown = BATCH;
    const draw = () => {
      const words = form.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = flipped.filter(f => (!form.elements.stated.checked || f.stated) &&
        words.every(w => `${f.id} ${f.spec} ${f.op} ${f.arithmetic} ${KINDS[f.kind]}`.toLowerCase().includes(w)));
      $('#cases .list').replaceChildren(...found.slice(0, shown).map(flipItem));
      $('#cases .count').textContent = flipped.length < 2 ? '' : `${count(Math.min(shown, found.length))} of ${plural(found.length, 'result')} shown`;
      const more = $('#more');
      more.hidden = found.length <= shown;
      more.textContent = `Show ${count(Math.min(BATCH, found.length - shown))} more`;
    };
    form.addEventListener('input', () => { shown = BATCH; draw(); });
    form.addEventListener('submit', event => event.preventDefault());
    $('#more').addEventListener('click', () => { shown += BATCH; draw(); });
    draw();
  }

  const names = (title, list) => list.length === 0 ? null : h('details', {}, h('summary', {}, `${title}: ${count(list.length)}`),
    h('ul', { class: 'names' }, list.map(name => h('li', { class: 'id' }, name))));

  function backend(one) {
    if (one.error) return h('li', { class: 'warn' }, h('span', { class: 'id' }, one.name), ` ${one.error}`);
    const says = one.newly_fails.length ? mark('✗ would stop conforming', 'bad')
      : one.asked === 0 ? mark('names no arithmetic that changes', 'mute') : mark('✓ no new failure', 'good');
    const rows = [['asked', one.asked], ['newly fails', one.newly_fails.length], ['newly passes', one.newly_passes.length],
      ['passes both', one.stays], ['fails both', one.fails_both], ['unsupported', one.unsupported]];
    return h('li', { class: one.newly_fails.length ? 'bad' : null },
      h('p', { class: 'top' }, h('span', { class: 'id' }, one.name), says),
      h('dl', { class: 'numbers' }, rows.map(([key, n]) => h('div', {}, h('dt', {}, key), h('dd', {}, count(n))))),
      names('newly fails', one.newly_fails), names('newly passes', one.newly_passes));
  }

  function backendList() {
    $('#backends-say').textContent = cases.flips.length
      ? 'Each was asked the flipped results in the arithmetics that it names, and held to both answers of the reference.'
      : 'No answer changes, so none stops conforming.';
    if (cases.flips.length) $('#backends .list').append(...backends.map(backend));
  }

  const OUTCOMES = { unaffected: 'unaffected', checks_differ: 'checked otherwise', outputs_differ: 'other outputs',
    not_run: 'could not be run', unread: 'could not be read' };

  function model(one) {
    const bad = one.outcome === 'checks_differ' || one.outcome === 'outputs_differ';
    return h('li', { class: bad ? 'bad' : 'warn' },
      h('p', { class: 'top' }, h('span', { class: 'id' }, one.path), mark(OUTCOMES[one.outcome], bad ? 'bad' : 'warn')),
      one.why && h('p', { class: 'why' }, one.why),
      one.outputs.map(o => h('p', {}, h('code', {}, o.output), `: ${count(o.differing)} of ${plural(o.elements, 'element')}, at most ` +
        `${o.largest ?? 'another shape'} ${o.unit}`)));
  }

  function modelList() {
    if (!data.models_folder) return;
    $('#models').hidden = false;
    const counts = Object.entries(OUTCOMES).map(([key, says]) => [models.filter(m => m.outcome === key).length, says]);
    $('#models-say').append(`${plural(models.length, 'model')} below `, h('code', {}, data.models_folder), ': ' +
      counts.filter(([n]) => n).map(([n, says]) => `${count(n)} ${says}`).join(', ') + '.');
    const order = ['checks_differ', 'outputs_differ', 'not_run', 'unread'];
    const listed = models.filter(m => m.outcome !== 'unaffected').sort((a, b) => order.indexOf(a.outcome) - order.indexOf(b.outcome));
    $('#models .list').append(...listed.map(model));
  }

  head();
  $('#examples .list').append(...examples.map(example));
  overlayList();
  flips();
  backendList();
  modelList();
})();
reach('.prose pre, .prose table');
