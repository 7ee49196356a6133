// What the graph shows of nodes beside their operator: each overlay gives a kind (a colour, named in the
// legend) and words, so that no colour stands alone. `of` is of a value, `all` of the values of a group.

const percent = share => `${(100 * share).toPrecision(2)} %`;

const isBlocked = value => (value.block ?? []).some(size => size > 1);

function parametersOf(value) {
  const offsets = value.offset?.some(Boolean) ? `, offset ${spread(value.offset)}` : '';
  if (!value.axis) return `scale ${spread(value.scale)}${offsets}`;
  return `${count(value.parameters)} on axis ${value.axis.join(',')}: ${spread(value.scale)}`;
}

const overlays = {
  names: {title: 'names', kinds: {}, of: () => ({kind: '', words: ''}), all: () => ''},
  quantization: {
    title: 'quantization',
    kinds: {block: 'blocked', axis: 'per axis', tensor: 'per tensor', annotated: 'float, annotated', plain: 'not quantized', none: 'no type known'},
    of(value) {
      if (!value?.type) return {kind: 'none', words: 'no type known'};
      if (!value.scale?.length) return {kind: 'plain', words: `${value.type}, not quantized`};
      return {kind: value.annotated ? 'annotated' : isBlocked(value) ? 'block' : value.axis ? 'axis' : 'tensor', words: parametersOf(value)};
    },
    all: values => `${count(values.filter(value => value?.scale?.length).length)} of ${count(values.length)} quantized`,
  },
  statistics: {
    title: 'statistics',
    kinds: {bad: 'more than 1 % beyond the range', warn: 'some beyond the range', good: 'none beyond the range', seen: 'seen, without a range or histogram to judge', none: 'nothing seen'},
    of(value) {
      if (!value?.lowest) return {kind: 'none', words: 'nothing seen'};
      const {saturated: share} = value;
      const words = `${real(lowestOf(value.lowest))} … ${real(highestOf(value.highest))}${share ? `, ${percent(share)} beyond` : ''}`;
      return {kind: share === undefined ? 'seen' : share > .01 ? 'bad' : share > 0 ? 'warn' : 'good', words};
    },
    all(values) {
      const most = highestOf(values.map(value => value?.saturated ?? 0));
      return `${count(values.filter(value => value?.lowest).length)} of ${count(values.length)} seen${most > 0 ? `, ≤ ${percent(most)} beyond` : ''}`;
    },
  },
  error: {
    title: 'error against the float model',
    kinds: {bad: 'below 10 dB', warn: 'below 20 dB', good: '20 dB or more, or exact', none: 'not in the report'},
    of(value) {
      const errors = reportOf.get(value?.name)?.errors;
      if (!errors?.count) return {kind: 'none', words: 'not in the report'};
      const db = errors.sqnr_db ?? Infinity;
      return {kind: db < 10 ? 'bad' : db < 20 ? 'warn' : 'good', words: decibels(errors.sqnr_db)};
    },
    all(values) {
      const known = values.map(value => reportOf.get(value?.name)?.errors).filter(errors => errors?.count);
      const least = lowestOf(known.map(errors => errors.sqnr_db ?? Infinity));
      return known.length === 0 ? 'not in the report' : `worst ${decibels(least === Infinity ? null : least)}`;
    },
  },
};

/** Of a node its first output with a type; of a group the first kind of the legend that is in it. */
function overlayOf(overlay, items, single) {
  const main = item => values.get(item.outputs.find(name => values.has(name)) ?? '');
  if (single) return overlay.of(main(single));
  const all = items.map(main);
  const kinds = new Set(all.map(value => overlay.of(value).kind));
  return {kind: Object.keys(overlay.kinds).find(kind => kinds.has(kind)) ?? '', words: overlay.all(all)};
}
